"""Writes the tensors in this folder with safetensors: python make_safetensors.py (safetensors 0.8, ml_dtypes 0.6)."""

from pathlib import Path

import ml_dtypes
import numpy as np
from safetensors import TensorSpec, serialize_file

HERE = Path(__file__).parent / "safetensors"
HERE.mkdir(exist_ok=True)
X = np.array([[0, 3, 0, 1, 0], [0, 0, 0, 0, 0], [7, 0, 0, 100, 1], [0, 1, 0, 0, 9]])

for name in ["float16", "float32", "float64", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "bool", "bfloat16"]:
    dtype = ml_dtypes.bfloat16 if name == "bfloat16" else name
    tensor = X.astype(dtype)
    spec = TensorSpec(dtype=name, shape=list(X.shape), data_ptr=tensor.ctypes.data, data_len=tensor.nbytes)
    serialize_file({"X": spec}, HERE / f"{name}.safetensors")
