"""Compares the times of cells in our kernel with those in evcxr without dependencies, in the same run; and the cells of a
data-frame analysis (frame_cells.py) with plain Polars in evcxr, which compiles Polars first. Then the cells of a module of one's
own, which have nothing to be compared with.

usage: bench_cells.py EVCXR_JUPYTER RECORD

Prints a table, writes it as JSON to RECORD, and exits with 1 if a figure misses its goal.
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
import time

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

from frame_cells import CELLS, PLAIN_DEP
from frame_cells import files as frame_cells_files

ROUNDS = 5
SECONDS = 300
READING = 3
KERNELS = pathlib.Path(os.environ["TOPICBOOK_KERNELS"])

BARE = {
    "first": "let first = 5;",
    "print": 'println!("{}", first);',
    "bind": "let bound{} = 6;",
    "show": "first",
}
OURS = {
    "use": "use topicbook::prelude::*;",
    "first": "let first = Matrix::new(1, 2, vec![1.0, 2.0])?;",
    "value": "first",
    "print": 'println!("{}", first.rows());',
    "prepare": "let corpus = Synthetic::new(500, 100, 5).seed(1).generate()?;",
    "bind": "let bound{} = Matrix::new(1, 2, vec![1.0, 2.0])?;",
    "show": "corpus.plot_structure()",
}


# The largest accepted figure, given the bare kernel's. Figures without a goal are only printed.
GOALS = {
    "start to first value": lambda bare: 1.5 * bare,
    "bind a value": lambda bare: bare + 0.5,
    "show a value or chart": lambda bare: bare + 0.5,
    "MiB on disk": lambda bare: 50.0,
}

# No cell of a data-frame analysis may take longer, nor half of them.
SLOWEST_FRAME_CELL = 1.5
MEDIAN_FRAME_CELL = 0.5

# A classifier of documents, and the most seconds of one of its cells.
SLOWEST_MODULE_CELL = 3.0
MODULE_CELLS = {
    "names of Burn": """use topicbook::prelude::*;
use topicbook::burn::{self, module::Module, nn::{Linear, LinearConfig, loss::CrossEntropyLossConfig}};
use topicbook::burn::tensor::{activation::relu, backend::Backend, Int, Tensor};""",
    "labelled batches": """let counts = Synthetic::new(500, 100, 5).seed(1).generate()?.counts();
let batches = counts.batches(64)?.labels((0..500).map(|row| row % 3))?;""",
    "a module": """#[derive(Module, Debug)]
struct Net<B: Backend> {
    hidden: Linear<B>,
    out: Linear<B>,
}""",
    "a loss": """fn loss<B: Backend>(net: &Net<B>, batch: &CountBatch) -> Tensor<B, 1> {
    let device = Default::default();
    let scores = net.out.forward(relu(net.hidden.forward(batch.rows().to_tensor::<B>(&device))));
    let classes = Tensor::<B, 1, Int>::from_data(&*batch.labels(), &device);
    CrossEntropyLossConfig::new().init(&device).forward(scores, classes)
}""",
    "a network": """let net = {
    let linear = |inputs, outputs| LinearConfig::new(inputs, outputs).init(&Default::default());
    Net::<Cpu> { hidden: linear(100, 32), out: linear(32, 3) }
};""",
    "a fit": "let trained = Trainer::new(net).epochs(2).quiet().fit(&batches, loss)?;",
    "a table of it": "trained.memory_by_module()",
    "a fit with a validation": """let (train, valid) = batches.split(0.8, 1)?;
let trained = Trainer::new(trained.module()).epochs(2).validation(&valid, loss).patience(3).quiet().fit(&train, loss)?;""",
}


def run(client, code):
    begin = time.monotonic()
    reply = client.execute_interactive(code, timeout=SECONDS, output_hook=lambda _: None)
    assert reply["content"]["status"] == "ok", reply["content"]
    return time.monotonic() - begin


def measure(manager, cells):
    """Times of a kernel's start, of its first cells and of later ones that bind, show and print, in seconds; MiB on disk."""
    begin = time.monotonic()
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=SECONDS)
        figures = {"kernel start": time.monotonic() - begin}
        if "use" in cells:
            run(client, cells["use"])
        figures["first cell with a let"] = run(client, cells["first"])
        # In the bare kernel until a value is bound, because the goal is defined so.
        if "use" in cells:
            run(client, cells["value"])
        figures["start to first value"] = time.monotonic() - begin
        if "prepare" in cells:
            run(client, cells["prepare"])
        figures["bind a value"] = statistics.median(
            run(client, cells["bind"].format(number)) for number in range(ROUNDS)
        )
        figures["show a value or chart"] = statistics.median(
            run(client, cells["show"]) for _ in range(ROUNDS)
        )
        figures["print a value"] = statistics.median(run(client, cells["print"]) for _ in range(ROUNDS))
        folder = KERNELS / str(manager.provisioner.pid)
        figures["MiB on disk"] = (
            sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20
        )
        return figures
    finally:
        client.shutdown()
        client.stop_channels()
        manager.shutdown_kernel(now=False)
        manager.cleanup_resources()


def frame_cells(manager, cells, folder):
    """Runs the cells in one kernel; returns for each its seconds and its error, if it failed."""
    frame_cells_files(folder)
    manager.start_kernel(cwd=folder)
    client = manager.client()
    client.start_channels()
    results = []
    try:
        client.wait_for_ready(timeout=SECONDS)
        # Our kernel answers before it has started; the figures above have the time of its start.
        client.execute_interactive("1", timeout=SECONDS, output_hook=lambda _: None)
        # While a person reads that answer, rust-analyzer makes its first analysis.
        time.sleep(READING)
        for cell in cells:
            wrong = []

            def collect(message):
                content = message["content"]
                if message["msg_type"] == "error":
                    wrong.append(content["evalue"])
                elif message["msg_type"] == "stream" and content["name"] == "stderr":
                    wrong.append(content["text"])

            begin = time.monotonic()
            # Polars takes ten minutes to compile in a bare kernel.
            client.execute_interactive(cell, timeout=3600, output_hook=collect)
            results.append((time.monotonic() - begin, "".join(wrong)))
        return results
    finally:
        client.shutdown()
        client.stop_channels()
        manager.shutdown_kernel(now=False)
        manager.cleanup_resources()


def compare_frames(evcxr):
    """A row for each cell of frame_cells.py, and whether one missed its goal."""
    with tempfile.TemporaryDirectory() as folder:
        ours = frame_cells(KernelManager(kernel_name="topicbook"), [cell.ours for cell in CELLS], folder)
    with tempfile.TemporaryDirectory() as folder:
        (_, broken), *plain = frame_cells(bare_kernel(evcxr), [PLAIN_DEP] + [cell.plain or "()" for cell in CELLS], folder)
    if broken:
        print(f"\nplain Polars cannot be built in a bare kernel, so it has no figures:\n{broken}")
    rows, missed = [], False
    print(f"\n{len(CELLS)} cells of a data-frame analysis, in seconds\n")
    print(f"{'':36}{'plain Polars':>14}{'topicbook':>12}")
    for cell, (own, wrong), (base, failed) in zip(CELLS, ours, plain):
        late = own > SLOWEST_FRAME_CELL
        compared = cell.plain and not broken
        missed |= bool(wrong) or late
        row = {"cell": cell.title, "topicbook": own, "plain": base if compared and not failed else None}
        if wrong:
            row["error"] = wrong
        if compared and failed:
            row["error in plain Polars"] = failed
        rows.append(row)
        shown = "" if not compared else "fails" if failed else f"{base:.2f}"
        mark = f"  FAILED {wrong}" if wrong else "  MISSED" if late else ""
        print(f"{cell.title[:35]:36}{shown:>14}{own:>12.2f}{mark}")
    middle = statistics.median(own for own, _ in ours)
    # Of the cells that plain Polars compiles; to fail takes another time.
    compared = [row["plain"] for row in rows if row["plain"] is not None]
    base = f"{statistics.median(compared):.2f}" if compared else ""
    print(f"{'median':36}{base:>14}{middle:>12.2f}")
    if broken:
        rows.insert(0, {"cell": ":dep polars in a bare kernel", "error in plain Polars": broken})
    return rows, missed or middle > MEDIAN_FRAME_CELL


def module_cells():
    """A row for each cell of a module of one's own, and whether one missed its goal."""
    with tempfile.TemporaryDirectory() as folder:
        results = frame_cells(KernelManager(kernel_name="topicbook"), MODULE_CELLS.values(), folder)
    rows, missed = [], False
    print("\ncells of a module of one's own, in seconds\n")
    for title, (seconds, wrong) in zip(MODULE_CELLS, results):
        late = seconds > SLOWEST_MODULE_CELL
        missed |= bool(wrong) or late
        rows.append({"cell": title, "topicbook": seconds})
        print(f"{title:36}{seconds:>12.2f}{f'  FAILED {wrong}' if wrong else '  MISSED' if late else ''}")
    return rows, missed


def bare_kernel(evcxr):
    manager = KernelManager()
    manager._kernel_spec = KernelSpec(
        argv=[evcxr, "--control_file", "{connection_file}"],
        display_name="Rust",
        language="rust",
        interrupt_mode="message",
    )
    return manager


def machine():
    cpu = next(
        (
            line.split(":", 1)[1].strip()
            for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.strip()
    return {
        "date": datetime.date.today().isoformat(),
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "rustc": rustc,
    }


def main(evcxr, record):
    about = machine()
    bare, ours = [], []
    for number in range(ROUNDS):
        bare.append(measure(bare_kernel(evcxr), BARE))
        ours.append(measure(KernelManager(kernel_name="topicbook"), OURS))
        print(f"round {number + 1} of {ROUNDS}", flush=True)
    rows, missed = [], False
    print(f"\n{about['cpu']}, {about['cores']} cores, load {about['load']:.1f}, {about['rustc']}")
    print(f"medians of {ROUNDS} kernels, in seconds\n")
    print(f"{'':24}{'bare evcxr':>12}{'topicbook':>12}{'goal':>8}")
    for name in ours[0]:
        base = statistics.median(figures[name] for figures in bare)
        own = statistics.median(figures[name] for figures in ours)
        goal = GOALS[name](base) if name in GOALS else None
        wrong = goal is not None and own > goal
        missed |= wrong
        rows.append({"figure": name, "bare": base, "topicbook": own, "goal": goal})
        shown = "" if name == "MiB on disk" else f"{base:.2f}"
        asked = "" if goal is None else f"{goal:.2f}"
        print(f"{name:24}{shown:>12}{own:>12.2f}{asked:>8}{'  MISSED' if wrong else ''}")
    frames, late = compare_frames(evcxr)
    modules, slow = module_cells()
    missed |= late or slow
    record_of = {"machine": about, "rounds": ROUNDS, "figures": rows, "data frames": frames, "modules": modules}
    text = json.dumps(record_of, indent=1)
    pathlib.Path(record).write_text(text + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
