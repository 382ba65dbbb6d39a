"""Writes the tables in the folder arrow with PyArrow, pandas and Polars: python make_arrow.py (pyarrow 26, pandas 3, polars 2)."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather

HERE = Path(__file__).parent / "arrow"
HERE.mkdir(exist_ok=True)
X = np.array([[0, 3, 0, 1, 0], [0, 0, 0, 0, 0], [7, 0, 0, 200, 1], [0, 1, 0, 0, 9]])
NAMES = ["AAAC-1", "AAAG-1", "AAAT-1", "AACC-1"]


def write(table, name, rows, compression=None, to=pa.ipc.new_file):
    """Record batches of so many rows."""
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with to(str(HERE / name), table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)


doc, term = np.nonzero(X)
triplets = pa.table({"doc": doc, "term": term.astype("u1"), "count": X[doc, term].astype("i2")})
for compression in [None, "lz4", "zstd"]:
    write(triplets, f"triplets-{compression or 'plain'}.arrow", 3, compression)
write(triplets, "triplets-stream.arrow", 3, to=pa.ipc.new_stream)
feather.write_feather(triplets, HERE / "triplets-1.feather", version=1)

lists = pl.DataFrame({"term": [np.flatnonzero(row) for row in X], "count": [row[row > 0] for row in X]})
lists.write_ipc(HERE / "lists.ipc", compression="zstd")

wide = pd.DataFrame(X, columns=["Actb", "Gapdh", "Malat1", "Xist", "Ünder"], index=NAMES)
wide["tissue"] = pd.Categorical(["liver", None, "kidney", "liver"])
write(pa.Table.from_pandas(wide), "wide.feather", 2, "lz4")

kinds = pd.DataFrame(
    {
        "text": ["ant bee", "cat", "", "a text that is longer than a view of 12 bytes"],
        "note": ["x", None, "", "y"],
        "kind": pd.Categorical(["b", "a", None, "b"]),
        "age": pd.array([1, None, 3, 4], dtype="Int8"),
        "share": np.array([0.5, np.nan, 1, 2], dtype="f4"),
        "seen": pd.array([True, None, False, True], dtype="boolean"),
        "day": pd.to_datetime(["1987-01-02", "1998-03-04", None, "2001-05-06"]),
    }
)
kinds = pa.Table.from_pandas(kinds)
kinds = kinds.append_column("marks", pa.array([[1, 2], [], None, [3]], pa.list_(pa.int8())))
kinds = kinds.append_column("seen at", pa.array([1, 2, None, 4], pa.timestamp("s", "Europe/Berlin")))
feather.write_feather(kinds, HERE / "kinds.feather", compression="zstd", chunksize=3)
pl.from_arrow(kinds).write_ipc(HERE / "kinds.arrow", compression="lz4")
# What is refused.
runs = pa.RunEndEncodedArray.from_arrays([2, 4], ["a", "b"])
write(pa.table({"text": ["a", "b", "c", "d"], "run": runs}), "runs.arrow", 4)
