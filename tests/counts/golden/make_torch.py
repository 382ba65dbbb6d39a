"""Writes the tensors in this folder with PyTorch: python make_torch.py (torch 2)."""

from pathlib import Path

import torch

HERE = Path(__file__).parent / "torch"
HERE.mkdir(exist_ok=True)
X = torch.tensor([[0, 3, 0, 1, 0], [0, 0, 0, 0, 0], [7, 0, 0, 100, 1], [0, 1, 0, 0, 9]])

for dtype in ["float32", "float64", "float16", "bfloat16", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]:
    torch.save(X.to(getattr(torch, dtype)), HERE / f"{dtype}.pt")
torch.save(X > 0, HERE / "bool.pt")
# A part of a larger tensor, whose numbers begin in the middle of the entry.
torch.save(torch.cat([X + 1, X])[4:], HERE / "slice.pt")
torch.save({"other": X[:2], "X": X.to(torch.uint8), "name": "counts", "rates": [0.5, None, True]}, HERE / "dictionary.pt")
layer = torch.nn.Linear(5, 4, bias=True)
layer.load_state_dict({"weight": X.float(), "bias": torch.ones(4)})
torch.save(layer.state_dict(), HERE / "state.pt")
torch.save(torch.nn.Parameter(X.float()), HERE / "parameter.pt")
# What is refused.
torch.save(X.t().contiguous().t(), HERE / "transposed.pt")
torch.save(X[0], HERE / "vector.pt")
torch.save({"a": X, "b": X}, HERE / "several.pt")
torch.save([X], HERE / "list.pt")
torch.save(layer, HERE / "module.pt")
torch.save(X.to(torch.complex64), HERE / "complex.pt")
torch.save(X.to_sparse(), HERE / "sparse.pt")
torch.save(X, HERE / "legacy.pt", _use_new_zipfile_serialization=False)
