"""Make one executable file that holds the whole server: ``python singlefile/build.py``.

It makes an environment of its own with the versions of ``constraints.txt``, has PyInstaller collect
what the server needs (with the hook in ``kubetrio/_pyinstaller``), and puts that behind a small
program that unpacks it once and becomes it (``launcher.c``).  The same sources, Python and compiler
give the same bytes.

Needs Linux, a Python built with a shared library, a C compiler and zlib's static library
(Debian: ``gcc libc6-dev zlib1g-dev``), and a package index.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
EPOCH = "1700000000"  # of files in archives; any will do
LEVEL = 9
PACKAGES = "gcc libc6-dev zlib1g-dev"
EXCLUDED = (
    "cffi",  # cryptography needs its extension only
    "distutils",
    "doctest",
    "lib2to3",
    "pdb",
    "pip",
    "pkg_resources",
    "pycparser",
    "pydoc",
    "pydoc_data",
    "setuptools",
    "tkinter",
    "unittest",
    "xmlrpc",
)
"""Modules that are imported in branches which a server does not take."""
DROPPED = ("libreadline", "libtinfo", "libncurses")
"""Libraries of modules that a server does not use, by the beginnings of their names."""
DROPPED_NOTES = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")
"""Of installed packages, what says where they were installed: it differs with each build."""
DROPPED_MODULES = ("_codecs_", "readline", "_curses", "_dbm", "_gdbm", "_tkinter", "_xx", "_test")


def main() -> int:
    """Build; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "output",
        type=Path,
        nargs="?",
        default=ROOT / "dist" / "kubetrio",
        help="the file to make (default: dist/kubetrio in the checkout)",
    )
    parser.add_argument("--python", default=sys.executable, help="interpreter that it will hold")
    parser.add_argument(
        "--extras", default="", help="extras of the package, such as cbor,cel,kms,secretbox"
    )
    parser.add_argument(
        "--environment", type=Path, help="one that has everything; made if not given"
    )
    options = parser.parse_args()
    given = options.environment and options.environment.absolute() / "bin" / "python"
    problem = unwritable(options.output) or unfit(str(given or options.python))
    if problem:
        parser.error(problem)
    with tempfile.TemporaryDirectory(prefix="kubetrio-single-file-") as scratch:
        work, python = Path(scratch), given
        launcher = compiled(work)  # first: it takes a second, and what is missing shows
        python = python or environment(work / "env", options.python, options.extras)
        folder = collected(work, python)
        package = f"kubetrio[{options.extras}]"
        run(str(python), str(HERE / "inventory.py"), package, str(folder / "_internal"))
        key = write(options.output, launcher, folder)
    print(f"{options.output}: {options.output.stat().st_size:,} bytes, {key}")
    return 0


def unwritable(output: Path) -> str:
    """Why a file cannot be made, before minutes are spent on its content; empty if it can."""
    if output.is_dir():
        return f"{output} is a directory: name the file to make, such as dist/kubetrio"
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=output.parent):
            pass
    except OSError as error:
        return f"cannot make {output}: {error.strerror}"
    return ""


def unfit(python: str) -> str:
    """Why this machine or an interpreter cannot build it; empty if they can."""
    if sys.platform != "linux":
        return "the single file is for Linux, and is built there"
    compiler = os.environ.get("CC", "cc")
    if shutil.which(compiler) is None:
        return f"there is no C compiler {compiler} (Debian: apt-get install {PACKAGES})"
    shared = "import sysconfig; print(sysconfig.get_config_var('Py_ENABLE_SHARED'))"
    try:
        done = subprocess.run((python, "-c", shared), check=False, capture_output=True, text=True)
    except OSError as error:
        return f"{python}: {error.strerror}"
    if done.stdout.strip() != "1":
        return (
            f"{python} was built without a shared library: name another with --python, such as "
            "the distribution's"
        )
    return ""


def environment(path: Path, python: str, extras: str) -> Path:
    """An environment with the package and PyInstaller; returns its interpreter."""
    run(python, "-m", "venv", str(path))
    own = path / "bin" / "python"
    package = f"{ROOT}[{extras}]" if extras else str(ROOT)
    constraints = str(HERE / "constraints.txt")
    run(str(own), "-m", "pip", "install", "-q", "-c", constraints, package, "pyinstaller")
    return own


def collected(work: Path, python: Path) -> Path:
    """The folder that PyInstaller makes, without what is not needed."""
    flags = ("--noconfirm", "--clean", "--onedir", "--strip", "--name", "kubetrio")
    paths = [f"--{name}={work / name}" for name in ("distpath", "workpath", "specpath")]
    without = [f"--exclude-module={name}" for name in EXCLUDED]
    run(str(python), "-m", "PyInstaller", *flags, *without, *paths, str(HERE / "main.py"))
    folder = work / "distpath" / "kubetrio"
    for file in sorted(folder.rglob("*")):
        extension = file.parent.name == "lib-dynload" and file.name.startswith(DROPPED_MODULES)
        note = file.parent.name.endswith(".dist-info") and file.name in DROPPED_NOTES
        if extension or note or file.name.startswith(DROPPED):
            file.unlink()
    return folder


def compiled(work: Path) -> bytes:
    """The program that unpacks, for any Linux of this processor."""
    made = work / "launcher"
    flags = ("-static", "-Os", "-s", "-Wall", "-Wextra", "-Wno-format-truncation")
    run(os.environ.get("CC", "cc"), *flags, str(HERE / "launcher.c"), "-lz", "-o", str(made))
    return made.read_bytes()


def write(output: Path, launcher: bytes, folder: Path) -> str:
    """Put the parts together, as ``launcher.c`` says; returns the key."""
    packer, packed, index = zlib.compressobj(LEVEL), [], []
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        if path.is_symlink():
            kind, mode, content = "l", 0o777, os.fsencode(path.readlink())
        else:
            kind, mode, content = (
                "f",
                0o500 if os.access(path, os.X_OK) else 0o400,
                path.read_bytes(),
            )
        index.append(f"{kind} {mode:o} {len(content)} {path.relative_to(folder)}\n")
        packed.append(packer.compress(content))
        digest.update(content)
    packed.append(packer.flush())
    body, listed = b"".join(packed), "".join(index).encode()
    digest.update(listed)
    key = digest.hexdigest()[:32]
    trailer = f"kubetrio1 {key} {len(launcher):020} {len(body):020} {len(listed):020}\n"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(launcher + body + listed + trailer.encode())
    output.chmod(0o755)
    return key


def run(*command: str) -> None:
    """Run a program quietly; what it says is shown when it fails.

    Not where the sources are: Python would find the package there, and not the installed one.
    """
    clean = {**os.environ, "PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": EPOCH}
    clean.pop("PYTHONPATH", None)
    done = subprocess.run(
        command, env=clean, cwd=HERE, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}")


if __name__ == "__main__":
    sys.exit(main())
