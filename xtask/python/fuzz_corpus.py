"""Writes small whole files of NumPy, SciPy, Polars and safetensors into the corpus of the fuzz targets:
python fuzz_corpus.py CORPUS, where CORPUS is crates/fuzz/corpus and Python has the packages of fuzz.txt."""

import sys
from pathlib import Path

import numpy as np
import polars as pl
import safetensors.numpy
import scipy.sparse as sparse

corpus = Path(sys.argv[1])
counts = np.random.default_rng(1).poisson(0.6, (7, 5))
empty = counts.copy()
empty[2] = 0
empty[:, 1] = 0


def array_files():
    for dtype in ["u1", "i1", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8"]:
        np.save(corpus / "npy" / f"numpy-{dtype.strip('<')}.npy", counts.astype(dtype))
    with open(corpus / "npy" / "numpy-version-2.npy", "wb") as file:
        np.lib.format.write_array(file, empty.astype("<u2"), version=(2, 0))


def sparse_files():
    for name, kind in [("csr", sparse.csr_array), ("csc", sparse.csc_array), ("coo", sparse.coo_array)]:
        for deflated in [False, True]:
            dtype = "<f4" if deflated else "<i8"
            path = corpus / "npz" / f"scipy-{name}-{'deflated' if deflated else 'stored'}.npz"
            sparse.save_npz(path, kind(empty.astype(dtype)), compressed=deflated)
    wide = sparse.csr_array(counts.astype("u1"))
    wide.indices = wide.indices.astype("<i8")
    wide.indptr = wide.indptr.astype("<i8")
    sparse.save_npz(corpus / "npz" / "scipy-csr-64-bits.npz", wide, compressed=False)


def tensor_files():
    for dtype in ["u1", "<i4", "<f4", "<f8"]:
        path = corpus / "safetensors" / f"numpy-{dtype.strip('<')}.safetensors"
        safetensors.numpy.save_file({"X": counts.astype(dtype)}, path)
    others = {"X": counts.astype("<u2"), "names": np.zeros(3, "u1")}
    safetensors.numpy.save_file(others, corpus / "safetensors" / "two-tensors.safetensors", metadata={"a": "b"})


def tables():
    rows, columns = np.nonzero(empty)
    table = pl.DataFrame({"doc": rows, "term": columns, "count": empty[rows, columns]})
    table.write_csv(corpus / "csv" / "polars.csv")
    (corpus / "csv" / "quoted.csv").write_text('"doc","term","count"\r\n"0","1","2"\r\n"3","0","1"\r\n')
    (corpus / "csv" / "other-order.csv").write_text("term,note,count,doc\n0,a,1,0\n2,,2.0,1\n1,c,1e1,4\n")
    small = table.cast({"doc": pl.UInt32, "term": pl.UInt8, "count": pl.Float32})
    for codec in ["uncompressed", "snappy", "zstd", "lz4", "gzip"]:
        table.write_parquet(corpus / "parquet" / f"polars-{codec}.parquet", compression=codec, statistics=False)
    for codec in ["uncompressed", "zstd", "lz4"]:
        table.write_ipc(corpus / "arrow" / f"polars-{codec}.arrow", compression=codec)
    small.write_ipc(corpus / "arrow" / "polars-small-types.arrow", record_batch_size=8)
    small.write_parquet(corpus / "parquet" / "polars-small-types.parquet", compression="uncompressed")
    small.write_parquet(corpus / "parquet" / "polars-groups.parquet", compression="uncompressed", row_group_size=8)
    small.write_parquet(corpus / "parquet" / "polars-pages.parquet", compression="uncompressed", data_page_size=16)


def texts():
    for name, text in [
        ("words", "spike\nneuron\n"),
        ("words-of-windows", "spike\r\nneuron\r\n"),
        ("other-scripts", "Größe\n語\nعدد\n"),
        ("markup", "<b>\n&amp;\n\"'\n"),
    ]:
        (corpus / "terms" / name).write_text(text)
        (corpus / "pages" / name).write_text(text)
    for name, text in [("unit", "1.5 GiB"), ("plain", "4096"), ("grouped", "1_000_000 kB"), ("small", " 2 kib ")]:
        (corpus / "byte-size" / name).write_text(text)


for target in ["npy", "npz", "safetensors", "csv", "parquet", "arrow", "terms", "pages", "byte-size", "settings"]:
    (corpus / target).mkdir(exist_ok=True)
array_files()
sparse_files()
tensor_files()
tables()
texts()
