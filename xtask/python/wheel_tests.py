"""Tests of the wheels, as a person installs them. Reports like Rust's test harness.

usage: wheel_tests.py WHEELS [BUNDLE]

With the archive of `cargo xtask bundle`, and as root, a bare Debian is made by debootstrap, which runs two notebooks there: without
a network, a compiler or Rust.
"""

import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

import nbformat
from harness import run_tests

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = next(path for path in sys.path if path.endswith("site-packages"))
WHEELS = [str(wheel) for wheel in sorted(pathlib.Path(sys.argv[1]).glob("*.whl"))]
CELLS = [
    "use topicbook::prelude::*;",
    "let corpus = Synthetic::new(60, 30, 3).seed(1).generate()?;",
    "let fit = TopicModel::new(3).epochs(4).quiet().fit(corpus.counts())?;",
    'println!("{:?}", fit.top_terms(3).shape());',
]
# The kernel needs its loopback interface even where there is no network.
ISOLATED = """import fcntl, os, socket, struct, sys
fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8914, struct.pack("16sh", b"lo", 0x41))
os.execvp(sys.argv[1], sys.argv[1:])
"""


class Installed:
    """The wheels in a Python environment of its own, in a folder whose name has a space; Jupyter is that of this program."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder, "a home")
        self.python = self.folder / "env/bin/python"
        self.cache = self.folder / "cache"
        subprocess.run([sys.executable, "-m", "venv", self.folder / "env"], check=True)
        command = [self.python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"]
        subprocess.run([*command, *WHEELS], check=True)
        (site,) = self.folder.glob("env/lib/python3*/site-packages")
        (site / "jupyter.pth").write_text(f"{SITE}\n")

    def environment(self):
        """The variables of a machine of one's own; Jupyter's templates are those of this program's Jupyter."""
        ours = ("TOPICBOOK_", "JUPYTER", "CARGO_TARGET")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        return kept | {"TOPICBOOK_CACHE": str(self.cache), "JUPYTER_PATH": str(pathlib.Path(sys.prefix, "share/jupyter"))}

    def run(self, *arguments, **variables):
        """The exit status and what the command printed."""
        done = subprocess.run(
            [self.folder / "env/bin/topicbook", *arguments],
            env=self.environment() | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.folder,
        )
        return done.returncode, done.stdout


def fits(megabytes):
    """Whether a folder for temporary files has room."""
    return shutil.disk_usage(tempfile.gettempdir()).free > megabytes * 1_000_000


def no_file_tells_where_it_was_built(_):
    cargo = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
    secrets = [f"{path}/".encode() for path in (cargo, ROOT, os.environ["CARGO_TARGET_DIR"], pathlib.Path.home())]
    for path in WHEELS:
        with zipfile.ZipFile(path) as wheel:
            for name in wheel.namelist():
                data = wheel.read(name)
                data = lzma.decompress(data) if name.endswith(".xz") else data
                told = [secret for secret in secrets if secret in data]
                assert not told, f"{path}: {name} has {told}"


def a_missing_toolchain_is_named_with_the_command_that_installs_it(installed):
    status, text = installed.run("doctor", PATH="/nowhere", RUSTUP_HOME="/nowhere", HOME="/nowhere")
    assert status == 1 and "--profile minimal" in text and "no rustc in the PATH" in text, text


def a_cache_in_which_nobody_may_write_is_named(installed):
    status, text = installed.run("doctor", TOPICBOOK_CACHE="/proc/topicbook")
    assert status == 1 and "set TOPICBOOK_CACHE to a folder" in text, text


def a_course_is_copied_once(installed):
    status, text = installed.run("course", "course")
    assert status == 0 and (installed.folder / "course/notebooks/cells/cells.h5ad").is_file(), text
    status, text = installed.run("course", "course")
    assert status == 1 and "name a new folder" in text, text


def doctor_fits_a_model(installed):
    status, text = installed.run("doctor")
    assert status == 0 and "fit on the CPU  works" in text, text


def a_notebook_runs_twice_at_once(installed):
    """The first start unpacks the library, and the other one waits for it."""
    shutil.rmtree(installed.cache)
    cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    runs = []
    for name in ("one", "two"):
        folder = installed.folder / name
        folder.mkdir()
        nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "n.ipynb")
        runs.append(
            subprocess.Popen(
                [installed.folder / "env/bin/topicbook", "run", folder / "n.ipynb"],
                env=installed.environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    for run in runs:
        text, _ = run.communicate()
        assert run.returncode == 0 and "| (3, 4)" in text, text
    assert [folder.name for folder in installed.cache.glob("unfinished-*")] == []


def printed(notebook):
    """The lines that the cells of an executed notebook have printed."""
    outputs = [output for cell in nbformat.read(notebook, 4).cells for output in cell.get("outputs", [])]
    return [line for output in outputs if output.output_type == "stream" for line in output.text.splitlines()]


def mirror():
    """The mirror of Debian that this machine uses, and its release; None elsewhere."""
    sources = pathlib.Path("/etc/apt/sources.list.d/debian.sources")
    text = sources.read_text() if sources.is_file() else ""
    found = re.search(r"^URIs: *(\S+)(?:.*\n)*?Suites: *(\S+)", text, re.M)
    return found.groups() if found else None


def a_bare_debian_without_network_runs_two_notebooks(_):
    bundle = pathlib.Path(sys.argv[2])
    if os.geteuid() or not shutil.which("debootstrap") or not mirror():
        print("SKIPPED a_bare_debian_without_network_runs_two_notebooks: it needs root, debootstrap and Debian's sources")
        return
    where, release = mirror()
    with tempfile.TemporaryDirectory() as folder:
        base = pathlib.Path(folder, "root")
        command = ["debootstrap", "--variant=minbase", "--include=python3", release, base, where]
        made = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert made.returncode == 0, made.stdout
        subprocess.run(["tar", "-xf", bundle, "-C", base / "opt"], check=True)
        (base / "isolated.py").write_text(ISOLATED)
        names = ["00_rust_in_ten_lines", "01_quick_start"]
        runs = "\n".join(f"/root/tb/bin/topicbook run /root/course/notebooks/{name}.ipynb" for name in names)
        (base / "go").write_text(
            "set -eu\ncd /root\nmount -t proc proc /proc\nmount -t tmpfs tmpfs /dev/shm\n"
            "if command -v cc || command -v rustc; then exit 3; fi\n"
            "/opt/topicbook/install /root/tb\n/root/tb/bin/topicbook doctor\n/root/tb/bin/topicbook course /root/course\n" + runs
        )
        variables = {"HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
        (base / "dev/shm").mkdir(exist_ok=True)
        command = ["unshare", "--net", "--mount", "/usr/sbin/chroot", base, "python3", "/isolated.py", "sh", "/go"]
        done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, done.stdout
        for name in names:
            page = (ROOT / f"notebooks/executed/{name}.md").read_text()
            lines = printed(base / f"root/course/notebooks/build/{name}.ipynb")
            # Progress lines have times.
            lines = [line for line in lines if line.strip() and "Compiling" not in line]
            assert lines and all(line in page for line in lines), [line for line in lines if line not in page]


TESTS = [
    no_file_tells_where_it_was_built,
    a_missing_toolchain_is_named_with_the_command_that_installs_it,
    a_cache_in_which_nobody_may_write_is_named,
    a_course_is_copied_once,
    doctor_fits_a_model,
    a_notebook_runs_twice_at_once,
]

if __name__ == "__main__":
    tests = TESTS + [a_bare_debian_without_network_runs_two_notebooks] * (len(sys.argv) > 2)
    if not fits(4_000):
        print("SKIPPED the wheels: less than 4 GB are free for temporary files")
        tests = []
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(run_tests("wheel", tests, Installed(folder) if tests else None))
