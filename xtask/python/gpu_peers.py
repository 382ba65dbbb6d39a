"""The peers' part of `cargo xtask bench gpu`; each command prints one line of JSON.

gpu_peers.py transfers ROWS COLUMNS               PyTorch: uploads and downloads of f32 tables with pinned host memory
gpu_peers.py gathered TABLE_ROWS ROWS COLUMNS     the same for random rows of a pinned table
gpu_peers.py table ROWS K BATCH STEPS             PyTorch: steps with a table of rows on the GPU and on the CPU, SparseAdam
gpu_peers.py tinytopics X.npy N K BATCH EPOCHS SECONDS
                                                  tinytopics on the first N documents, or on as many as SECONDS allow
"""

import json
import statistics
import sys
import time


def rates(rounds, work, places):
    """Repeats each part of the work; transfers a second, by name, from the medians after the first round."""
    import torch

    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    seconds = {name: [] for name in work}
    for _ in range(rounds + 1):
        for name, do in work.items():
            wait()
            began = time.perf_counter()
            do()
            wait()
            seconds[name].append(time.perf_counter() - began)
    result = {f"{name}_per_second": 1 / statistics.median(times[1:]) for name, times in seconds.items()}
    return result | places | {"gpu": torch.cuda.is_available(), "torch": torch.__version__}


def pinned(*shape):
    import torch

    return torch.ones(*shape, pin_memory=torch.cuda.is_available())


def device():
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def transfers(rows, columns):
    import torch

    host, back = pinned(rows, columns), pinned(rows, columns)
    there = torch.empty(rows, columns, device=device())
    work = {
        "to_gpu": lambda: there.copy_(host, non_blocking=True),
        "from_gpu": lambda: back.copy_(there, non_blocking=True),
    }
    return rates(20, work, {"rows": rows, "columns": columns})


def gathered(table_rows, rows, columns):
    import torch

    table, stage = pinned(table_rows, columns), pinned(rows, columns)
    index = torch.randperm(table_rows)[:rows]
    there = torch.empty(rows, columns, device=device())

    def to_gpu():
        torch.index_select(table, 0, index, out=stage)
        there.copy_(stage, non_blocking=True)

    def from_gpu():
        # A copy that does not block would not have arrived when the rows are scattered.
        stage.copy_(there)
        table.index_copy_(0, index, stage)

    work = {"to_gpu": to_gpu, "from_gpu": from_gpu}
    return rates(20, work, {"table_rows": table_rows, "rows": rows, "columns": columns})


def table(rows, topics, batch, steps):
    """The steps of the thread on tables that a GPU does not hold: SparseAdam for the table, AdamW for what is small."""
    import torch

    terms, gpu = 200, device()
    counts = torch.zeros(batch, terms, device=gpu)
    counts[:, ::40] = 3.0
    result = {"rows": rows, "topics": topics, "batch": batch, "torch": torch.__version__}
    for name, place in (("on_gpu", gpu), ("on_host", torch.device("cpu"))):
        l = torch.nn.Embedding(rows, topics, sparse=True, device=place)
        f = torch.nn.Parameter(torch.rand(topics, terms, device=gpu))
        optimizers = [torch.optim.SparseAdam(l.parameters(), lr=0.05), torch.optim.AdamW([f], lr=0.05)]

        def step():
            documents = torch.randint(rows, (batch,), device=place)
            l_rows = l(documents).to(gpu).softmax(1)
            rates = l_rows @ f.softmax(1)
            loss = (rates - counts * rates.clamp(min=1e-10).log()).sum()
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()

        for count in (max(1, steps // 10), steps):
            began = time.perf_counter()
            for _ in range(count):
                step()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            result[f"{name}_per_second"] = count / (time.perf_counter() - began)
        del l, f, optimizers, step
    return result


def score_per_token(model, counts):
    """The mean over tokens of log rate, by the learned L and F; sums are in double precision."""
    import torch

    l, f = torch.softmax(model.L.weight.detach(), 1), torch.softmax(model.F.detach(), 1)
    total = tokens = 0.0
    for first in range(0, len(counts), 256):
        x = counts[first : first + 256].to(f.device)
        rates = (l[first : first + 256] @ f).clamp(min=1e-10)
        total += (x * rates.log()).sum(dtype=torch.float64).item()
        tokens += x.sum(dtype=torch.float64).item()
    return total / tokens


def tiny(path, documents, topics, batch, epochs, seconds):
    import numpy
    import tinytopics
    import tinytopics.fit
    import torch

    ends = []

    class Clock:
        """Stands in for the progress bar of a fit, and keeps the time at the end of each epoch."""

        def __init__(self, *_, **__):
            ends.clear()

        def __enter__(self):
            ends.append(time.perf_counter())
            return self

        def __exit__(self, *_):
            pass

        def set_postfix(self, *_):
            pass

        def update(self, _):
            ends.append(time.perf_counter())

    tinytopics.fit.tqdm = Clock
    rows = numpy.load(path, mmap_mode="r")

    def load(documents):
        return torch.from_numpy(rows[:documents].astype(numpy.float32))

    # A fit on a few documents: its first epoch loads libraries and compiles kernels, the others give the time of a step.
    few = min(documents, 50 * batch)
    tinytopics.set_random_seed(42)
    tinytopics.fit_model(load(few), topics, num_epochs=3, batch_size=batch)
    step = (ends[3] - ends[1]) / 2 / -(-few // batch)
    documents = min(documents, int(seconds / epochs / step) * batch)
    if documents < batch:
        return {"skipped": f"{epochs} epochs of one batch take more than {seconds} s at {step:.3f} s a step"}
    counts = load(documents)
    tinytopics.set_random_seed(42)
    began = time.perf_counter()
    model, _ = tinytopics.fit_model(counts, topics, num_epochs=epochs, batch_size=batch)
    taken = time.perf_counter() - began
    return {
        "seconds_per_epoch": statistics.median(end - start for start, end in zip(ends, ends[1:])),
        # With the upload of the counts, which happens once, before the first epoch.
        "seconds": taken,
        "epochs": epochs,
        "score": score_per_token(model, counts),
        "documents": documents,
        "batch": batch,
        "gpu": torch.cuda.is_available(),
        "torch": torch.__version__,
    }


def main(what, *words):
    commands = {"transfers": transfers, "gathered": gathered, "table": table}
    try:
        if what in commands:
            result = commands[what](*map(int, words))
        else:
            result = tiny(words[0], *map(int, words[1:]))
    except ImportError as error:
        result = {"skipped": f"Python has no {error.name}"}
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
