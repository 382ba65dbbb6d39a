"""Log fold changes and standard errors of terms of the NIPS papers, with L as fastTopics published it: `distinctive_nips.json`.

An implementation of its own, for the test of `Fit::distinctive`: the Poisson regression of a term is written down with all
documents, zero counts included, and k pseudo-documents (Carbonetto et al. 2023, Genome Biology 24:236), and SciPy's
trust-region Newton method finds its maximum in the logarithms of the rates. Needs NumPy and SciPy.

    python tests/data/make_distinctive.py ../shared/data > tests/data/distinctive_nips.json
"""

import json
import pathlib
import struct
import sys

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

PSEUDOCOUNT = 1.0
TERMS = ["network", "neuron", "cells", "markov", "kernel", "policy", "bayesian", "the", "speech", "chip", "eeg", "zeros"]


def tensor(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    (entry,) = [entry for name, entry in header.items() if name != "__metadata__"]
    start, end = entry["data_offsets"]
    dtype = {"F32": np.float32, "F64": np.float64}[entry["dtype"]]
    return np.frombuffer(data[8 + length + start : 8 + length + end], dtype).reshape(entry["shape"])


def regression(x, exposure):
    """Rates and the covariance of their logarithms, at the maximum of the Poisson likelihood with means `exposure @ rates`."""

    def parts(t):
        f = np.exp(t)
        mean = exposure @ f
        value = mean.sum() - x @ np.log(mean)
        ratio = x / mean
        gradient = f * (exposure.T @ (1 - ratio))
        hessian = np.outer(f, f) * (exposure.T @ (exposure * (ratio / mean)[:, None]))
        return value, gradient, hessian + np.diag(gradient)

    start = np.full(exposure.shape[1], np.log(x.sum() / exposure.sum()))
    found = minimize(
        lambda t: parts(t)[0], start, jac=lambda t: parts(t)[1], hess=lambda t: parts(t)[2],
        method="trust-exact", options={"gtol": 1e-7, "maxiter": 10_000},
    )
    return found.x, np.linalg.inv(parts(found.x)[2])


def main():
    shared = pathlib.Path(sys.argv[1])
    # As the library holds it.
    l = tensor(shared / "L_fastTopics.safetensors").astype(np.float32).astype(np.float64)
    z = np.load(shared / "nips.npz")
    counts = csr_matrix((z["data"], z["indices"], z["indptr"]), shape=z["shape"]).astype(np.float64)
    words = (shared / "nips_terms.txt").read_text().split()
    k = l.shape[1]
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    exposure = np.vstack([lengths[:, None] * l, np.eye(k)])
    columns = counts.tocsc()
    golden = {"pseudocount": PSEUDOCOUNT, "terms": []}
    for word in TERMS:
        if word not in words:
            continue
        term = words.index(word)
        x = np.concatenate([columns[:, [term]].toarray().ravel(), np.full(k, PSEUDOCOUNT)])
        t, covariance = regression(x, exposure)
        rows = []
        for topic in range(k):
            others = [other for other in range(k) if other != topic]
            nearest = min(others, key=lambda other: abs(t[topic] - t[other]))
            variance = covariance[topic, topic] + covariance[nearest, nearest] - 2 * covariance[topic, nearest]
            rows.append([(t[topic] - t[nearest]) / np.log(2), np.sqrt(variance) / np.log(2), nearest])
        golden["terms"].append({"term": term, "word": word, "topics": rows})
    print(json.dumps(golden))


main()
