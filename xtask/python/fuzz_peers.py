"""Reads the files that topicbook accepted in a fuzzing round with NumPy, SciPy, safetensors, Polars and Python's csv, and
compares shape, nonzeros, total and a checksum of every count at its place.
Usage: python fuzz_peers.py FOLDER, where FOLDER has accepted.tsv and accepted/."""

import csv
import math
import resource
import signal
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import packed_counts
import polars as pl
import safetensors.numpy
import scipy.sparse as sparse

# Bytes that a peer may allocate, and seconds that it may take, for one file; beyond them it refuses the file.
MEMORY = 6 << 30
SECONDS = 10


def npy(path):
    return sparse.coo_array(np.load(path, allow_pickle=False))


def npz(path):
    return sparse.coo_array(sparse.load_npz(path))


def tbc(path):
    return sparse.coo_array(packed_counts.read(path))


def tensors(path):
    found = {name: value for name, value in safetensors.numpy.load_file(path).items() if value.ndim == 2}
    return sparse.coo_array(found["X"] if "X" in found else next(iter(found.values())))


def triplets(doc, term, count):
    shape = (int(max(doc)) + 1, int(max(term)) + 1)
    return sparse.coo_array((np.asarray(count), (np.asarray(doc), np.asarray(term))), shape=shape)


def parquet(path, read=pl.read_parquet):
    table = read(path)
    return triplets(*(table[name].to_numpy() for name in ["doc", "term", "count"]))


def arrow(path):
    return parquet(path, pl.read_ipc)


def text(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.DictReader(file) if any(row.values())]
    ids = [[int(row[name]) for row in rows] for name in ["doc", "term"]]
    return triplets(*ids, [float(row["count"]) for row in rows])


PEERS = {"npy": npy, "npz": npz, "tbc": tbc, "safetensors": tensors, "parquet": parquet, "arrow": arrow, "csv": text}


def checksum(counts):
    """The sum that crates/fuzz/src/outcome.rs computes."""
    rows, columns = (place.astype(np.uint64) for place in counts.coords)
    bits = counts.data.astype(np.float32).view(np.uint32).astype(np.uint64)
    mixed = rows * np.uint64(0x9E3779B97F4A7C15) + columns * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed += bits * np.uint64(0x165667B19E3779F9)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return int(mixed.sum(dtype=np.uint64))


def difference(path, documents, terms, total, nonzeros, expected):
    """What the peer reads otherwise, or None."""
    counts = PEERS[path.suffix[1:]](path)
    counts.sum_duplicates()
    if not np.isrealobj(counts.data):
        return "complex values"
    kept = counts.data != 0
    if not kept.all():
        coords = tuple(place[kept] for place in counts.coords)
        counts = sparse.coo_array((counts.data[kept], coords), shape=counts.shape)
    if counts.shape != (int(documents), int(terms)):
        return f"shape {counts.shape}, not {documents} x {terms}"
    if counts.data.size != int(nonzeros):
        return f"{counts.data.size} nonzeros, not {nonzeros}"
    sum_of_peer = float(counts.data.sum(dtype=np.float64))
    if not math.isclose(sum_of_peer, float(total), rel_tol=1e-6):
        return f"total {sum_of_peer}, not {total}"
    if expected != "-" and checksum(counts) != int(expected):
        return "the same total, at other places"
    return None


def timed_out(*_):
    raise TimeoutError


def main(folder):
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, timed_out)
    warnings.simplefilter("ignore")
    same, refused, other = Counter(), Counter(), []
    for line in (folder / "accepted.tsv").read_text().splitlines():
        name, *values = line.split("\t")
        path = folder / "accepted" / name
        signal.alarm(SECONDS)
        try:
            found = difference(path, *values)
        # Whatever a peer raises is its refusal; panics of Polars are no Exception.
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            refused[path.suffix, type(error).__name__] += 1
            continue
        finally:
            signal.alarm(0)
        if found:
            other.append(f"{path}: {found}")
        else:
            same[path.suffix] += 1
    print("| format | same values | other values | refused by the peer |\n|---|---:|---:|---:|")
    for suffix in (f".{name}" for name in PEERS):
        differing = sum(Path(line.split(": ")[0]).suffix == suffix for line in other)
        reasons = {error: number for (kind, error), number in refused.items() if kind == suffix}
        why = ", ".join(f"{number} {error}" for error, number in sorted(reasons.items()))
        print(f"| {suffix} | {same[suffix]} | {differing} | {sum(reasons.values())} ({why or 'none'}) |")
    print("\n".join(other))
    return bool(other)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
