#!/usr/bin/env python3
"""Data of real things for `halftone app --data DIR` and `halftone tune-app --data DIR`. A study.

    python3 bench/data/app_data.py DIR [--patches 16384] [--hidden 256] [--epochs 30] [--wheel FILE]

patches.npy: 8 x 8 patches, one a row, brightness 0 .. 1, of the two photographs (china.jpg, flower.jpg) of the scikit-learn wheel, on
an even grid of both, shuffled: what cholesky makes its RBF kernel matrix of. digits.npy: the wheel's 1797 handwritten digits, 0 .. 1;
w1.npy to w3.npy, b1.npy to b3.npy: a perceptron 64 - hidden - hidden - 10, trained here on every other digit (cross entropy, SGD with
momentum, one seed); the share of the other digits that it gets right is printed. The wheel is fetched once by pip; --wheel: a file of
it. Needs Python 3.8, NumPy and Pillow; nothing of scikit-learn is run. DIR appears whole or not at all. Without network or
either package: one line and exit code 3; the programs then make synthetic data, and say so."""
import argparse
import gzip
import io
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from wheel import PLATFORM, SCIKIT_LEARN, NoWheel, fetch

try:
    import numpy as np
    from PIL import Image
except ImportError as missing:
    np, why = None, missing

NOT_AVAILABLE = 3
IMAGES = ["sklearn/datasets/images/china.jpg", "sklearn/datasets/images/flower.jpg"]
DIGITS = "sklearn/datasets/data/digits.csv.gz"
SIDE, CLASSES = 8, 10


def give_up(reason):
    print("app_data.py: " + reason, file=sys.stderr)
    sys.exit(NOT_AVAILABLE)


def patches_of(archive, wanted):
    """From each photograph the same share, on a grid of equal steps."""
    made = []
    for number, name in enumerate(IMAGES):
        picture = np.asarray(Image.open(io.BytesIO(archive.read(name))).convert("L"), np.float32) / 255
        rows, cols = picture.shape[0] - SIDE + 1, picture.shape[1] - SIDE + 1
        count = wanted // len(IMAGES) + (number < wanted % len(IMAGES))
        if count > rows * cols:
            sys.exit(f"app_data.py: --patches {wanted} is more than the {len(IMAGES) * rows * cols} that the photographs have")
        for place in np.arange(count) * (rows * cols) // count:
            y, x = divmod(int(place), cols)
            made.append(picture[y:y + SIDE, x:x + SIDE].reshape(-1))
    return np.stack(made)[np.random.default_rng(1).permutation(wanted)].astype("<f4")


def digits_of(archive):
    table = np.loadtxt(io.StringIO(gzip.decompress(archive.read(DIGITS)).decode("ascii")), delimiter=",", dtype=np.float32)
    return np.ascontiguousarray(table[:, :SIDE * SIDE] / 16), table[:, SIDE * SIDE].astype(int)


def forward(layers, x):
    outputs = [x]
    for number, (w, b) in enumerate(layers):
        h = outputs[-1] @ w + b
        outputs.append(np.maximum(h, 0) if number + 1 < len(layers) else h)
    return outputs


def train(x, labels, hidden, epochs):
    random = np.random.default_rng(1)
    widths = [x.shape[1], hidden, hidden, CLASSES]
    layers = [[random.normal(0, np.sqrt(2 / k), (k, m)).astype(np.float32), np.zeros(m, np.float32)] for k, m in zip(widths, widths[1:])]
    speed = [[np.zeros_like(p) for p in layer] for layer in layers]
    truth = np.eye(CLASSES, dtype=np.float32)[labels]
    for _ in range(epochs):
        for batch in np.array_split(random.permutation(len(x)), max(1, len(x) // 64)):
            outputs = forward(layers, x[batch])
            e = np.exp(outputs[-1] - outputs[-1].max(1, keepdims=True))
            back = (e / e.sum(1, keepdims=True) - truth[batch]) / len(batch)
            for number in reversed(range(len(layers))):
                gradient = [outputs[number].T @ back, back.sum(0)]
                back = (back @ layers[number][0].T) * (outputs[number] > 0)
                for part in range(2):
                    speed[number][part] = 0.9 * speed[number][part] - 0.05 * gradient[part]
                    layers[number][part] = layers[number][part] + speed[number][part]
    return layers


def write(archive, folder, options):
    np.save(folder / "patches.npy", patches_of(archive, options.patches))
    x, labels = digits_of(archive)
    np.save(folder / "digits.npy", x.astype("<f4"))
    layers = train(x[::2], labels[::2], options.hidden, options.epochs)
    for number, (w, b) in enumerate(layers, 1):
        np.save(folder / f"w{number}.npy", w.astype("<f4"))
        np.save(folder / f"b{number}.npy", b.astype("<f4").reshape(1, -1))
    right = (forward(layers, x[1::2])[-1].argmax(1) == labels[1::2]).mean()
    print(f"{options.patches} patches of photographs; perceptron 64 - {options.hidden} - {options.hidden} - 10: {100 * right:.1f} % of the digits "
          "that it was not trained on")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--patches", type=int, default=16384)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--wheel", type=Path)
    options = parser.parse_args()
    if options.folder.exists():
        sys.exit(f"app_data.py: {options.folder} exists; remove it or name another folder")
    if min(options.patches, options.hidden, options.epochs) < 1:
        sys.exit("app_data.py: --patches, --hidden and --epochs must be at least 1")
    if np is None:
        give_up(f"NumPy and Pillow are needed ({why}); install both for this Python")
    options.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.folder.parent) as work:
        fresh = Path(work) / "fresh"
        fresh.mkdir()
        try:
            with zipfile.ZipFile(options.wheel or fetch(SCIKIT_LEARN, Path(work), *PLATFORM)) as archive:
                write(archive, fresh, options)
        except NoWheel as error:
            give_up(f"{error}; give a wheel of it by --wheel")
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            give_up(f"the wheel does not hold photographs and digits as expected ({error})")
        os.chmod(fresh, 0o755)
        shutil.move(str(fresh), options.folder)


if __name__ == "__main__":
    main()
