"""The peers' part of `cargo xtask bench gpu`; each command prints one line of JSON.

gpu_peers.py transfers ROWS COLUMNS          PyTorch: uploads and downloads of f32 tables with pinned host memory
gpu_peers.py tinytopics X.npy N K BATCH      tinytopics on the first N documents: seconds per epoch
"""

import json
import statistics
import sys
import time


def transfers(rows, columns):
    import torch

    gpu = torch.cuda.is_available()
    host = torch.ones(rows, columns)
    back = torch.empty(rows, columns)
    if gpu:
        host, back = host.pin_memory(), back.pin_memory()
    wait = torch.cuda.synchronize if gpu else lambda: None
    seconds = {"to_gpu": [], "from_gpu": []}
    for _ in range(21):
        wait()
        began = time.perf_counter()
        there = host.to("cuda" if gpu else "cpu", non_blocking=True)
        wait()
        seconds["to_gpu"].append(time.perf_counter() - began)
        began = time.perf_counter()
        back.copy_(there, non_blocking=True)
        wait()
        seconds["from_gpu"].append(time.perf_counter() - began)
    rates = {f"{way}_per_second": 1 / statistics.median(times[1:]) for way, times in seconds.items()}
    return rates | {"rows": rows, "columns": columns, "gpu": gpu, "torch": torch.__version__}


def tiny(path, documents, topics, batch):
    import numpy
    import tinytopics
    import torch

    counts = torch.from_numpy(numpy.array(numpy.load(path, mmap_mode="r")[:documents]))
    tinytopics.set_random_seed(42)
    # A fit on a few documents first, which loads libraries and compiles kernels.
    tinytopics.fit_model(counts[: 4 * batch], topics, num_epochs=1, batch_size=batch)
    seconds = {}
    for epochs in (1, 3):
        began = time.perf_counter()
        tinytopics.fit_model(counts, topics, num_epochs=epochs, batch_size=batch)
        seconds[epochs] = time.perf_counter() - began
    return {
        # Without the upload of the counts, which happens once, before the first epoch.
        "seconds_per_epoch": (seconds[3] - seconds[1]) / 2,
        "seconds_of_a_fit": seconds,
        "documents": documents,
        "batch": batch,
        "gpu": torch.cuda.is_available(),
        "torch": torch.__version__,
    }


def main(what, *words):
    try:
        if what == "transfers":
            result = transfers(*map(int, words))
        else:
            result = tiny(words[0], *map(int, words[1:]))
    except ImportError as error:
        result = {"skipped": f"Python has no {error.name}"}
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
