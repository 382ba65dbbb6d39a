"""Builds the crates that a notebook folder names in its topicbook.toml, for cells to link.

usage: crates.py MANIFEST UNFINISHED FOLDER ROOT NAME...

ROOT is the repository, NAME... the crates as the launcher has read them from MANIFEST. Everything goes to UNFINISHED, which
the launcher then renames to FOLDER:

- package/: a package that depends on the crates and re-exports them, and libtopicbook_crates.rlib, which is built from it in
  the target folder of the library. What the library's own build has compiled with the same features is used from there,
  so it exists once in a process;
- stubs/NAME/: what a cell depends on in the place of a crate. It has no dependency, so Cargo has next to nothing to check and
  asks no registry; rustc gets the re-exports by `--extern topicbook_crates=...`;
- twice.txt: a line for each crate that the library has too, but built with other features: its types are not the library's;
- outline/: the sources of the crates, as packages that need no registry either. Only rust-analyzer sees them, as it sees the
  outline of the library (see src/warm.rs).
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tomllib


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(part)}" for key, part in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def profile(root, names):
    """The library's profile: with another one Cargo would build shared dependencies again. Only `names` get level 3."""
    dev = tomllib.loads(pathlib.Path(root, "Cargo.toml").read_text())["profile"]["dev"]
    packages = {name: level for name, level in dev["package"].items() if not name.startswith("topicbook")}
    dev["package"] = {name: {"opt-level": 3} for name in names} | packages
    return f"[profile]\ndev = {toml(dev)}\n"


def write_package(folder, name, version, edition, source, dependencies="", features=()):
    folder.mkdir(parents=True, exist_ok=True)
    lines = "\n".join(f"{json.dumps(feature)} = []" for feature in features if feature != "default")
    default = [feature for feature in features if feature != "default"]
    (folder / "Cargo.toml").write_text(
        f'[package]\nname = "{name}"\nversion = "{version}"\nedition = "{edition}"\n\n'
        f"[lib]\npath = {json.dumps(str(source))}\n\n"
        f"[features]\ndefault = {json.dumps(default)}\n{lines}\n\n{dependencies}"
    )


def asked_for(manifest, names):
    """The dependencies of the manifest."""
    try:
        content = tomllib.loads(manifest.read_text())
    except tomllib.TOMLDecodeError as error:
        sys.exit(f"{manifest}: {error}")
    dependencies = content.pop("dependencies", {})
    if content or sorted(dependencies) != sorted(names):
        sys.exit(f"{manifest}: only [dependencies], with one crate on each line, such as: itertools = \"0.14\"")
    for name, wanted in dependencies.items():
        if isinstance(wanted, dict) and "path" in wanted:
            sys.exit(f"{manifest}: {name} is a folder, which may change; write `:dep {name} = {toml(wanted)}` in a cell")
    return dependencies


def artifacts(folder):
    """Builds a package; all compiled libraries as {(name, version): set of files}, proc macros and build scripts left out."""
    command = ["cargo", "build", "--message-format", "json-render-diagnostics"]
    build = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if build.returncode:
        sys.exit("the crates of topicbook.toml could not be built")
    found = {}
    for line in build.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and "lib" in message["target"]["kind"]:
            # path+file:///folder#name@1.0.0, registry+https://...#name@1.0.0, or #1.0.0 where the folder has the name
            name, _, version = message["package_id"].rpartition("#")[2].rpartition("@")
            found[name or message["target"]["name"], version] = set(message["filenames"])
    return found


def write_outline(package, outline):
    """Writes the sources of all dependencies of `package` as packages that depend on each other by path."""
    command = ["cargo", "metadata", "--format-version", "1", "--offline"]
    rustc = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    host = next(line.split()[1] for line in rustc.splitlines() if line.startswith("host:"))
    found = subprocess.run([*command, "--filter-platform", host], cwd=package, check=True, capture_output=True)
    found = json.loads(found.stdout)
    packages = {each["id"]: each for each in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    folders, todo = {}, [found["resolve"]["root"]]
    while todo:
        identity = todo.pop()
        each = packages[identity]
        library = [target for target in each["targets"] if "lib" in target["kind"]]
        if identity in folders or not library:
            continue
        folders[identity] = f"{each['name']}-{each['version']}"
        todo += [used["pkg"] for used in nodes[identity]["deps"] if any(kind["kind"] is None for kind in used["dep_kinds"])]
    for identity, folder in folders.items():
        each = packages[identity]
        (library,) = [target for target in each["targets"] if "lib" in target["kind"]]
        uses = "".join(
            f'{used["name"]} = {{ package = "{packages[used["pkg"]]["name"]}", path = "../{folders[used["pkg"]]}" }}\n'
            for used in nodes[identity]["deps"]
            if used["pkg"] in folders and any(kind["kind"] is None for kind in used["dep_kinds"])
        )
        write_package(
            outline / folder,
            each["name"],
            each["version"],
            library["edition"],
            library["src_path"],
            f"[dependencies]\n{uses}",
            nodes[identity]["features"],
        )


def main(manifest, unfinished, folder, root, *names):
    manifest, unfinished, folder = map(pathlib.Path, (manifest, unfinished, folder))
    dependencies = asked_for(manifest, names)
    package = unfinished / "package"
    lines = "".join(f"{json.dumps(name)} = {toml(wanted)}\n" for name, wanted in dependencies.items())
    shared = {line.split(maxsplit=1)[0] for line in (unfinished / "../../stack.txt").read_text().splitlines()}
    own = profile(root, [name for name in names if name not in shared])
    write_package(package, "topicbook-crates", "0.0.0", "2024", "lib.rs", f"[dependencies]\n{lines}\n[workspace]\n{own}")
    crates = {name: name.replace("-", "_") for name in names}
    (package / "lib.rs").write_text("".join(f"pub use {crate};\n" for crate in crates.values()))
    # The versions of the library, where the manifest allows them.
    shutil.copyfile(pathlib.Path(root, "Cargo.lock"), package / "Cargo.lock")
    built = artifacts(package)
    (library,) = [file for file in built.pop(("topicbook-crates", "0.0.0")) if file.endswith(".rlib")]
    shutil.copyfile(library, unfinished / "libtopicbook_crates.rlib")
    for name, crate in crates.items():
        write_package(
            unfinished / "stubs" / name,
            name,
            "0.0.0",
            "2024",
            "lib.rs",
            "[target.'cfg(topicbook_outline)'.dependencies]\n"
            'topicbook_crates = { package = "topicbook-crates", path = "../../outline/topicbook-crates-0.0.0" }\n',
        )
        (unfinished / "stubs" / name / "lib.rs").write_text(f"pub use topicbook_crates::{crate}::*;\n")
    write_outline(package, unfinished / "outline")
    # The outline names lib.rs of the package by its path.
    outline = unfinished / "outline/topicbook-crates-0.0.0/Cargo.toml"
    outline.write_text(outline.read_text().replace(str(unfinished.resolve()), str(folder)))
    # A line for each library: name, version, file.
    stack = [line.rsplit(maxsplit=1) for line in (unfinished / "../../stack.txt").read_text().splitlines()]
    theirs = {crate: {file for other, file in stack if other == crate} for crate, _ in stack}
    twice = sorted(
        crate
        for crate, files in ((" ".join(package), files) for package, files in built.items())
        if crate in theirs and not theirs[crate] & files
    )
    if twice:
        print("built with other features than in the library, so their types are not the library's:", ", ".join(twice))
    (unfinished / "twice.txt").write_text("".join(f"{line}\n" for line in twice))


if __name__ == "__main__":
    main(*sys.argv[1:])
