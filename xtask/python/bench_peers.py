"""Runs our benchmark and the peers on the same work, in turns, and keeps benches/peers.json and benches/peers.md.

usage: bench_peers.py PEERS.PY PEERS_PYTHON NIPS.npz FOLDER [ROW ...]     in the repository's root

Without names every row is measured; with names those rows alone, and the others stay as they were recorded.
"""

import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

import bench_solvers

# Seeds mean the same on both sides: the same start and the same batches.
SEEDS = [42, 1, 2, 3, 4]
ROWS = {}


def row(function):
    ROWS[function.__name__.replace("_", "-")] = function
    return function


class Bench:
    """Both sides, and a folder for counts that they share."""

    def __init__(self, peers, python, nips, scratch):
        self.peers, self.python, self.nips, self.scratch = peers, python, nips, pathlib.Path(scratch)

    def peer(self, *words):
        return self.run([self.python, self.peers, *map(str, words)])

    def our(self, *words):
        return self.run(["cargo", "test", "--quiet", "--bench", "peers", "--", *map(str, words)])

    def tinytopics(self, seed, epochs):
        """tinytopics on NIPS with another seed than the 42 of peers.py, by its own functions."""
        lines = f"""
import json, sys
sys.path.insert(0, {str(pathlib.Path(self.peers).parent)!r})
import peers, numpy, scipy.sparse, tinytopics, torch
X = scipy.sparse.load_npz({str(self.nips)!r}).tocsr().astype(numpy.float64)
tinytopics.set_random_seed({seed})
L, F, extra = peers.tiny(torch.tensor(X.toarray(), dtype=torch.float32), 10, {epochs})
print(json.dumps(extra | {{"score": peers.score(X, L, F)}}))
"""
        return self.run([self.python, "-c", lines])

    @staticmethod
    def run(command):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr[-2000:]}")
        return json.loads(done.stdout.strip().splitlines()[-1])


def median(runs, key):
    return statistics.median(run[key] for run in runs)


@row
def generator(bench):
    theirs = [bench.peer("synthetic", 5000, 20000, 10, 1, 65536) for _ in range(3)]
    ours = [bench.our("generate", 5000, 20000, 10, 65536) for _ in range(5)]
    return {
        "work": "generator, 5000 x 20000, k 10, length 65,536",
        "unit": "s",
        "times": {
            "tinytopics": median(theirs, "generate_seconds"),
            "topicbook": median(ours, "generate_seconds"),
        },
        "must": 12,
    }


def synthetic(bench, n, m, k, epochs, length, must):
    path = bench.scratch / f"X-{n}-{m}.npy"
    runs = {"tinytopics": [], "topicbook": [], "tensor path": []}
    for _ in range(3):
        runs["tinytopics"].append(bench.peer("synthetic", n, m, k, epochs, length, "--save", path))
        runs["topicbook"].append(bench.our("synthetic", path, k, epochs, "fused"))
        runs["tensor path"].append(bench.our("synthetic", path, k, epochs, "tensor"))
    quality = {name: median(run, "last_loss") for name, run in runs.items()}
    return {
        "work": f"synthetic {n} x {m}, k {k}, length {length:,}, batch 16, {epochs} epochs",
        "unit": "s an epoch",
        "times": {name: median(run, "seconds_per_epoch") for name, run in runs.items()},
        "must": must,
        "quality": {
            "what": "final loss, lower is better",
            "values": quality,
            # Counts are drawn by tinytopics and the seed is the same, so the runs are the same but for rounding.
            "good": quality["topicbook"] <= quality["tinytopics"] * 1.0001,
            "asked": "at most 0.01% above tinytopics'",
        },
    }


@row
def synthetic_small(bench):
    return synthetic(bench, 5000, 1000, 10, 20, 65536, 12)


@row
def synthetic_wide(bench):
    return synthetic(bench, 1000, 20000, 100, 5, 1000, 4)


@row
def nips(bench):
    theirs = [bench.tinytopics(seed, 200) for seed in SEEDS]
    ours = [bench.our("counts", bench.nips, 10, 200, seed, "fused") for seed in SEEDS]
    tensor = [bench.our("counts", bench.nips, 10, 200, SEEDS[0], "tensor")]
    runs = {"tinytopics": theirs, "topicbook": ours, "tensor path": tensor}
    quality = {name: median(run, "score") for name, run in runs.items()}
    times = {name: median(run, "seconds") for name, run in runs.items()}
    return {
        "work": f"NIPS, k 10, batch 16, 200 epochs (seeds {', '.join(map(str, SEEDS))})",
        "unit": "s",
        "times": times,
        "must": 6,
        "scores": {name: [run["score"] for run in run] for name, run in runs.items()},
        "quality": {
            "what": "score, median of the seeds, higher is better (tensor path: seed 42 alone)",
            "values": quality,
            "good": quality["topicbook"] >= -24_880_000 and times["tensor path"] <= 2 * times["tinytopics"],
            "asked": "at least -24,880,000, and the tensor path within twice tinytopics' time",
        },
    }


# What is not a row of the first table.
SECTIONS = {
    "solvers": lambda bench: bench_solvers.run(bench.our, bench.peer, bench.nips, lambda text: print(text, flush=True)),
    "growth": lambda bench: bench_solvers.growth(bench.our),
}


def faster(row):
    ours = row["times"]["topicbook"]
    peer = next(iter(row["times"]))
    return row["times"][peer] / ours


def shortcomings(rows):
    for row in rows:
        if row.get("must") and faster(row) < row["must"]:
            yield f"{row['work']}: {faster(row):.3g} times faster, at least {row['must']} asked"
        if not row.get("quality", {"good": True})["good"]:
            yield f"{row['work']}: {row['quality']['asked']}"


def main(peers, python, nips, folder, *names):
    known = [*ROWS, *SECTIONS]
    unknown = set(names) - set(known)
    if unknown:
        sys.exit(f"no such row: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    folder = pathlib.Path(folder)
    path = folder / "peers.json"
    record = json.loads(path.read_text()) if names else {"rows": {}}
    record |= {"machine": machine(), "versions": versions(python)}
    for name in names or known:
        print(name, flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            bench = Bench(peers, python, nips, scratch)
            when = {"date": datetime.date.today().isoformat(), "load_before": os.getloadavg()[0]}
            if name in ROWS:
                record["rows"][name] = when | ROWS[name](bench)
                print(json.dumps(record["rows"][name]), flush=True)
            else:
                record[name] = when | {"rows": SECTIONS[name](bench)}
    # Recorded rows keep the order in which they stand here.
    record["rows"] = {name: record["rows"][name] for name in ROWS if name in record["rows"]}
    path.write_text(json.dumps(record, indent=1) + "\n")
    (folder / "peers.md").write_text(table(record))
    short = list(shortcomings(record["rows"].values()))
    if "solvers" in record:
        short += bench_solvers.missed(record["solvers"]["rows"])
    if short:
        sys.exit("\n".join(short))


def table(record):
    machine, versions = record["machine"], record["versions"]
    lines = [
        "# Beside the peers",
        "",
        f"Made by `cargo xtask bench peers`: {machine['cpu']}, {machine['cores']} cores;"
        f" {', '.join(f'{name} {version}' for name, version in versions.items())}."
        " Both sides run in turns on the same counts in memory, with 2 threads. Medians of 3 runs or more, except the"
        " tensor path on NIPS (1). *topicbook* is what a fit on the CPU does; the *tensor path* is its reference, Burn's"
        " tensors with automatic differentiation.",
        "",
        "| work | unit | peer | topicbook | times faster | asked | tensor path | day, load before |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in record["rows"].values():
        times = dict(row["times"])
        peer = next(iter(times))
        tensor = f"{times['tensor path']:.3g}" if "tensor path" in times else "-"
        lines.append(
            f"| {row['work']} | {row['unit']} | {peer} {times[peer]:.3g} | {times['topicbook']:.3g}"
            f" | {faster(row):.3g} | {row.get('must', '-')} | {tensor} | {row['date']}, {row['load_before']:.2f} |"
        )
    lines += ["", "Quality, from the same runs:", "", "| work | what | asked | seen |", "|---|---|---|---|"]
    for row in record["rows"].values():
        if "quality" in row:
            quality = row["quality"]
            seen = ", ".join(f"{name} {value:,.0f}" for name, value in quality["values"].items())
            lines.append(f"| {row['work']} | {quality['what']} | {quality['asked']} | {seen} |")
    for row in record["rows"].values():
        for name, scores in row.get("scores", {}).items():
            lines += ["", f"{row['work']}: {name} {', '.join(f'{score:,.0f}' for score in scores)}."]
    if "solvers" in record:
        lines += bench_solvers.table(record["solvers"]["rows"])
    if "growth" in record:
        lines += bench_solvers.growth_table(record["growth"]["rows"])
    return "\n".join(lines) + "\n"


def machine():
    return {"cpu": cpu(), "cores": os.cpu_count(), "system": platform.platform()}


def cpu():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def versions(python):
    packages = subprocess.run(
        [python, "-c", "import torch, numpy, sklearn; print(torch.__version__, numpy.__version__, sklearn.__version__)"],
        capture_output=True,
        text=True,
    ).stdout.split()
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.split()[1]
    return {"tinytopics": "0.9.3"} | dict(zip(("torch", "numpy", "scikit-learn"), packages)) | {"rustc": rustc}


if __name__ == "__main__":
    main(*sys.argv[1:])
