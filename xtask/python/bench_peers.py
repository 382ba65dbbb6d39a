"""Runs our benchmark and the peers on the same work, in turn; writes benches/records/peers.json and peers.md.

usage: bench_peers.py PEERS.PY PEERS_PYTHON NIPS.npz FOLDER [ROW ...]     in the repository's root, with Jupyter's Python

Without names it measures every row; with names only those rows, and the others keep their records.
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

from jupyter_client.manager import start_new_kernel

# A seed means the same on both sides: the same start and the same batches.
SEEDS = [42, 1, 2, 3, 4]
ROWS = {}


def row(function):
    ROWS[function.__name__.replace("_", "-")] = function
    return function


class Bench:
    """Runs both sides, with a folder for counts that they share."""

    def __init__(self, peers, python, nips, records, scratch):
        self.peers, self.python, self.nips = peers, python, nips
        self.records, self.scratch = pathlib.Path(records).resolve(), pathlib.Path(scratch)

    def peer(self, *words):
        return self.run([self.python, self.peers, *map(str, words)])

    def our(self, *words):
        cargo = ["cargo", "run", "--quiet", "--package", "topicbook-bench", "--", "peers"]
        return self.run([*cargo, *map(str, words)])

    def tinytopics(self, seed, epochs):
        """Runs tinytopics on NIPS with a seed; peers.py, whose functions this calls, fixes the seed 42."""
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
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | narrowed())
        if done.returncode:
            sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr[-2000:]}")
        return json.loads(done.stdout.strip().splitlines()[-1])


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def needed(run, times=1):
    """Operations and bytes that the formulas of our side need, times a number of runs."""
    return {"operations": run["operations"] * times, "bytes": run["bytes"] * times}


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
        "needed": needed(ours[0]),
        "counts": ours[0]["counts"] + "; drawn by each side",
        "must": 25,
    }


def synthetic(bench, n, m, k, epochs, length, must):
    path = bench.scratch / f"X-{n}-{m}.npy"
    runs = {"tinytopics": [], "topicbook": [], "tensor path": []}
    for _ in range(3):
        runs["tinytopics"].append(bench.peer("synthetic", n, m, k, epochs, length, "--save", path))
        # A fit of a second or less: another user of the machine can slow down all of it.
        ours = [bench.our("synthetic", path, k, epochs, "fused") for _ in range(3)]
        runs["topicbook"].extend(ours)
        runs["tensor path"].append(bench.our("synthetic", path, k, epochs, "tensor"))
    quality = {name: median(run, "last_loss") for name, run in runs.items()}
    return {
        "work": f"synthetic {n} x {m}, k {k}, length {length:,}, batch 16, {epochs} epochs",
        "unit": "s an epoch",
        "times": {name: median(run, "seconds_per_epoch") for name, run in runs.items()},
        "needed": needed(runs["topicbook"][0]),
        "counts": runs["topicbook"][0]["counts"] + "; drawn by tinytopics",
        "must": must,
        "quality": {
            "what": "final loss, lower is better",
            "values": quality,
            # Counts by tinytopics and the same seed on both sides: the runs differ only by rounding.
            "good": quality["topicbook"] <= quality["tinytopics"] * 1.0001,
            "asked": "at most 0.01% above tinytopics'",
        },
    }


@row
def synthetic_small(bench):
    return synthetic(bench, 5000, 1000, 10, 20, 65536, 25)


@row
def synthetic_wide(bench):
    return synthetic(bench, 1000, 20000, 100, 5, 1000, 10)


@row
def text_wide(bench):
    """Counts with the term frequencies of text: each document has few of the terms."""
    path = bench.scratch / "text.npz"
    bench.our("text", 19_000, 56_000, 160, path)
    theirs = [bench.peer("counts", path, 20, "tinytopics", 1)]
    ours = [bench.our("counts", path, 20, 3, 42, "fused") for _ in range(3)]
    return {
        "work": "text 19000 x 56000, k 20, batch 16, 3 epochs (tinytopics: 1)",
        "unit": "s an epoch",
        "times": {"tinytopics": median(theirs, "seconds_per_epoch"), "topicbook": median(ours, "seconds_per_epoch")},
        "needed": needed(ours[0]),
        "counts": ours[0]["counts"] + "; the r-th most frequent term as often as 1 / r",
    }


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
        "needed": needed(ours[0], 200),
        "counts": ours[0]["counts"] + "; papers",
        "must": 10,
        "scores": {name: [run["score"] for run in run] for name, run in runs.items()},
        "quality": {
            "what": "score, median of the seeds, higher is better (tensor path: seed 42 alone)",
            "values": quality,
            "good": quality["topicbook"] >= -24_880_000 and times["tensor path"] <= 2 * times["tinytopics"],
            "asked": "at least -24,880,000, and the tensor path within twice tinytopics' time",
        },
    }


@row
def nips_solver(bench):
    """`Solver::auto()` for 20 s, compared with scikit-learn's NMF (Kullback-Leibler) and LDA on the same counts."""
    target, seconds = -24_876_000, 20
    ours = [bench.our("solver", bench.nips, 10, seed, "auto", seconds, target) for seed in SEEDS]
    nmf = bench.peer("counts", bench.nips, 10, "nmf", 200)
    lda = bench.peer("counts", bench.nips, 10, "lda", 20)
    # A seed that does not reach the target counts as infinite time.
    times = [run["seconds_to_target"] or float("inf") for run in ours]
    scores = [run["score"] for run in ours]
    quality = {"topicbook": statistics.median(scores), "scikit-learn NMF": nmf["score"], "scikit-learn LDA": lda["score"]}
    time = statistics.median(times)
    return {
        "work": f"NIPS, k 10, Solver::auto() until a score of {target:,}; NMF with 200 iterations, LDA with 20",
        "unit": "s",
        "times": {"scikit-learn NMF": nmf["seconds"], "scikit-learn LDA": lda["seconds"], "topicbook": time},
        # The work of one iteration, times the iterations until the target.
        "needed": needed(ours[0], ours[0]["iterations"] * time / ours[0]["seconds"]),
        "counts": ours[0]["counts"] + "; papers",
        "seconds_to_target": times,
        "scores": {"topicbook": scores},
        "quality": {
            "what": f"score within {seconds} s, median of the seeds, higher is better",
            "values": quality,
            "good": quality["topicbook"] >= -24_867_300 and time <= 3,
            "asked": f"at least -24,867,300, and {target:,} within 3 s",
        },
    }


CELL = """
let began = std::time::Instant::now();
let fit = TopicModel::new(10).epochs(200).seed(42).quiet().fit(&counts)?;
println!("{}", began.elapsed().as_secs_f64());
"""


@row
def notebook(bench):
    """The same fit in a cell of our kernel and in a separate program."""
    manager, client = start_new_kernel(kernel_name="topicbook", startup_timeout=600)
    printed = []

    def listen(message):
        if message["msg_type"] == "stream":
            printed.append(message["content"]["text"])

    def run(code):
        reply = client.execute_interactive(code, timeout=600, output_hook=listen)
        if reply["content"]["status"] != "ok":
            sys.exit(f"the cell failed: {reply['content']}")

    try:
        run("use topicbook::prelude::*;")
        run(f'let counts = Counts::open("{pathlib.Path(bench.nips).resolve()}")?; counts.summary()?;')
        cells, programs = [], []
        for _ in range(3):
            programs.append(bench.our("counts", bench.nips, 10, 200, 42, "fused"))
            printed.clear()
            run(CELL)
            cells.append(float("".join(printed).split()[-1]))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    times = {"in a program": median(programs, "seconds"), "topicbook": statistics.median(cells)}
    return {
        "work": "NIPS, k 10, batch 16, 200 epochs, in a cell of the kernel, compared with a separate program",
        "unit": "s",
        "times": times,
        "needed": needed(programs[0], 200),
        "counts": programs[0]["counts"] + "; papers",
        "must": 1 / 1.1,
    }


def faster(row):
    ours = row["times"]["topicbook"]
    peer = next(iter(row["times"]))
    return row["times"][peer] / ours


def label(row):
    """The work of a row, which is in the record once for each kind of processor."""
    return f"{row['work']} ({row['processor']})"


def missed_targets(rows):
    for row in rows:
        if row.get("must") and faster(row) < row["must"]:
            yield f"{label(row)}: {faster(row):.3g} times faster, at least {row['must']} required"
        if not row.get("quality", {"good": True})["good"]:
            yield f"{label(row)}: {row['quality']['asked']}"


def main(peers, python, nips, folder, *names):
    unknown = set(names) - set(ROWS)
    if unknown:
        sys.exit(f"no such row: {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    folder = pathlib.Path(folder)
    path = folder / "peers.json"
    record = json.loads(path.read_text()) if path.exists() else {"rows": {}}
    record |= {"machine": machine(), "versions": versions(python)}
    here = processor()
    for name in names or ROWS:
        print(name, flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            bench = Bench(peers, python, nips, folder, scratch)
            when = {"date": datetime.date.today().isoformat(), "load_before": os.getloadavg()[0]}
            when |= {"processor": here, "ceiling": bench.our("ceiling")}
            # A row has figures of each kind of processor, and figures of other kinds are kept.
            row = record["rows"].setdefault(name, {})
            row[here] = when | ROWS[name](bench)
        print(json.dumps(row[here]), flush=True)
    # Orders the rows of the record as in this file.
    record["rows"] = {name: record["rows"][name] for name in ROWS if name in record["rows"]}
    path.write_text(json.dumps(record, indent=1) + "\n")
    (folder / "peers.md").write_text(table(record))
    missed = list(missed_targets(all_rows(record)))
    if missed:
        sys.exit("\n".join(missed))


def all_rows(record):
    """The rows of the record, for each kind of processor, one after the other."""
    return [row for kinds in record["rows"].values() for row in kinds.values()]


def table(record):
    machine, versions = record["machine"], record["versions"]
    lines = [
        "# Comparison with the peers",
        "",
        f"Made by `cargo xtask bench peers`: last on {machine['cpu']}, {machine['cores']} cores;"
        f" {', '.join(f'{name} {version}' for name, version in versions.items())}."
        " Both sides run in turns on the same counts in memory, with 2 threads. Figures are medians of at least 3 runs (9 of"
        " our synthetic fits, which take a second),"
        " except for single runs of the tensor path, NMF and LDA on NIPS. *topicbook* is a fit"
        " on the CPU as users run it; the *tensor path* is its reference, with Burn's tensors and automatic differentiation.",
        "",
        "Two columns compare the rates of floating-point operations and bytes that the formulas need"
        " (`crates/topicbook-bench/src/peers/need.rs`) with the machine's peaks, measured before each row: multiply-adds, and reads and writes"
        " of RAM. Data in the caches move faster than that.",
        "",
        "| work | counts | unit | peer | topicbook | times faster | required | tensor path | peak operations | peak memory rate"
        " | peaks: Gflop/s, GB/s | date, load before |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in all_rows(record):
        times = dict(row["times"])
        peer = next(iter(times))
        tensor = f"{times['tensor path']:.3g}" if "tensor path" in times else "-"
        lines.append(
            f"| {row['work']} | {row['counts']} | {row['unit']} | {peer} {times[peer]:.3g} | {times['topicbook']:.3g}"
            f" | {faster(row):.3g} | {asked(row)} | {tensor} | {parts(row)} | {peaks(row)}"
            f" | {row['date']}, {row['load_before']:.2f} |"
        )
    lines += ["", "Quality, from the same runs:", "", "| work | measure | required | measured |", "|---|---|---|---|"]
    for row in all_rows(record):
        if "quality" in row:
            quality = row["quality"]
            seen = ", ".join(f"{name} {value:,.0f}" for name, value in quality["values"].items())
            lines.append(f"| {label(row)} | {quality['what']} | {quality['asked']} | {seen} |")
    for row in all_rows(record):
        for name, scores in row.get("scores", {}).items():
            lines += ["", f"{label(row)}: {name} {', '.join(f'{score:,.0f}' for score in scores)}."]
    return "\n".join(lines) + "\n"


def asked(row):
    return f"{row['must']:.3g}" if "must" in row else "-"


def narrowed():
    """What tells the peers' libraries to use the instructions that TOPICBOOK_INSTRUCTIONS tells our side."""
    if os.environ.get("TOPICBOOK_INSTRUCTIONS") != "avx2":
        return {}
    return {
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
    }


def processor():
    """The kind of processor, and the widest vector instructions that both sides use.

    With TOPICBOOK_INSTRUCTIONS=avx2 these are fewer than it has.
    """
    words = pathlib.Path("/proc/cpuinfo").read_text()
    fields = dict(line.split("\t: ", 1) for line in words.splitlines() if "\t: " in line)
    family, model = (int(fields.get(name, fields.get(f"{name}\t", 0))) for name in ("cpu family", "model"))
    if fields.get("vendor_id") == "AuthenticAMD" and family in (25, 26):
        is_zen_4 = 16 <= model < 32 or 96 <= model < 128 or 160 <= model < 176
        kind = {26: "Zen 5"}.get(family, "Zen 4" if is_zen_4 else "Zen 3")
    else:
        kind = f"{fields.get('vendor_id')}, family {family}, model {model}"
    flags = words.split()
    widest = {"AVX-512": "avx512dq", "AVX2": "avx2"}
    if os.environ.get("TOPICBOOK_INSTRUCTIONS") == "avx2":
        return f"{kind} with AVX2 alone"
    return f"{kind}, {next((name for name, flag in widest.items() if flag in flags), 'no AVX')}"


def peaks(row):
    operations, bytes = (1e-9 * row["ceiling"][f"{what}_per_second"] for what in ("operations", "bytes"))
    return f"{row['processor']}: {operations:.0f}, {bytes:.1f}"


def parts(row):
    if "needed" not in row:
        return "- | -"
    time, ceiling = row["times"]["topicbook"], row["ceiling"]
    return " | ".join(
        f"{100 * row['needed'][what] / time / ceiling[f'{what}_per_second']:.0f}%" for what in ("operations", "bytes")
    )


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
