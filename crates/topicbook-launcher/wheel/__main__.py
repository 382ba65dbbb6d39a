"""Unpacks the library once, into a cache folder, and then hands over to the program `topicbook` of this package.

The library for cells is compressed in two Python packages, topicbook and topicbook_stack: unpacked by pip it would be twice the
download. `build-id` names this build; another version unpacks into a folder of its own.
"""

import concurrent.futures
import fcntl
import importlib.util
import os
import pathlib
import shutil
import sys
import tarfile
import time

PACKAGE = pathlib.Path(__file__).resolve().parent
PROGRAM = PACKAGE / "bin" / "topicbook"
MEGABYTE = 1_000_000


class Failure(Exception):
    """What the person who typed the command, or opened the notebook, reads."""


def cache():
    """The folder for all versions."""
    named, caches, home = (os.environ.get(name) for name in ("TOPICBOOK_CACHE", "XDG_CACHE_HOME", "HOME"))
    if named:
        return pathlib.Path(named).absolute()
    if caches:
        return pathlib.Path(caches).absolute() / "topicbook"
    if home:
        return pathlib.Path(home).absolute() / ".cache" / "topicbook"
    raise Failure("there is no folder for the cache\nto do: set TOPICBOOK_CACHE or HOME")


def archives():
    stack = importlib.util.find_spec("topicbook_stack")
    if stack is None or not stack.submodule_search_locations:
        raise Failure("the package topicbook-stack is missing\nto do: install the wheel of topicbook-stack, of the same version")
    folders = [PACKAGE, pathlib.Path(stack.submodule_search_locations[0])]
    wanted = (PACKAGE / "build-id").read_text()
    if (folders[1] / "build-id").read_text() != wanted:
        raise Failure("the packages topicbook and topicbook-stack are of two builds\nto do: install both wheels of one release")
    return [archive for folder in folders for archive in sorted(folder.glob("parts/*.tar.xz"))]


def unpack(archive, folder):
    with tarfile.open(archive) as members:
        # All members are files and folders that the build wrote.
        members.extractall(folder, **({"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}))


def unpacked():
    """The folder with the library, which is unpacked unless it is there."""
    folder = cache() / ("wheel-" + (PACKAGE / "build-id").read_text())
    if folder.is_dir():
        return folder
    megabytes = int((PACKAGE / "megabytes").read_text())
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Kernels that start together wait for the first one.
        with open(folder.parent / "wheel.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.is_dir():
                return folder
            free = shutil.disk_usage(folder.parent).free // MEGABYTE
            if free < megabytes:
                raise Failure(
                    f"{folder.parent} has {free} MB left, and the library takes {megabytes} MB\n"
                    "to do: make room there, or set TOPICBOOK_CACHE to a folder on another disk"
                )
            unfinished = folder.with_name(f"unfinished-{folder.name}")
            shutil.rmtree(unfinished, ignore_errors=True)
            print(f"topicbook: unpacking the library into {folder}: {megabytes} MB, once ...", file=sys.stderr, flush=True)
            start = time.monotonic()
            try:
                # The folder that the archives have in common. Decompression releases Python's lock.
                (unfinished / "build").mkdir(parents=True)
                with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                    list(pool.map(lambda archive: unpack(archive, unfinished), archives()))
                unfinished.rename(folder)
            except BaseException:
                shutil.rmtree(unfinished, ignore_errors=True)
                raise
            print(f"topicbook: unpacked in {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    except OSError as error:
        raise Failure(
            f"the library cannot be unpacked: {error}\nto do: set TOPICBOOK_CACHE to a folder in which you may write {megabytes} MB"
        ) from None
    return folder


def main():
    arguments = sys.argv[1:]
    environment = dict(os.environ, TOPICBOOK_WHEEL=str(PACKAGE), TOPICBOOK_PYTHON=sys.executable)
    try:
        if arguments and arguments[0] not in ("help", "--help", "-h"):
            environment["TOPICBOOK_UNPACKED"] = str(unpacked())
    except Failure as failure:
        print(f"topicbook: {failure}", file=sys.stderr)
        if len(arguments) == 2 and arguments[0] == "kernel":
            # This kernel answers each cell with the message.
            kernel = PROGRAM.with_name("topicbook-evcxr")
            os.execv(kernel, [kernel, "--say", f"The kernel cannot start: {failure}", arguments[1]])
        return 1
    os.execve(PROGRAM, [PROGRAM, *arguments], environment)


if __name__ == "__main__":
    sys.exit(main())
