"""Runs our benchmark and the peers on the same work, in turns, and writes benches/peers.json and benches/peers.md.

usage: bench_peers.py PEERS.PY PEERS_PYTHON NIPS.npz FOLDER     in the repository's root
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

SEEDS = 5
NOT_WORSE = -24_880_000


def main(peers, python, nips, folder):
    def run(command):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr[-2000:]}")
        return json.loads(done.stdout.strip().splitlines()[-1])

    def peer(*words):
        return run([python, peers, *map(str, words)])

    def our(*words):
        return run(["cargo", "test", "--quiet", "--bench", "peers", "--", *map(str, words)])

    def say(text):
        print(text, flush=True)

    load = os.getloadavg()[0]
    rows = []

    def add(work, unit, their, fused, tensor=None, **more):
        row = {"work": work, "unit": unit, "tinytopics": their, "fused": fused, "ratio": their / fused, **more}
        if tensor is not None:
            row |= {"tensor": tensor, "tensor_ratio": their / tensor}
        rows.append(row)
        say(json.dumps(row))

    with tempfile.TemporaryDirectory() as scratch:
        say("generator, 5000 x 20000, k = 10, length 65536")
        theirs = [peer("synthetic", 5000, 20000, 10, 1, 65536)["generate_seconds"] for _ in range(3)]
        mine = [our("generate", 5000, 20000, 10, 65536)["generate_seconds"] for _ in range(5)]
        add("generator, 5000 x 20000, k 10, length 65,536", "s", statistics.median(theirs), statistics.median(mine))

        for n, m, k, epochs, length in [(5000, 1000, 10, 20, 65536), (1000, 20000, 100, 5, 1000)]:
            say(f"synthetic {n} x {m}, k = {k}, batch 16, {epochs} epochs")
            path = pathlib.Path(scratch) / f"X-{n}-{m}.npy"
            theirs, fused, tensor = [], [], []
            for _ in range(3):
                theirs.append(peer("synthetic", n, m, k, epochs, length, "--save", path))
                fused.append(our("synthetic", path, k, epochs, "fused"))
                tensor.append(our("synthetic", path, k, epochs, "tensor"))
            seconds = [statistics.median(run["seconds_per_epoch"] for run in runs) for runs in (theirs, fused, tensor)]
            add(
                f"synthetic {n} x {m}, k {k}, length {length:,}, batch 16, {epochs} epochs",
                "s an epoch",
                *seconds,
                loss_tinytopics=statistics.median(run["last_loss"] for run in theirs),
                loss_fused=statistics.median(run["last_loss"] for run in fused),
                loss_tensor=statistics.median(run["last_loss"] for run in tensor),
            )

        say("NIPS, k = 10, batch 16, 200 epochs")
        their = peer("counts", nips, 10, "tinytopics", 200)
        fused = [our("counts", nips, 10, 200, seed, "fused") for seed in range(SEEDS)]
        tensor = our("counts", nips, 10, 200, 0, "tensor")
        scores = [run["score"] for run in fused]
        add(
            f"NIPS, k 10, batch 16, 200 epochs ({SEEDS} seeds of ours)",
            "s",
            their["seconds"],
            statistics.median(run["seconds"] for run in fused),
            tensor["seconds"],
            score_tinytopics=their["score"],
            score_fused_median=statistics.median(scores),
            scores_fused=scores,
            score_tensor=tensor["score"],
        )

    solvers = bench_solvers.run(our, peer, nips, say)
    growth = bench_solvers.growth(our)
    packages = subprocess.run(
        [python, "-c", "import torch, numpy, tinytopics; print(torch.__version__, numpy.__version__)"],
        capture_output=True,
        text=True,
    ).stdout.split()
    record = {
        "date": datetime.date.today().isoformat(),
        "machine": {"cpu": cpu(), "cores": os.cpu_count(), "system": platform.platform(), "load_before": load},
        "versions": {"tinytopics": "0.9.3", "torch": packages[0], "numpy": packages[1], "rustc": rustc()},
        "cache": "counts in memory on both sides; files freshly written or read before",
        "rows": rows,
        "solvers": solvers,
        "growth": growth,
    }
    folder = pathlib.Path(folder)
    (folder / "peers.json").write_text(json.dumps(record, indent=1) + "\n")
    (folder / "peers.md").write_text(table(record))
    median = rows[-1]["score_fused_median"]
    missed = list(bench_solvers.missed(solvers))
    if median < NOT_WORSE:
        missed.append(f"the median score on NIPS is {median:,.0f}, below {NOT_WORSE:,}")
    if missed:
        sys.exit("\n".join(missed))


def table(record):
    machine, versions = record["machine"], record["versions"]
    lines = [
        "# Beside tinytopics",
        "",
        f"Made by `cargo xtask bench peers` on {record['date']}: {machine['cpu']}, {machine['cores']} cores,"
        f" load {machine['load_before']:.2f} before; torch {versions['torch']}, numpy {versions['numpy']},"
        f" {versions['rustc']}. Medians of 3 runs or more, except tinytopics and the tensor path on NIPS (1);"
        f" {record['cache']}.",
        "",
        "*Fused* is what a fit on the CPU does; *tensor* is the reference, Burn's tensors with automatic differentiation.",
        "",
        "| work | unit | tinytopics | fused | times faster | tensor | times faster |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in record["rows"]:
        tensor = (
            f"{row['tensor']:.3g} | {row['tensor_ratio']:.2g}" if "tensor" in row else "- | -"
        )
        lines.append(
            f"| {row['work']} | {row['unit']} | {row['tinytopics']:.3g} | {row['fused']:.3g} | {row['ratio']:.3g} | {tensor} |"
        )
    lines += ["", "Quality, from the same runs:", "", "| work | | tinytopics | fused | tensor |", "|---|---|---|---|---|"]
    for row in record["rows"]:
        if "loss_fused" in row:
            lines.append(
                f"| {row['work']} | final loss, lower is better | {row['loss_tinytopics']:,.2f}"
                f" | {row['loss_fused']:,.2f} | {row['loss_tensor']:,.2f} |"
            )
        if "score_tensor" in row:
            lines.append(
                f"| {row['work']} | score, higher is better | {row['score_tinytopics']:,.0f}"
                f" | {row['score_fused_median']:,.0f} (median) | {row['score_tensor']:,.0f} |"
            )
    scores = ", ".join(f"{score:,.0f}" for score in record["rows"][-1]["scores_fused"])
    lines += ["", f"Scores of our five seeds on NIPS: {scores}."]
    lines += bench_solvers.table(record["solvers"])
    lines += bench_solvers.growth_table(record["growth"])
    return "\n".join(lines) + "\n"


def cpu():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def rustc():
    return subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main(*sys.argv[1:])
