"""Writes the files in `inputs` with pandas, anndata and h5py: python make_inputs.py (pandas 2.3, pyarrow, anndata 0.12, hdf5plugin)."""

import json
from pathlib import Path

import anndata as ad
import h5py
import hdf5plugin
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather

HERE = Path(__file__).parent / "inputs"
HERE.mkdir(exist_ok=True)
X = np.array([[1, 0], [0, 2], [3, 0]])
GENES, CELLS = ["ACTB", "XIST"], ["c1", "c2", "c3"]

words = pd.DataFrame({"sea": [1, 3, 5], "tea": [2, 4, 6]})
books = [("Austen", "Emma"), ("Austen", "Sanditon"), ("Byron", "Lara")]
levels = words.set_index(pd.MultiIndex.from_tuples(books, names=["author", "book"]))
levels.to_parquet(HERE / "levels.parquet")
pa.feather.write_feather(pa.Table.from_pandas(levels), HERE / "levels.feather")
numbered = pd.MultiIndex.from_tuples([("Austen", 1), ("Austen", 2), ("Byron", 1)])
words[["sea"]].set_index(numbered).to_parquet(HERE / "nameless_levels.parquet")
words.set_index(pd.Index(["x", "y", "z"], name="doc")).to_parquet(HERE / "doc.parquet")
words.set_index(pd.Index([7, 9, 11], name="code")).to_parquet(HERE / "codes.parquet")
words.assign(sea=[1, np.nan, 5]).to_parquet(HERE / "floats.parquet")
words.assign(sea=pd.array([1, None, 5], dtype="Int64")).to_parquet(HERE / "nullable.parquet")
labels = {"doc": ["x", "y", "z"], "genre": pd.Categorical(["prose", None, "verse"]), "seen": [True, False, True]}
pd.DataFrame({**labels, "sea": words["sea"]}).to_parquet(HERE / "categories.parquet")

types = pd.DataFrame({"feature_types": ["Gene Expression", "Antibody Capture"]}, index=["ACTB", "CD3"])
ad.AnnData(np.array([[1, 300], [0, 200]]), obs=pd.DataFrame(index=CELLS[:2]), var=types).write_h5ad(HERE / "cite.h5ad")

with h5py.File(HERE / "sparse_before_0.7.h5ad", "w") as file:
    file.create_group("X").attrs.update(h5sparse_format="csr", h5sparse_shape=X.shape)
    for name, values in {"data": [1.0, 2.0, 3.0], "indices": [0, 1, 0], "indptr": [0, 1, 2, 3]}.items():
        file["X"][name] = np.array(values, dtype="f4" if name == "data" else "i4")
    file["obs"] = np.array([(name.encode(),) for name in CELLS], dtype=[("index", "S2")])
    file["var"] = np.array([(name.encode(),) for name in GENES], dtype=[("index", "S4")])

filters = {
    "shuffled": {"shuffle": True, "compression": "gzip"},
    "checked": {"fletcher32": True},
    "lz4": hdf5plugin.LZ4(),
    "bitshuffle": hdf5plugin.Bitshuffle(),
}
for name, options in filters.items():
    path = HERE / f"{name}.h5ad"
    ad.AnnData(X, obs=pd.DataFrame(index=CELLS), var=pd.DataFrame(index=GENES)).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        attributes = dict(file["X"].attrs)
        del file["X"]
        file.create_dataset("X", data=X, chunks=X.shape, **options).attrs.update(attributes)

for name, dtype in {"odd_u16": "U16", "odd_i64": "I64"}.items():
    tensor = np.array([[1, 0], [300, 4]], dtype="<u2" if dtype == "U16" else "<i8")
    header = json.dumps({"X": {"dtype": dtype, "shape": [2, 2], "data_offsets": [0, tensor.nbytes]}}).encode()
    header += b" " * (1 - len(header) % 2)
    (HERE / f"{name}.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + tensor.tobytes())
