/* sim_stream: streams whose work waits, and graphs; see sim_api.h. A piece of work is a function and a copy of its
 * data, as a GPU keeps a launch's arguments. */
#include "sim_internal.h"

#include <limits.h>
#include <map>
#include <mutex>
#include <new>

namespace ht_sim {

struct stream_work {
    void (*run)(void *data, void *stream);
    std::vector<unsigned char> data;
};

struct graph_memory {
    void *memory;
    int (*drop)(void *memory);
};

struct sim_graph {
    std::vector<stream_work> nodes;
    std::vector<graph_memory> owned;
};

struct sim_stream {
    bool held = false;
    std::vector<stream_work> waiting;
    sim_graph *capture = nullptr;
};

static std::mutex stream_mutex;
static std::map<const void *, sim_stream> streams; /* that are held or captured; all others run at once */

bool stream_waits(const void *stream) {
    std::lock_guard<std::mutex> lock(stream_mutex);
    return streams.find(stream) != streams.end();
}

static bool take_next(const void *stream, stream_work &next) {
    std::lock_guard<std::mutex> lock(stream_mutex);
    auto found = streams.find(stream);
    if (found == streams.end() || found->second.waiting.empty())
        return false;
    next = std::move(found->second.waiting.front());
    found->second.waiting.erase(found->second.waiting.begin());
    return true;
}

static sim_graph *capture_of(const void *stream) {
    std::lock_guard<std::mutex> lock(stream_mutex);
    auto found = streams.find(stream);
    return found != streams.end() ? found->second.capture : nullptr;
}

static void forget_idle(const void *stream) {
    auto found = streams.find(stream);
    if (found != streams.end() && !found->second.held && found->second.capture == nullptr)
        streams.erase(found);
}

} // namespace ht_sim

using namespace ht_sim;

int ht_sim_later(void *stream, void (*run)(void *data, void *stream), const void *data, size_t bytes) {
    std::lock_guard<std::mutex> lock(stream_mutex);
    auto found = streams.find(stream);
    if (found == streams.end())
        return 0;
    try {
        const unsigned char *const first = static_cast<const unsigned char *>(data);
        sim_stream &s = found->second;
        (s.capture != nullptr ? s.capture->nodes : s.waiting).push_back({run, {first, first + bytes}});
    } catch (const std::bad_alloc &) {
        return -1;
    }
    return 1;
}

int ht_sim_hold(void *stream) {
    std::lock_guard<std::mutex> lock(stream_mutex);
    try {
        streams[stream].held = true;
    } catch (const std::bad_alloc &) {
        return 1;
    }
    return 0;
}

long ht_sim_run(void *stream, long count) {
    long done = 0;
    for (stream_work next; done < count && take_next(stream, next); done++)
        next.run(next.data.data(), stream);
    return done;
}

void ht_sim_let_go(void *stream) {
    ht_sim_run(stream, LONG_MAX);
    std::lock_guard<std::mutex> lock(stream_mutex);
    auto found = streams.find(stream);
    if (found != streams.end())
        found->second.held = false;
    forget_idle(stream);
}

void ht_sim_run_all(void) {
    std::vector<const void *> all;
    {
        std::lock_guard<std::mutex> lock(stream_mutex);
        for (const auto &s : streams)
            all.push_back(s.first);
    }
    for (const void *s : all)
        ht_sim_run(const_cast<void *>(s), LONG_MAX);
}

int ht_sim_capture_begin(void *stream) {
    std::lock_guard<std::mutex> lock(stream_mutex);
    try {
        sim_stream &s = streams[stream];
        if (s.capture != nullptr)
            return 1;
        s.capture = new sim_graph;
    } catch (const std::bad_alloc &) {
        forget_idle(stream);
        return 1;
    }
    return 0;
}

void *ht_sim_capture_end(void *stream) {
    std::lock_guard<std::mutex> lock(stream_mutex);
    auto found = streams.find(stream);
    if (found == streams.end())
        return nullptr;
    sim_graph *const graph = found->second.capture;
    found->second.capture = nullptr;
    forget_idle(stream);
    return graph;
}

int ht_sim_is_capturing(void *stream) {
    return capture_of(stream) != nullptr;
}

int ht_sim_any_capture(void) {
    std::lock_guard<std::mutex> lock(stream_mutex);
    for (const auto &s : streams)
        if (s.second.capture != nullptr)
            return 1;
    return 0;
}

int ht_sim_graph_owns(void *stream, void *memory, int (*drop)(void *memory)) {
    sim_graph *const graph = capture_of(stream);
    try {
        graph->owned.push_back({memory, drop});
    } catch (const std::bad_alloc &) {
        return 1;
    }
    return 0;
}

/* On a held stream the replay waits like all else. */
int ht_sim_graph_run(void *graph, void *stream) {
    for (stream_work &node : static_cast<sim_graph *>(graph)->nodes) {
        std::vector<unsigned char> data = node.data; /* each replay has its own */
        const int taken = ht_sim_later(stream, node.run, data.data(), data.size());
        if (taken < 0)
            return 1;
        if (taken == 0)
            node.run(data.data(), stream);
    }
    return 0;
}

void ht_sim_graph_free(void *graph) {
    sim_graph *const g = static_cast<sim_graph *>(graph);
    for (const graph_memory &m : g->owned)
        m.drop(m.memory);
    delete g;
}
