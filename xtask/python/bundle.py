"""Makes one archive from which topicbook is installed on a machine without a network, a compiler or Rust.

usage: bundle.py ROOT WHEELS OUT PRESET

WHEELS is the folder that wheel.py has written. The archive has these wheels, those of JupyterLab for several versions of Python,
what cells need of the Rust toolchain, and a script that installs all three. PRESET is the level of xz.
"""

import pathlib
import subprocess
import sys
import tarfile
import tempfile

# Of Debian 12 and 13 and of Ubuntu 24.04 and later.
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
TARGET = "x86_64-unknown-linux-gnu"
# Compiler and Cargo, their libraries, the standard library, and the linker; no sources, documentation or other tools.
PARTS = ("bin/cargo", "bin/rustc", "lib/*.so*", f"lib/rustlib/{TARGET}/lib/*", f"lib/rustlib/{TARGET}/bin/rust-lld")
PARTS += (f"lib/rustlib/{TARGET}/bin/gcc-ld/*", "share/doc/rust/COPYRIGHT*", "share/doc/rust/LICENSE*")
INSTALL = f"""#!/bin/sh
# Installs topicbook, with JupyterLab and Rust, into a new folder: ./install FOLDER
set -eu
case $(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])') in
{" | ".join(PYTHONS)}) ;;
*) echo "topicbook: this needs Python {PYTHONS[0]} to {PYTHONS[-1]} as python3; it is $(python3 --version)" >&2; exit 1 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
to=${{1:-$HOME/topicbook}}
python3 -m venv --without-pip "$to"
pip=$(echo "$here"/wheels/pip-*.whl)
"$to/bin/python" "$pip/pip" install --quiet --no-index --find-links "$here/wheels" 'topicbook[lab]'
mkdir -p "$to/rust"
"$to/bin/python" -m tarfile -e "$here/rust.tar.xz" "$to/rust"
echo "installed: $to/bin/topicbook course FOLDER, then $to/bin/topicbook lab FOLDER/notebooks"
"""


def main(root, wheels, out, preset):
    root, wheels, out = pathlib.Path(root), pathlib.Path(wheels), pathlib.Path(out)
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True, cwd=root).stdout
    sysroot = pathlib.Path(sysroot.strip())
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        found = folder / "wheels"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
        pinned = ["--constraint", root / "xtask/python/requirements.txt", "--dest", found, "--find-links", wheels]
        for version in PYTHONS:
            subprocess.run([*command, *pinned, "--python-version", version, "topicbook[lab]", "pip"], check=True)
        rust = folder / "rust.tar.xz"
        with tarfile.open(rust, "w:xz", preset=int(preset)) as archive:
            for part in PARTS:
                for file in sorted(sysroot.glob(part)):
                    archive.add(file, file.relative_to(sysroot))
        install = folder / "install"
        install.write_text(INSTALL)
        install.chmod(0o755)
        out.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(out, "w") as archive:
            for name in ("install", "rust.tar.xz", "wheels"):
                archive.add(folder / name, f"topicbook/{name}")
    print(f"{out} ({out.stat().st_size / 1e6:.0f} MB), for Python {PYTHONS[0]} to {PYTHONS[-1]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
