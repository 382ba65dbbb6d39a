"""The peer's part of `cargo xtask bench recommend`: implicit, and rankings judged by code that is not ours.

    bench_recommend.py movielens                     where the file of MovieLens 100k is
    bench_recommend.py als FOLDER N K SETTINGS       AlternatingLeastSquares with K factors, once with each of the settings
    bench_recommend.py bpr FOLDER N K SETTINGS       the same with BayesianPersonalizedRanking
    bench_recommend.py judge FOLDER N K L F          the ranking by the rows of L times F, which are files of `f32`

FOLDER holds train.npz and held_out.npz, N is the length of a ranking, and SETTINGS is a JSON list of keyword arguments. Prints one
line of JSON.

Recall at N is the share of a row's held-out columns among its first N, or of N if it has more; NDCG at N is binary (Liang et al.
2018). Both are means over the rows with a held-out column, with their standard errors. The columns of a row's training counts are
not ranked.
"""

import importlib.metadata
import importlib.util
import json
import os
import sys
import time
from pathlib import Path

# implicit has threads of its own, and asks for this.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import scipy.sparse

SEED = 1
# Candidates for the ranking by L and F beyond its length: implicit sums in another order.
SPARE = 50
# Rows whose scores are computed at once.
ROWS = 2_000


def read(folder):
    """Training and held-out counts, with sorted columns."""
    parts = [scipy.sparse.load_npz(Path(folder) / f"{name}.npz").tocsr() for name in ("train", "held_out")]
    for part in parts:
        part.sort_indices()
    return parts


def judged(ranked, held_out):
    """Recall and NDCG of ranked columns, one row of them per row of the counts."""
    rows, columns = held_out.shape
    n = ranked.shape[1]
    first = np.arange(rows, dtype=np.int64) * columns
    relevant = np.diff(held_out.indptr)
    # Sorted, as the columns of a row are.
    keys = np.repeat(first, relevant) + held_out.indices
    wanted = ranked + first[:, None]
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    hits = keys[place] == wanted
    gains = 1 / np.log2(np.arange(n) + 2)
    some = relevant > 0
    most = np.minimum(relevant[some], n)
    recall = hits[some].sum(1) / most
    ndcg = hits[some] @ gains / np.cumsum(gains)[most - 1]
    result = {"judged": int(some.sum())}
    for name, values in (("recall", recall), ("ndcg", ndcg)):
        error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else None
        result |= {name: float(values.mean()), f"{name}_error": error and float(error)}
    return result


def peer(kind, folder, n, factors, settings):
    """One fit with each of the settings, and the ranking of all rows."""
    from implicit.als import AlternatingLeastSquares
    from implicit.bpr import BayesianPersonalizedRanking

    kind = {"als": AlternatingLeastSquares, "bpr": BayesianPersonalizedRanking}[kind]
    train, held_out = read(folder)
    # The type in which implicit computes, so that it copies nothing.
    train = train.astype(np.float32)
    runs = []
    for keywords in json.loads(settings):
        model = kind(factors=int(factors), random_state=SEED, **keywords)
        begun = time.perf_counter()
        model.fit(train, show_progress=False)
        fitted = time.perf_counter()
        ranked, _ = model.recommend(np.arange(train.shape[0]), train, N=int(n), filter_already_liked_items=True)
        ended = time.perf_counter()
        seconds = {"seconds": fitted - begun, "ranking_seconds": ended - fitted}
        runs.append({"settings": keywords} | seconds | judged(ranked, held_out))
    versions = {name: importlib.metadata.version(name) for name in ("implicit", "numpy", "scipy")}
    return {"runs": runs, "versions": versions}


def judge(folder, n, topics, l, f):
    """The ranking by L F. implicit's own function finds candidates. Their scores are summed by topics and rounded to `f32` after
    each, as ours are, so that nearly equal ones have the same order; of equal ones the first column is first."""
    from implicit.cpu.topk import topk

    train, held_out = read(folder)
    n, topics = int(n), int(topics)
    l = np.fromfile(l, "<f4").reshape(train.shape[0], topics)
    by_column = np.ascontiguousarray(np.fromfile(f, "<f4").reshape(topics, train.shape[1]).T)
    candidates, _ = topk(by_column, l, min(n + SPARE, train.shape[1]), filter_query_items=train.astype(np.float32))
    candidates.sort(axis=1)
    ranked = np.empty((train.shape[0], min(n, candidates.shape[1])), candidates.dtype)
    for first in range(0, train.shape[0], ROWS):
        columns = candidates[first : first + ROWS]
        scores = np.zeros(columns.shape, np.float32)
        for weights, column in zip(l[first : first + ROWS].T.astype(float), by_column.T.astype(float)):
            scores = (scores + weights[:, None] * column[columns]).astype(np.float32)
        scores[of_training(train, first, columns)] = -1
        order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        ranked[first : first + ROWS] = np.take_along_axis(columns, order, axis=1)
    return judged(ranked, held_out)


def of_training(train, first, columns):
    """Which candidates a row has in training: they are there only where a row has few other columns."""
    rows = train[first : first + len(columns)]
    start = np.arange(len(columns), dtype=np.int64)[:, None] * train.shape[1]
    keys = np.repeat(start[:, 0], np.diff(rows.indptr)) + rows.indices
    return np.isin(columns + start, keys, assume_unique=True)


def movielens():
    """The package itself would import PyTorch."""
    package = Path(importlib.util.find_spec("recbole").submodule_search_locations[0])
    version = importlib.metadata.version("recbole")
    return {"path": str(package / "dataset_example/ml-100k/ml-100k.inter"), "recbole": version}


def main(task, *arguments):
    tasks = {"movielens": movielens, "judge": judge}
    result = tasks[task](*arguments) if task in tasks else peer(task, *arguments)
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
