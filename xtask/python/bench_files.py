"""The peers' side of `cargo xtask bench files`: makes files, and reads them once. Prints one line of JSON.

    bench_files.py make-h5ad PATH CELLS GENES SHARE
    bench_files.py read-h5ad PATH
    bench_files.py make-parquet PATH ROWS
    bench_files.py read-parquet PATH
"""

import json
import sys
import time

import numpy as np

# Numbers that are read or made at a time.
PART = 1 << 22
ROWS_A_DOCUMENT = 100
TERMS = 50_000


def make_h5ad(path, cells, genes, share):
    """Counts as anndata writes them with `compression="gzip"`: about `share` of them are not zero, most of these are 1."""
    import h5py

    cells, genes, share = int(cells), int(genes), float(share)
    random = np.random.default_rng(1)
    widest = round(2 / share) - 1
    at_once = 4_000
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": [cells, genes]})
        stored = {
            name: group.create_dataset(name, (0,), dtype, maxshape=(None,), chunks=(1 << 17,), compression="gzip")
            for name, dtype in [("data", "f4"), ("indices", "i4")]
        }
        starts = [np.zeros(1, np.int64)]
        for first in range(0, cells, at_once):
            rows = min(at_once, cells - first)
            columns = np.cumsum(random.integers(1, widest + 1, (rows, int(1.3 * share * genes)), np.int32), axis=1) - 1
            kept = columns < genes
            lengths = kept.sum(axis=1)
            indices = columns[kept]
            data = random.geometric(0.6, len(indices)).astype(np.float32)
            for name, values in [("data", data), ("indices", indices)]:
                end = len(stored[name])
                stored[name].resize((end + len(values),))
                stored[name][end:] = values
            starts.append(starts[-1][-1] + np.cumsum(lengths))
        group.create_dataset("indptr", data=np.concatenate(starts), compression="gzip")
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        for name, length in [("obs", cells), ("var", genes)]:
            table = file.create_group(name)
            table.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"})
            table.attrs["column-order"] = np.array([], dtype=h5py.string_dtype())
            names = np.array([f"{name}{row}" for row in range(length)], dtype=object)
            table.create_dataset("_index", data=names, dtype=h5py.string_dtype())
        return {"nonzeros": int(starts[-1][-1]), "h5py": h5py.__version__}


def read_h5ad(path):
    import h5py

    total = 0
    with h5py.File(path) as file:
        for name in ["indptr", "indices", "data"]:
            array = file["X"][name]
            for first in range(0, len(array), PART):
                total += len(array[first : first + PART])
    return {"numbers": total, "h5py": h5py.__version__}


def make_parquet(path, rows):
    """Triplets, sorted by document and term."""
    import polars as pl

    rows = int(rows)
    random = np.random.default_rng(1)
    documents = np.repeat(np.arange(rows // ROWS_A_DOCUMENT, dtype=np.uint32), ROWS_A_DOCUMENT)
    gaps = random.integers(1, 2 * TERMS // ROWS_A_DOCUMENT - 20, rows, np.uint32)
    terms = (np.cumsum(gaps.reshape(-1, ROWS_A_DOCUMENT), axis=1, dtype=np.uint32) - 1).ravel()
    del gaps
    counts = random.geometric(0.6, rows).astype(np.uint32)
    table = pl.DataFrame({"doc": documents, "term": terms, "count": counts})
    table.write_parquet(path, row_group_size=1 << 20)
    return {"terms": int(terms.max()) + 1, "total": int(counts.sum(dtype=np.int64)), "polars": pl.__version__}


def read_parquet(path):
    import polars as pl

    return {"rows": pl.read_parquet(path).height, "polars": pl.__version__}


tasks = {"make-h5ad": make_h5ad, "read-h5ad": read_h5ad, "make-parquet": make_parquet, "read-parquet": read_parquet}
task, *arguments = sys.argv[1:]
begin, used = time.perf_counter(), time.process_time()
result = tasks[task](*arguments)
result.update(seconds=time.perf_counter() - begin, cpu=time.process_time() - used)
print(json.dumps(result))
