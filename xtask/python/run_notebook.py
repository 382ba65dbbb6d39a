"""Runs a notebook from top to bottom, the code in its folds included, and writes it with its outputs as .ipynb, .html and .md.

usage: run_notebook.py NOTEBOOK OUTPUT_FOLDER CELL_FOLDER

Cells run in CELL_FOLDER. Prints the progress, cell by cell; stops and exits with 1 when a cell fails.
"""

import pathlib
import shutil
import sys
import time

import nbformat
import pages
from nbclient import NotebookClient

CELL_SECONDS = 3600
START_SECONDS = 600


class Runner(NotebookClient):
    """A client that prints the output of a cell while the cell runs."""

    def process_message(self, msg, cell, cell_index):
        content = msg["content"]
        if msg["msg_type"] == "stream" and content["name"] == "stdout":
            for line in content["text"].splitlines():
                say(f"    | {line}")
        return super().process_message(msg, cell, cell_index)


def say(line):
    print(line, flush=True)


def complaint(cell):
    """The error of a cell, or what it printed to stderr."""
    text = ""
    for output in cell.outputs:
        if output.output_type == "error":
            text += "\n".join(output.traceback) or output.evalue
        elif output.output_type == "stream" and output.name == "stderr":
            text += output.text
    return text.rstrip()


def write(notebook, folder, name):
    """Writes the notebook and its two pages; returns the files that are no pictures."""
    files = [folder / f"{name}.{kind}" for kind in ("ipynb", "html", "md")]
    nbformat.write(notebook, files[0])
    files[1].write_text(pages.html(notebook, name), encoding="utf-8")
    markdown = pages.Markdown(notebook, name)
    files[2].write_text(markdown.text, encoding="utf-8")
    pictures = folder / f"{name}_files"
    shutil.rmtree(pictures, ignore_errors=True)
    for path, png in markdown.pictures.items():
        pictures.mkdir(exist_ok=True)
        (folder / path).write_bytes(png)
    return files


def main(source, folder, cells):
    source, folder = pathlib.Path(source), pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    notebook = nbformat.read(source, as_version=4)
    pages.with_folded_code(notebook)
    client = Runner(
        notebook,
        # Whatever kernel its metadata name: a notebook from another machine may name evcxr's.
        kernel_name="topicbook",
        timeout=CELL_SECONDS,
        startup_timeout=START_SECONDS,
        allow_errors=True,
        resources={"metadata": {"path": cells}},
    )
    code = [index for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    failed = False
    start = time.monotonic()
    with client.setup_kernel():
        say(f"  kernel ready after {time.monotonic() - start:.1f} s")
        for number, index in enumerate(code, 1):
            cell = notebook.cells[index]
            say(f"  [{number}/{len(code)}] {cell.source.strip().splitlines()[-1]}")
            begin = time.monotonic()
            client.execute_cell(cell, index, execution_count=number)
            say(f"    {time.monotonic() - begin:.1f} s")
            if wrong := complaint(cell):
                failed = True
                say("    FAILED")
                for line in wrong.splitlines():
                    say(f"    ! {line}")
                break
    client.set_widgets_metadata()
    files = write(notebook, folder, source.stem)
    say(f"  in all {time.monotonic() - start:.1f} s")
    for file in files:
        say(f"  wrote {file} ({file.stat().st_size / 1024:,.0f} KiB)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
