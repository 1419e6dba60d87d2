// host_copies.cu: how fast a matrix in pageable memory reaches the device through pinned buffers, and back, by threads, size of a buffer and kind of
// store: the constants of runtime/ht_host*.c. nvcc -O3 -std=c++17 -Xcompiler -O3,-mavx2 -o host_copies bench/host_copies.cu && ./host_copies
// A line for each: GB/s of a block of 4096 rows of an 8192 x 8192 matrix (16 KB of each column) in, and of a tile of 4096 x 4096 out; with
// two buffers by turns.
#include <cuda_runtime_api.h>
#include <immintrin.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Threads that share a piece of work with the caller.
struct Team {
    std::mutex lock;
    std::condition_variable begun, ended;
    std::vector<std::thread> threads;
    std::function<void(int)> work;
    int round = 0, busy = 0;
    bool over = false;
    explicit Team(int count) {
        for (int part = 1; part < count; part++)
            threads.emplace_back([this, part] {
                for (int seen = 0;;) {
                    std::unique_lock<std::mutex> hold(lock);
                    begun.wait(hold, [&] { return over || round != seen; });
                    if (over)
                        return;
                    seen = round;
                    hold.unlock();
                    work(part);
                    hold.lock();
                    if (--busy == 0)
                        ended.notify_one();
                }
            });
    }
    void run(const std::function<void(int)> &w) {
        std::unique_lock<std::mutex> hold(lock);
        work = w;
        busy = (int)threads.size();
        round++;
        begun.notify_all();
        hold.unlock();
        work(0);
        hold.lock();
        ended.wait(hold, [&] { return busy == 0; });
    }
    ~Team() {
        {
            std::lock_guard<std::mutex> hold(lock);
            over = true;
        }
        begun.notify_all();
        for (auto &t : threads)
            t.join();
    }
};

static void copy(char *to, const char *from, size_t bytes, bool around_caches) {
    if (!around_caches) {
        memcpy(to, from, bytes);
        return;
    }
    for (size_t i = 0; i < bytes; i += 32)
        _mm256_stream_si256((__m256i *)(to + i), _mm256_loadu_si256((const __m256i *)(from + i)));
    _mm_sfence();
}

static const size_t COLUMN = 8192 * 4, PIECE = 4096 * 4; // bytes: between columns, of a block's column

static double one_way(Team &team, int threads, char *matrix, char *device, char *const pinned[2], size_t buffer, bool in, bool around, size_t columns) {
    cudaEvent_t done[2];
    const size_t at_once = buffer / PIECE;
    for (auto &event : done)
        cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    cudaDeviceSynchronize();
    const double start = now();
    int turn = 0;
    for (size_t first = 0; first < columns; first += at_once, turn ^= 1) {
        if (in)
            cudaEventSynchronize(done[turn]);
        else
            cudaMemcpyAsync(pinned[turn], device + first * PIECE, buffer, cudaMemcpyDeviceToHost, 0), cudaStreamSynchronize(0);
        team.run([&](int part) {
            for (size_t c = at_once * part / threads; c < at_once * (part + 1) / threads; c++) {
                char *const a = pinned[turn] + c * PIECE, *const b = matrix + (first + c) * COLUMN;
                if (in)
                    copy(a, b, PIECE, around);
                else
                    copy(b, a, PIECE, around);
            }
        });
        if (in) {
            cudaMemcpyAsync(device + first * PIECE, pinned[turn], buffer, cudaMemcpyHostToDevice, 0);
            cudaEventRecord(done[turn], 0);
        }
    }
    cudaDeviceSynchronize();
    const double seconds = now() - start;
    for (auto &event : done)
        cudaEventDestroy(event);
    return (double)(columns * PIECE) / seconds / 1e9;
}

int main() {
    char *device = nullptr, *pinned[2];
    if (cudaMalloc((void **)&device, 8192 * PIECE) != cudaSuccess)
        return puts("no GPU"), 1;
    std::vector<char> matrix(8192 * COLUMN, 1);
    char *const aligned = matrix.data() + (64 - (size_t)matrix.data() % 64) % 64;
    for (auto &p : pinned)
        cudaHostAlloc((void **)&p, 32 << 20, 0);
    printf("threads\tbuffer\tin\tin, stores around caches\tout\tout, stores around caches\n");
    for (int threads : {1, 2, 4, 6, 8, 12, 16})
        for (size_t megabytes : {1, 4, 8, 32}) {
            Team team(threads);
            double best[4] = {0, 0, 0, 0};
            for (int i = 0; i < 8; i++) {
                const double rate = one_way(team, threads, aligned, device, pinned, megabytes << 20, i % 4 < 2, i % 2 == 1, 8064);
                best[i % 4] = rate > best[i % 4] ? rate : best[i % 4];
            }
            printf("%d\t%zu MB\t%.1f\t%.1f\t%.1f\t%.1f\n", threads, megabytes, best[0], best[1], best[2], best[3]);
        }
    for (int threads : {2, 4, 8, 16}) {
        const double start = now();
        for (int i = 0; i < 100; i++)
            Team team(threads);
        printf("%d threads made and joined: %.1f us\n", threads, (now() - start) * 1e4);
    }
    return 0;
}
