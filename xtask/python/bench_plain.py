"""Measures topicbook in a plain evcxr, without our kernel: a fresh folder, one `:dep`, and the first cells.

usage: bench_plain.py EVCXR_JUPYTER NOTEBOOKS LOCK RECORD

The kernel runs in the folder of the notebooks. evcxr's build folder gets a copy of the repository's lock file, so that the
versions of the crates are fixed; nothing else of ours is used. Compiles 300 crates; prints a table and writes it as JSON
to RECORD.
"""

import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

from bench_cells import bare_kernel, machine

SECONDS = 4 * 3600
CELLS = [
    (":dep", ':dep topicbook = { path = ".." }'),
    ("use", "use topicbook::prelude::*;"),
    ("first value of ours", "let m = Matrix::new(1, 2, vec![1.0, 2.0])?;"),
    ("show it", "m"),
    ("bind a value", "let n = Matrix::new(1, 2, vec![3.0, 4.0])?;"),
    ("bind another", "let corpus = Synthetic::new(500, 100, 5).seed(1).generate()?;"),
    ("fit", "let fit = TopicModel::new(5).epochs(20).quiet().fit(corpus.counts())?;"),
    ("show a chart", "fit.plot_structure()"),
    ("show a chart again", "fit.plot_structure()"),
]
OURS = ("TOPICBOOK_", "EVCXR_", "CARGO_", "RUST")


def run(client, code):
    """Seconds, and the error. When a `?` fails, evcxr writes the error to stderr and reports success."""
    wrong = []

    def collect(message):
        content = message["content"]
        if message["msg_type"] == "error":
            wrong.extend(content["traceback"])
        elif message["msg_type"] == "stream" and content["name"] == "stderr":
            wrong.append(content["text"])

    begin = time.monotonic()
    client.execute_interactive(code, timeout=SECONDS, output_hook=collect)
    return time.monotonic() - begin, "".join(wrong)


def main(evcxr, notebooks, lock, record):
    rows, failed = [], False
    with tempfile.TemporaryDirectory(prefix="plain-evcxr-") as folder:
        folder = pathlib.Path(folder)
        for name in ("build", "config"):
            (folder / name).mkdir()
        shutil.copy(lock, folder / "build" / "Cargo.lock")
        env = {name: value for name, value in os.environ.items() if not name.startswith(OURS) or name == "RUSTUP_HOME"}
        env.update(EVCXR_TMPDIR=str(folder / "build"), EVCXR_CONFIG_DIR=str(folder / "config"))
        manager = bare_kernel(evcxr)
        start = time.monotonic()
        manager.start_kernel(cwd=notebooks, env=env)
        client = manager.client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=300)
            rows.append({"cell": "kernel start", "seconds": time.monotonic() - start})
            for name, code in CELLS:
                seconds, wrong = run(client, code)
                rows.append({"cell": name, "seconds": seconds})
                print(f"{name:24}{seconds:>10.2f} s", flush=True)
                if wrong:
                    failed = True
                    print(wrong, flush=True)
        finally:
            client.shutdown()
            client.stop_channels()
            manager.shutdown_kernel(now=True)
            manager.cleanup_resources()
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    rows.append({"cell": "GiB on disk", "gib": size / 2**30})
    print(f"{'GiB on disk':24}{size / 2**30:>10.2f}")
    pathlib.Path(record).write_text(json.dumps({"machine": machine(), "cells": rows}, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
