"""fork(), threads and the dynamic linker around the first product, before both faces. The moment is held by a library that loads or starts slowly
and by a list of objects that is read slowly (linker.c). Results are right or the original's, and nothing hangs: an alarm
ends a child after 10 s."""
import pytest
from conftest import ROOT, numpy_python
from dropin_programs import HERE, SET, Fakes, build_face, cc, replaced, run, sources
from test_dropin_blas import Programs

S = "api=Sgemm_v2"
SIMULATOR = SET / "libhalftone-sim.so"


def face_of(name):
    assert (SET / name).is_file(), f"no {name}: make GPU=t4 test-set"
    return SET / name


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Faces, programs and helpers; slow: a library that can be held."""
    folder = tmp_path_factory.mktemp("fork")

    class Place:
        cublas, blas = face_of("libhalftone_cublas.so"), face_of("libhalftone_blas.so")
        slow, objects = folder / "slow.so", folder / "objects.so"
    (folder / "cublas").mkdir(), (folder / "blas").mkdir()
    Place.of_cublas, Place.of_blas = Fakes(folder / "cublas"), Programs(folder / "blas", Place.blas)
    cc("-shared", "-DSLOW_LIBRARY", HERE / "linker.c", "-o", Place.slow, "-Wl,--no-as-needed", SIMULATOR, f"-Wl,-rpath,{SET}", "-ldl")
    cc("-shared", "-DSLOW_OBJECTS", HERE / "linker.c", "-o", Place.objects, "-ldl")
    return Place


def held(place, folder, where):
    return {"HALFTONE_LIBRARY": str(place.slow), "SIMULATOR": str(SIMULATOR), "HOLD": where, "HOLD_FILE": str(folder / "held")}


def cublas_while(place, folder, where, face):
    """Lines of the child and of the thread: status, error, served, original."""
    done = run(place.of_cublas.main, f"while={folder / 'held'}", S, face=face, check=False, **held(place, folder, where))
    return done.returncode, [line.split()[2:] for line in done.stdout.splitlines()], done.stderr


MOMENTS = ["load", "create"]


@pytest.mark.parametrize("where", MOMENTS)
def test_a_child_of_a_process_whose_first_product_of_cublas_is_under_way(place, tmp_path, where):
    assert cublas_while(place, tmp_path, where, place.cublas) == (0, [["0", "1"], ["1", "0"]], "")


@pytest.mark.parametrize("where", MOMENTS)
def test_a_child_of_a_process_whose_first_product_of_blas_is_under_way(place, tmp_path, where):
    done = run(place.of_blas.main, "while", tmp_path / "held", face=place.blas, **held(place, tmp_path, where))
    child, parent = done.stdout.splitlines()
    assert child.split() == ["child", "18", "0", "0", "18"] and parent.split()[:3] == ["1", "0", "36"] and done.stderr == ""


def test_every_lock_is_renewed_in_a_child(tmp_path):
    parts = [*sources(()), HERE / "linker.c"]
    cc("-DLOCKS", "-fvisibility=hidden", *parts, "-o", tmp_path / "locks", "-lpthread")
    run(tmp_path / "locks")


def test_locks_are_all_in_one_place():
    """What else had one would not be renewed; nor would a thread that waits for another in a pthread_once over the dynamic linker go on."""
    for path in sorted((ROOT / "runtime/dropin").glob("*.[ch]")):
        text = path.read_text()
        assert "pthread_mutex" not in text or path.name in ("common_state.c", "common_state.h"), path.name
        assert "dl_iterate_phdr" not in text or path.name == "common_caller.c", path.name
    assert (ROOT / "runtime/dropin/common_caller.c").read_text().count("dl_iterate_phdr(") == 1


def test_a_child_of_a_process_that_is_in_the_list_of_objects(place):
    """glibc's lock of the list, which it does not renew."""
    done = run(place.of_cublas.main, "storm=6", S, face=[place.objects, place.cublas], SIMULATOR=str(SIMULATOR))
    assert done.stderr == ""
    done = run(place.of_blas.main, "storm", "6", face=[place.objects, place.blas])
    assert done.stdout.splitlines()[-1].split()[:2] == ["6", "0"]


@pytest.mark.parametrize("where", ["", "linker"])
@pytest.mark.parametrize("kind", ["cublas", "blas"])
def test_a_constructor_that_multiplies_while_a_thread_makes_the_first_product(place, tmp_path, kind, where):
    """linker: the start of the device waits for the dynamic linker, whose lock the constructor has: for a face with less patience than 10 s."""
    plugin, of = tmp_path / "plugin.so", place.of_cublas if kind == "cublas" else place.of_blas
    client = of.client[13] if kind == "cublas" else of.client
    cc("-shared", "-DPLUGIN", *(["-DBLAS"] if kind == "blas" else []), HERE / "linker.c", client, f"-Wl,-rpath,{client.parent}", "-o", plugin, "-lpthread")
    face = place.cublas if kind == "cublas" else place.blas
    if kind == "blas" and where:
        face = build_face(tmp_path / "face", replaced("blas_serve.c", "MOST_SECONDS = 10", "MOST_SECONDS = 1"), kind="blas")
    env = held(place, tmp_path, where)
    cc("-DCALLS=\"plugin_ends\"", HERE / "linker.c", "-o", tmp_path / "main", "-ldl")
    (tmp_path / "held.go").touch()
    done = run(tmp_path / "main", plugin, face=face, **env)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr, len(rows)) == (0, "", 2), rows
    assert all(row[0] == "0" if kind == "cublas" else row[:2] == ["18", "0"] for row in rows), rows


def test_threads_race_the_first_product(place, tmp_path):
    for face, program, words in ((place.cublas, place.of_cublas.main, ["threads=8", S]), (place.blas, place.of_blas.main, ["threads"])):
        done = run(program, *words, face=[place.objects, face], SIMULATOR=str(SIMULATOR))
        assert done.stderr == "", done.stderr
        assert [line.split()[1] for line in done.stdout.splitlines()] == ["0"] if face == place.blas else len(done.stdout.splitlines()) == 8


POOL = """import multiprocessing, threading, time, os, sys
import numpy as np
a = np.arange(70 * 65, dtype=np.float32).reshape(65, 70) % 15 - 7
want = a.astype(int) @ a.T.astype(int)
def product(_):
    return bool((a @ a.T == want).all())
first = threading.Thread(target=product, args=(0,))
first.start()
while not os.path.exists(os.environ["HOLD_FILE"]):
    time.sleep(0.001)
with multiprocessing.get_context("fork").Pool(3) as pool:
    good = pool.map_async(product, range(9)).get(timeout=20)
open(os.environ["HOLD_FILE"] + ".go", "w").close()
first.join()
print(sum(good), product(0))
"""


@pytest.mark.parametrize("where", MOMENTS)
def test_children_of_multiprocessing(place, tmp_path, where):
    python = numpy_python()
    if python is None:
        pytest.skip("no Python here imports numpy")
    done = run(python, "-c", POOL, face=place.blas, check=False, **held(place, tmp_path, where))
    assert (done.returncode, done.stdout, done.stderr) == (0, "9 True\n", "")
