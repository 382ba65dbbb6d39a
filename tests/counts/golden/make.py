"""Writes the files in this folder with anndata, h5py, SciPy and Polars: python make.py (anndata 0.12, h5py 3, Polars 2)."""

import gzip
from pathlib import Path

import anndata as ad
import h5py
import numpy as np
import pandas as pd
import polars as pl
import scipy.io
import scipy.sparse as sp

HERE = Path(__file__).parent
# Every file has these counts: row 1 (a cell) and column 2 (a gene) are empty.
X = np.array([[0, 3, 0, 1, 0], [0, 0, 0, 0, 0], [7, 0, 0, 200, 1], [0, 1, 0, 0, 9]])
GENES = ["Actb", "Gapdh", "Malat1", "Xist", "Ünder"]
CELLS = ["AAAC-1", "AAAG-1", "AAAT-1", "AACC-1"]


def cells(matrix, labels=False):
    if not labels:
        return ad.AnnData(matrix, obs=pd.DataFrame(index=CELLS), var=pd.DataFrame(index=GENES))
    obs = pd.DataFrame(
        {
            "tissue": pd.Categorical(["liver", None, "kidney", "liver"]),
            "age": [3.5, 4.0, np.nan, 1.0],
            "batch": [1, 1, 2, 2],
            "note": ["a", "b", "c", "d"],
            "doublet": [False, False, True, False],
            "score": pd.array([1, None, 3, 4], dtype="Int64"),
        },
        index=CELLS,
    )
    return ad.AnnData(matrix, obs=obs, var=pd.DataFrame(index=GENES))


def obs_of_all_kinds(path):
    """A column of each encoding that anndata writes, and one that documents have no column for."""
    obs = pd.DataFrame(
        {
            "grade": pd.Categorical([3, 1, None, 3], categories=[1, 2, 3], ordered=True),
            "dose": pd.Categorical([0.5, 0.5, 1.25, None]),
            "seen": pd.array([True, None, False, True], dtype="boolean"),
            "id": np.array([9007199254740993, 1, 2, 3], dtype=np.int64),
            "hash": np.array([2**64 - 1, 0, 1, 2], dtype=np.uint64),
            "small": np.array([1, 2, 3, 4], dtype=np.uint8),
            "half": np.array([0.5, 1.5, 2.5, 3.5], dtype=np.float32),
            "remark": pd.array(["a", None, "Ü", ""], dtype="string"),
            "document": ["p", "q", "r", "s"],
        },
        index=CELLS,
    )
    with ad.settings.override(allow_write_nullable_strings=True):
        cells = ad.AnnData(sp.csr_matrix(X), obs=obs, var=pd.DataFrame(index=GENES))
        cells.write_h5ad(path, convert_strings_to_categoricals=False)
    with h5py.File(path, "r+") as file:
        pairs = np.zeros(4, dtype=[("x", "f4"), ("y", "f4")])
        file["obs"].create_dataset("pair", data=pairs).attrs["encoding-type"] = "rec-array"
        file["obs"].attrs["column-order"] = [*file["obs"].attrs["column-order"], "pair"]


def obs_of_anndata_0_7(path):
    """As anndata 0.7 wrote a table: codes in the column, labels in __categories, no encoding of columns."""
    ad.AnnData(sp.csr_matrix(X), obs=pd.DataFrame(index=CELLS), var=pd.DataFrame(index=GENES)).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        obs = file["obs"]
        obs.attrs["encoding-version"] = "0.1.0"
        tissue = obs.create_dataset("tissue", data=np.array([1, -1, 0, 1], dtype=np.int8))
        labels = obs.create_dataset("__categories/tissue", data=["kidney", "liver"], dtype=h5py.string_dtype())
        tissue.attrs["categories"] = labels.ref
        obs.create_dataset("age", data=[3.5, 4.0, np.nan, 1.0])
        obs.attrs["column-order"] = ["tissue", "age"]


def tenx(path):
    """As Cell Ranger 3 writes it: columns of genes x cells."""
    columns = sp.csc_matrix(X.T)
    with h5py.File(path, "w") as file:
        group = file.create_group("matrix")
        group["barcodes"] = np.array(CELLS, dtype="S")
        for name in ["data", "indices", "indptr"]:
            group.create_dataset(name, data=getattr(columns, name), chunks=(3,), compression="gzip")
        group["shape"] = np.array(columns.shape, dtype=np.int32)
        features = group.create_group("features")
        features["id"] = np.array([f"ENSG{i}" for i in range(5)], dtype="S")
        features["name"] = np.array([name.encode() for name in GENES], dtype="S")
        features["feature_type"] = np.array(["Gene Expression"] * 5, dtype="S")


for compression in [None, "gzip", "lzf"]:
    name = compression or "none"
    for layout, make in [("csr", sp.csr_matrix), ("csc", sp.csc_matrix), ("dense", np.array)]:
        cells(make(X.astype(np.float32))).write_h5ad(HERE / f"{layout}-{name}.h5ad", compression=compression)
layers = cells(sp.csr_matrix(np.log1p(X)), labels=True)
layers.layers["counts"] = sp.csr_matrix(X)
layers.layers["scaled"] = X / 2
layers.write_h5ad(HERE / "layers.h5ad")
raw = cells(sp.csr_matrix(X))
raw.raw = raw.copy()
raw = raw[:, [1, 3]].copy()
raw.X = sp.csr_matrix(np.log1p(raw.X.toarray()))
raw.write_h5ad(HERE / "raw.h5ad")
random = np.random.default_rng(1)
dense = random.poisson(random.gamma(0.2, 2, size=(300, 40))).astype(np.int32)
ad.AnnData(sp.csr_matrix(dense)).write_h5ad(HERE / "stream.h5ad")
# Chunks that are shorter than a window of rows.
with h5py.File(HERE / "stream.h5ad", "r+") as file:
    for name, chunk in [("data", 97), ("indices", 131), ("indptr", 50)]:
        values = file["X"][name][:]
        del file["X"][name]
        file["X"].create_dataset(name, data=values, chunks=(chunk,), compression="gzip", shuffle=True)
tenx(HERE / "tenx.h5")
obs_of_all_kinds(HERE / "obs.h5ad")
obs_of_anndata_0_7(HERE / "obs-0.7.h5ad")
scipy.io.mmwrite(HERE / "matrix.mtx", sp.csr_matrix(X))
(HERE / "10x").mkdir(exist_ok=True)
scipy.io.mmwrite(HERE / "10x" / "matrix.mtx", sp.csc_matrix(X.T))
lines = (HERE / "10x" / "matrix.mtx").read_bytes()
(HERE / "10x" / "matrix.mtx").unlink()
features = "".join(f"ENSG{i}\t{name}\tGene Expression\n" for i, name in enumerate(GENES))
for name, text in [
    ("matrix.mtx.gz", lines),
    ("features.tsv.gz", features.encode()),
    ("barcodes.tsv.gz", "".join(f"{name}\n" for name in CELLS).encode()),
]:
    (HERE / "10x" / name).write_bytes(gzip.compress(text, mtime=0))


def lists_of_polars():
    """One row per document: numbered by the rows, with an empty document at the end, and by a column in another order."""
    terms, counts = [[1, 3], [], [0, 3, 4], [1, 4], []], [[3, 1], [], [7, 200, 1], [1, 9], []]
    rows = pl.DataFrame({"name": list("abcde"), "term": terms, "count": counts})
    rows.write_parquet(HERE / "lists-polars.parquet")
    triplets = {"doc": [2, 0, 3, 2, 0, 2, 3], "term": [0, 1, 1, 3, 3, 4, 4], "count": [7, 3, 1, 200, 1, 1, 9]}
    grouped = pl.DataFrame(triplets).group_by("doc", maintain_order=True).agg("term", "count")
    grouped.write_parquet(HERE / "lists-grouped.parquet")


lists_of_polars()
