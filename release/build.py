"""Build a release from a clean tree: ``python -m release.build`` (or ``.ci/release``).

Into ``dist/``: wheel, sdist, single file, systemd unit, Debian package, OCI image, bill of
materials, licences of what is bundled, and the checksums of all of them.

Everything is dated by the commit (or by SOURCE_DATE_EPOCH), so the same commit, Python, compiler
and C library give the same bytes.  With --twice it is built twice, in different folders, and the
checksums are compared; --single-file takes one that is built already, and leaves minutes out.

Needs git and a package index; dpkg-deb for the Debian package, and for all but wheel and sdist
Linux and what ``singlefile/build.py`` needs.  With --available what cannot be built on this machine
is left out, and a line says why.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from release import billofmaterials, debian, image
from release.bundle import LICENCES, read
from release.checkout import Checkout, changed, clean

ROOT = Path(__file__).resolve().parent.parent
SUMS = "SHA256SUMS"
SINGLE_FILE, IMAGE, DEBIAN = "single file", "OCI image", "Debian package"
NEEDS_IT = f"it is made of the {SINGLE_FILE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What builds.

    Attributes:
        python: interpreter with hatchling.
        bundled: interpreter that the single file will hold.
        single_file: one that is built already; None builds it.
        left_out: parts that are not built, by what they lack.
    """

    python: Path
    bundled: str
    single_file: Path | None
    left_out: Mapping[str, str]


def main(arguments: list[str] | None = None) -> int:
    """Build; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m release.build", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("output", type=Path, nargs="?", default=ROOT / "dist")
    parser.add_argument("--twice", action="store_true", help="build again, and compare")
    parser.add_argument("--single-file", type=Path, help="one that is built already")
    parser.add_argument("--python", default=sys.executable, help="what the single file will hold")
    parser.add_argument("--commit", default="HEAD", help="what is built")
    parser.add_argument(
        "--available", action="store_true", help="leave out what this machine cannot build"
    )
    options = parser.parse_args(arguments)
    if options.single_file and not options.single_file.is_file():
        parser.error(f"{options.single_file} is not there")
    left = changed(ROOT) if options.commit == "HEAD" else []
    if left:
        print(f"not in the commit, so not in the release: {', '.join(left)}", file=sys.stderr)
    left_out = lacking(options.python, built=bool(options.single_file)) if options.available else {}
    for part, reason in left_out.items():
        print(f"{part}: left out, {reason}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="kubetrio-release-") as scratch:
        work = Path(scratch)
        tools = Tools(
            python=builder(work / "tools"),
            bundled=options.python,
            single_file=options.single_file and options.single_file.absolute(),
            left_out=left_out,
        )
        places = [work / "one", work / "another" / "place"] if options.twice else [work / "one"]
        with ThreadPoolExecutor(len(places)) as beside:
            made = list(beside.map(lambda place: built(place, tools, options.commit), places))
        if options.twice:
            different = differing(*(sums(folder) for folder in made))
            if different:
                print(f"not the same when built again: {', '.join(different)}", file=sys.stderr)
                return 1
        options.output.mkdir(parents=True, exist_ok=True)
        for path in sorted(made[0].iterdir()):
            shutil.copy2(path, options.output / path.name)
    print((options.output / SUMS).read_text(), end="")
    if options.twice:
        print("built twice: the same bytes")
    return 0


def lacking(python: str, *, built: bool) -> dict[str, str]:
    """Return the parts that cannot be built on this machine, and why.

    Args:
        python: interpreter that the single file will hold.
        built: whether there is a single file already.
    """
    compiler = os.environ.get("CC", "cc")
    shared = "import sysconfig; print(sysconfig.get_config_var('Py_ENABLE_SHARED'))"
    reason = ""
    if sys.platform != "linux":
        reason = "it needs Linux"
    elif not built and shutil.which(compiler) is None:
        reason = f"there is no C compiler {compiler}"
    elif not built and said(python, "-c", shared) != "1":
        reason = f"{python} was built without a shared library"
    if reason:
        return {SINGLE_FILE: reason, IMAGE: NEEDS_IT, DEBIAN: NEEDS_IT}
    parts = {}
    if platform.libc_ver()[0] != "glibc" or platform.machine() not in image.LOADERS:
        parts[IMAGE] = "it takes glibc of this machine, for x86_64 or aarch64"
    missing = [tool for tool in ("dpkg", "dpkg-deb") if shutil.which(tool) is None]
    if missing:
        parts[DEBIAN] = f"there is no {missing[0]}"
    return parts


def said(*command: str) -> str:
    """Return what a program prints; nothing where it fails or is not there."""
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip()


def builder(folder: Path) -> Path:
    """Make an environment with the build system of the package; return its interpreter.

    Raises:
        CalledProcessError: it cannot be made.
    """
    run(ROOT, sys.executable, "-m", "venv", str(folder))
    python = folder / "bin" / "python"
    constraints = ROOT / "release" / "constraints.txt"
    run(ROOT, str(python), "-m", "pip", "install", "-q", "-c", str(constraints), "hatchling")
    return python


def built(work: Path, tools: Tools, commit: str) -> Path:
    """Build everything of a commit below a folder; return where it is.

    Raises:
        CalledProcessError: a part cannot be built.
    """
    work.mkdir(parents=True)
    checkout = clean(ROOT, work / "tree", commit)
    output = work / "dist"
    output.mkdir()
    environ = {"SOURCE_DATE_EPOCH": str(checkout.epoch), "PYTHONHASHSEED": "0"}
    for kind in ("wheel", "sdist"):
        command = (str(tools.python), "-m", "hatchling", "build", "-t", kind, "-d", str(output))
        run(checkout.folder, *command, environ=environ)
    if SINGLE_FILE not in tools.left_out:
        packages(single_file(output, tools, checkout), output, work, checkout, tools.left_out)
    shutil.copyfile(debian.UNIT, output / "kubetrio.service")
    (output / SUMS).write_text(
        "".join(f"{value}  {name}\n" for name, value in sums(output).items())
    )
    return output


def single_file(output: Path, tools: Tools, checkout: Checkout) -> Path:
    """Build the single file, or copy the one that is built already; return where it is.

    Raises:
        CalledProcessError: it cannot be built.
    """
    made = output / f"kubetrio-{checkout.version}-linux-{platform.machine()}"
    if tools.single_file:
        shutil.copyfile(tools.single_file, made)
        made.chmod(0o755)
    else:
        script = checkout.folder / "singlefile" / "build.py"
        run(checkout.folder, tools.bundled, str(script), str(made))
    return made


def packages(
    single: Path, output: Path, work: Path, checkout: Checkout, left_out: Mapping[str, str]
) -> None:
    """Make what is made of the single file: bill of materials, licences, image, Debian package.

    Raises:
        NoSingleFile: it is not one, or is of an earlier state of the checkout.
        CalledProcessError: dpkg-deb fails.
    """
    bundle = read(single)
    bill = billofmaterials.document(bundle.inventory(), checkout.epoch)
    bill_text = json.dumps(bill, indent=1) + "\n"
    licences = bundle.text(LICENCES)
    documents = {"kubetrio.cdx.json": bill_text, "licences.txt": licences}
    name = f"kubetrio-{checkout.version}"
    (output / f"{name}.cdx.json").write_text(bill_text)
    (output / f"{name}-licences.txt").write_text(licences)
    if IMAGE not in left_out:
        facts = image.Facts(
            version=checkout.version, epoch=checkout.epoch, revision=checkout.revision
        )
        (output / f"{name}-oci.tar").write_bytes(image.layout(bundle, documents, facts))
    if DEBIAN in left_out:
        return
    package = debian.Package(
        version=checkout.version,
        architecture=debian.architecture(),
        libc=platform.libc_ver()[1],
        epoch=checkout.epoch,
    )
    folder = work / "debian"
    debian.tree(folder, bundle, documents, package)
    debian.build(folder, output / package.file_name, checkout.epoch)


def sums(folder: Path) -> dict[str, str]:
    """Return SHA-256 of the files in a folder, by name in order, without the list of them."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
        if path.name != SUMS
    }


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Return the names whose sums are not the same on both sides."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def run(where: Path, *command: str, environ: Mapping[str, str] | None = None) -> None:
    """Run a program in a folder; what it says goes to standard error.

    Raises:
        CalledProcessError: it fails.
    """
    clean_environ = {**os.environ, **(environ or {})}
    clean_environ.pop("PYTHONPATH", None)
    subprocess.run(command, cwd=where, check=True, env=clean_environ, stdout=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
