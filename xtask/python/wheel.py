"""Makes the wheels topicbook and topicbook-stack from a published build.

usage: wheel.py ROOT BUILD CRATES KERNEL LAUNCHER OUT PRESET

BUILD is the published build, CRATES the folder with the metadata of the crates that it names, OUT the folder for the wheels,
PRESET the level of xz. Of the crates a cell's compiler reads some 310 files; rustc itself says which. Paths of this machine in
compiled files are overwritten by names of the same length: no file of a wheel may tell where it was built.
"""

import base64
import concurrent.futures
import csv
import hashlib
import io
import json
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile

LIBRARY = "libtopicbook_dylib.so"
STD = ("core", "alloc", "std", "proc_macro")
# Jupyter starts its own Python for the first word.
SPEC = {
    "argv": ["python", "-m", "topicbook", "kernel", "{connection_file}"],
    "display_name": "Rust (topicbook)",
    "language": "rust",
    "interrupt_mode": "message",
}
METADATA = """Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: {summary}
License: MIT OR Apache-2.0
Requires-Python: >=3.9
"""
# PyPI takes no file above 100 MB. Wheels for a test are packed less.
LIMIT = 95_000_000


def output(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def read_by_cells(build, crates):
    """The files of crates and proc macros that rustc reads for a cell, but for the library's and those of the standard library."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "cell.rs")
        source.write_text("pub use topicbook_lib::*;\n")
        flags = ["--edition=2024", "--crate-type=rlib", "-Cprefer-dynamic", f"--extern=topicbook_lib={build / LIBRARY}"]
        flags += [f"-Ldependency={build}", f"-Ldependency={crates}"]
        # Only this flag makes rustc name them, and only this variable lets a stable compiler take it.
        environment = dict(os.environ, RUSTC_BOOTSTRAP="1")
        output("rustc", "-Zbinary-dep-depinfo", "--emit=dep-info=cell.d", *flags, source, cwd=folder, env=environment)
        found = re.findall(r"\S+\.(?:rmeta|rlib|so)\b", pathlib.Path(folder, "cell.d").read_text())
    ours = [pathlib.Path(file) for file in sorted(set(found)) if pathlib.Path(file).parent in (build, crates)]
    return [file for file in ours if file.name != LIBRARY]


def externs(build):
    """A line `name=file` for each crate that the programs of examples/ use beside the library, in its newest version."""
    newest = {}
    for line in (build / "stack.txt").read_text().splitlines():
        name, version, file = line.split(maxsplit=2)
        number = [int(part) for part in re.findall(r"\d+", version)[:3]]
        if name.replace("_", "-") in ("rand", "rand-distr", "rand-xoshiro") and number > newest.get(name, ([], ""))[0]:
            newest[name] = number, pathlib.Path(file).with_suffix(".rmeta").name
    return "".join(f"{name.replace('-', '_')}={file}\n" for name, (_, file) in newest.items())


def without_paths(data, prefixes):
    """The contents of a file with each of these prefixes overwritten by a name of its length."""
    for prefix in prefixes:
        data = data.replace(prefix, b"/" + (b"topicbook" + b"_" * len(prefix))[: len(prefix) - 1])
    return data


def packed(files, prefixes, preset):
    """An archive of {name: file}, as bytes, and the bytes in it."""
    buffer, size = io.BytesIO(), 0
    with lzma.open(buffer, "wb", preset=preset) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        for name, file in sorted(files.items()):
            data = file if isinstance(file, bytes) else pathlib.Path(file).read_bytes()
            member = tarfile.TarInfo(name)
            data = without_paths(data, prefixes)
            member.size, member.mode = len(data), 0o755 if name.endswith(".so") else 0o644
            archive.addfile(member, io.BytesIO(data))
            size += len(data)
    return buffer.getvalue(), size


def stripped(file, folder):
    to = folder / pathlib.Path(file).name
    subprocess.run(["strip", "-o", to, file], check=True)
    return to


def tree(folder, below=""):
    """{name: file} of a folder."""
    return {f"{below}{file.relative_to(folder)}": file for file in sorted(folder.rglob("*")) if file.is_file()}


def licences(root):
    """The crates of library and kernel with their licences, and each text of a licence once."""
    lines, texts = [], {}
    for manifest in ("Cargo.toml", "crates/kernel/Cargo.toml"):
        command = ["cargo", "metadata", "--format-version=1", "--offline", "--filter-platform=x86_64-unknown-linux-gnu"]
        found = json.loads(output(*command, f"--manifest-path={root / manifest}"))
        for package in found["packages"]:
            lines.append(f"{package['name']} {package['version']}: {package['license'] or 'see its licence file'}")
            for file in pathlib.Path(package["manifest_path"]).parent.glob("[LC][IO][CP][EY][NR]*"):
                if file.is_file():
                    texts.setdefault(file.read_bytes().decode(errors="replace").strip(), []).append(lines[-1].split(":")[0])
    header = "The crates that this package is made of, and their licences.\n\n" + "\n".join(sorted(set(lines)))
    header += "\nRust's standard library: MIT OR Apache-2.0"
    parts = [f"{', '.join(sorted(set(names)))}\n\n{text}" for text, names in sorted(texts.items())]
    return ("\n\n" + "-" * 80 + "\n\n").join([header, *parts]).encode()


def glibc(files):
    """The newest version of the C library that programs ask for."""
    found = {int(minor) for file in files for minor in re.findall(rb"GLIBC_2\.(\d+)", pathlib.Path(file).read_bytes())}
    return max(found)


def write_wheel(out, name, version, platform, summary, files, more=""):
    """Writes a wheel of {name: (bytes, whether it is a program)}; its path."""
    distribution = f"{name.replace('-', '_')}-{version}"
    info = f"{distribution}.dist-info"
    tag = f"py3-none-{platform}"
    files = dict(files)
    files[f"{info}/METADATA"] = (METADATA.format(name=name, version=version, summary=summary) + more).encode(), False
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: topicbook\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), False
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    path = out / f"{distribution}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        def add(member, data, is_program):
            entry = zipfile.ZipInfo(member, (2026, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_STORED if member.endswith(".xz") else zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)

        for member, (data, is_program) in sorted(files.items()):
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.writerow([member, f"sha256={digest}", len(data)])
            add(member, data, is_program)
        rows.writerow([f"{info}/RECORD", "", ""])
        add(f"{info}/RECORD", record.getvalue().encode(), False)
    return path


def main(root, build, crates, kernel, launcher, out, preset):
    root, build, crates, out = (pathlib.Path(path).resolve() for path in (root, build, crates, out))
    preset = int(preset)
    version = tomllib.loads((root / "Cargo.toml").read_text())["package"]["version"]
    sysroot = pathlib.Path(output("rustc", "--print", "sysroot", cwd=root).strip())
    rust = output("rustc", "--version", cwd=root).split()[1]
    (release,) = (file.name for file in (sysroot / "lib/rustlib/x86_64-unknown-linux-gnu/lib").glob("libstd-*.so"))
    cargo = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
    registry = [str(folder) for folder in cargo.glob("registry/src/*")]
    secrets = [str(path).encode() for path in (*registry, cargo, crates, root, sysroot, pathlib.Path.home())]
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        read = read_by_cells(build, crates)
        library = {f"build/{LIBRARY}": stripped(build / LIBRARY, folder)}
        library |= tree(build / "facade", "build/facade/") | tree(build / "outline", "build/outline/")
        library["build/externs"] = externs(build).encode()
        # With these a program begins where there is no C compiler.
        for name in ("Scrt1.o", "crti.o", "crtn.o"):
            library[f"build/{name}"] = output("cc", f"-print-file-name={name}").strip()
        library |= {"build/rust-release": release.encode(), "build/rust-version": rust.encode()}
        for part in STD:
            sources = sysroot / "lib/rustlib/src/rust/library" / part
            library |= {name: file for name, file in tree(sources, f"std/{part}/").items() if not re.search(r"/(tests|benches)/", name)}
        # Some archives of one size, which are packed and unpacked side by side.
        stack = [{} for _ in range(4)]
        for file in sorted(read, key=lambda file: -file.stat().st_size):
            smallest = min(stack, key=lambda files: sum(os.path.getsize(each) for each in files.values()))
            smallest[f"build/{file.name}"] = stripped(file, folder) if file.suffix == ".so" else file
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            done = list(pool.map(lambda files: packed(files, secrets, preset), [library, *stack]))
        identity = hashlib.sha256(b"".join(data for data, _ in done)).hexdigest()[:12].encode()
        megabytes = -(-sum(size for _, size in done) // 1_000_000)
        programs = {"topicbook-evcxr": stripped(kernel, folder), "topicbook": stripped(launcher, folder)}
        platform = f"manylinux_2_{glibc([library[f'build/{LIBRARY}'], *programs.values()])}_x86_64"
        files = {f"topicbook/bin/{name}": (without_paths(file.read_bytes(), secrets), True) for name, file in programs.items()}
    package = root / "crates/topicbook-launcher"
    plain = {f"topicbook/{name}.py": package / f"wheel/{name}.py" for name in ("__init__", "__main__")}
    plain |= {f"topicbook/{name}.py": root / f"xtask/python/{name}.py" for name in ("run_notebook", "pages")}
    plain |= {f"topicbook/examples/{name}.rs": root / f"examples/{name}.rs" for name in ("count_texts", "doctor", "draw_cells")}
    for part in ("notebooks", "data"):
        kept = output("git", "ls-files", part, cwd=root).splitlines()
        plain |= {f"topicbook/course/{name}": root / name for name in kept if "/executed/" not in name}
    share = f"topicbook-{version}.data/data/share/jupyter"
    plain |= tree(package / "logo", f"{share}/kernels/topicbook/") | tree(package / "lab", f"{share}/labextensions/topicbook/")
    files |= {name: (file.read_bytes(), False) for name, file in plain.items()}
    files[f"{share}/kernels/topicbook/kernel.json"] = json.dumps(SPEC, indent=2).encode(), False
    files["topicbook/licences.txt"] = licences(root), False
    # One part of the stack is here, so that neither wheel is too large.
    parts = [data for data, _ in done]
    files |= {"topicbook/parts/library.tar.xz": (parts[0], False), "topicbook/parts/0.tar.xz": (parts[1], False)}
    files["topicbook/megabytes"] = str(megabytes).encode(), False
    files[f"topicbook-{version}.dist-info/entry_points.txt"] = b"[console_scripts]\ntopicbook = topicbook.__main__:main\n", False
    crates_of = {f"topicbook_stack/parts/{part}.tar.xz": (data, False) for part, data in enumerate(parts[2:], 1)}
    crates_of["topicbook_stack/__init__.py"] = b'"""What cells\' compiler reads of the crates below topicbook."""\n', False
    files["topicbook/build-id"] = crates_of["topicbook_stack/build-id"] = identity, False
    for name, (data, _) in (files | crates_of).items():
        if told := [secret.decode() for secret in secrets if secret in data and not name.endswith(".xz")]:
            sys.exit(f"{name} tells where it was built: {told}")
    out.mkdir(parents=True)
    more = f"Requires-Dist: topicbook-stack=={version}\nProvides-Extra: lab\n"
    more += "".join(f"Requires-Dist: {name}; extra == 'lab'\n" for name in ("jupyterlab", "jupyterlab_widgets", "nbclient", "nbconvert"))
    wheels = [
        write_wheel(out, "topicbook", version, platform, "Topic models in Rust notebooks: the kernel", files, more),
        write_wheel(out, "topicbook-stack", version, platform, "What the cells of topicbook compile against", crates_of),
    ]
    for wheel in wheels:
        print(f"{wheel} ({wheel.stat().st_size / 1e6:.1f} MB)")
        if preset and wheel.stat().st_size > LIMIT:
            sys.exit(f"{wheel.name} is larger than {LIMIT / 1e6:.0f} MB")
    print(f"unpacked: {megabytes} MB; Rust {rust}")


if __name__ == "__main__":
    main(*sys.argv[1:])
