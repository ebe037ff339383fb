"""What a bundle holds: packages, libraries, versions and licences.

The interpreter of the environment that is bundled runs it, with the folder of the bundle:
``env/bin/python singlefile/inventory.py 'kubetrio[cbor]' FOLDER``.  It writes ``inventory.json``
and ``licences.txt`` there, of which `release/` makes the bill of materials.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import TypedDict

SEPARATORS = re.compile(r"[-_.]+")
REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[([^\]]*)\])?")
EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
CACHED = re.compile(r"^\s*(\S+) .*=> (/\S+)$", re.MULTILINE)  # a line of `ldconfig -p`
TEXTS = ("LICEN", "COPYING", "NOTICE", "AUTHORS")
PREFIX = "License :: OSI Approved :: "
SPDX = {
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "3-Clause BSD License": "BSD-3-Clause",
}
"""Words of packages that have no expression."""
RUNTIME = "GPL-3.0-or-later WITH GCC-exception-3.1"
KNOWN = {"libgcc-s": RUNTIME, "libstdc++": RUNTIME}
"""Of Debian packages whose notice is prose, by the beginnings of their names."""
MACHINE_READABLE = "Format: http"  # debian.org/doc/packaging-manuals/copyright-format/1.0
PYTHON = "python"
RULE = "=" * 78


class Package(TypedDict):
    """One part of a bundle.

    Attributes:
        name: as the package index, the distribution or the project has it.
        kind: ``pypi``, ``deb`` or ``generic``, as in package URLs.
        version: the installed one.
        licences: SPDX expressions, or the package's own words.
        texts: of its licences, by file name.
        requires: names of parts that it uses.
        files: of the bundle, where it is a library.
    """

    name: str
    kind: str
    version: str
    licences: list[str]
    texts: dict[str, str]
    requires: list[str]
    files: list[str]


def normal(name: str) -> str:
    """Return a name as package indexes compare it."""
    return SEPARATORS.sub("-", name).lower()


def installed(root: str, extras: frozenset[str] = frozenset()) -> list[Package]:
    """Return a distribution and all that it needs and is installed, sorted by name."""
    done: set[tuple[str, frozenset[str]]] = set()
    here: dict[str, Distribution] = {}
    needs: dict[str, set[str]] = {}
    todo = [(normal(root), extras)]
    while todo:
        name, wanted = todo.pop()
        try:
            each = distribution(name)
        except PackageNotFoundError:
            continue  # behind a marker that does not hold here
        here[name] = each
        done.add((name, wanted))
        for below, more in _requirements(each, wanted):
            needs.setdefault(name, set()).add(below)
            if (below, more) not in done:
                todo.append((below, more))
    return [_package(here[name], sorted(needs.get(name, set()) & {*here})) for name in sorted(here)]


def _requirements(
    each: Distribution, extras: frozenset[str]
) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield requirements by name; those of extras only where they are asked for."""
    for text in each.requires or ():
        requirement, _, marker = text.partition(";")
        extra = EXTRA.search(marker)
        if extra and normal(extra[1]) not in extras:
            continue
        match = REQUIREMENT.match(requirement.strip())
        if match:
            asked = (name.strip() for name in (match[2] or "").split(","))
            yield normal(match[1]), frozenset(normal(name) for name in asked if name)


def _package(each: Distribution, requires: list[str]) -> Package:
    return Package(
        name=normal(each.metadata["Name"]),
        kind="pypi",
        version=each.version,
        licences=licences(each),
        texts=dict(_texts(each)),
        requires=requires,
        files=[],
    )


def licences(each: Distribution) -> list[str]:
    """Return the expression of a package, else its classifiers, else its line about it."""
    expression = each.metadata.get_all("License-Expression")
    if expression:
        return [str(expression[0])]
    classifiers = each.metadata.get_all("Classifier") or []
    own = [text.removeprefix(PREFIX) for text in classifiers if text.startswith(PREFIX)]
    first = str((each.metadata.get_all("License") or [""])[0]).strip().partition("\n")[0]
    return [SPDX.get(text, text) for text in own or ([first] if first else [])]


def _texts(each: Distribution) -> Iterator[tuple[str, str]]:
    for path in sorted(each.files or (), key=str):
        if ".dist-info" in path.parts[0] and path.name.upper().startswith(TEXTS):
            text = Path(str(each.locate_file(path))).read_text(errors="replace")
            yield "/".join(path.parts[1:]), text


def python() -> Package:
    """Return the interpreter."""
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    places = (
        Path(sys.base_prefix) / "lib" / name / "LICENSE.txt",
        Path(f"/usr/share/doc/{name}/copyright"),
    )
    text = next((place.read_text() for place in places if place.exists()), "")
    return _generic(
        PYTHON, sys.version.split()[0], "PSF-2.0", {"LICENSE.txt": text} if text else {}
    )


def _generic(name: str, version: str, licence: str, texts: dict[str, str]) -> Package:
    return Package(
        name=name, kind="generic", version=version, licences=[licence], texts=texts, requires=[],
        files=[],
    )  # fmt: skip


def linked(names: Iterable[str]) -> Iterator[Package]:
    """Yield the libraries that extension modules of packages hold inside."""
    if "apsw" in names:
        import apsw

        yield _generic("sqlite", apsw.sqlite_lib_version(), "blessing", {})
    if "cryptography" in names:
        from cryptography.hazmat.backends.openssl.backend import backend

        version = backend.openssl_version_text().split()[1]
        yield _generic("openssl", version, "Apache-2.0", {})


def libraries(folder: Path) -> list[Package]:
    """Return the packages of the system that libraries in a bundle come from.

    The interpreter's own is none of them, also where the system has another one of that name.
    """
    names = sorted(path.name for path in folder.glob("*.so*") if path.is_file())
    names = [name for name in names if not name.startswith(f"lib{PYTHON}")]
    by_name: dict[str, Package] = {}
    places = dict(reversed(CACHED.findall(_said("ldconfig", "-p"))))
    for name in names:
        owner = _owner(places.get(name, ""))
        if owner is None:
            continue  # of the interpreter, or of a package's wheel
        by_name.setdefault(owner["name"], owner)["files"].append(name)
    return [by_name[name] for name in sorted(by_name)]


def _owner(place: str) -> Package | None:
    """Return the Debian package of a file, None where there is none."""
    if not place:
        return None
    for path in dict.fromkeys((place, str(Path(place).resolve()))):
        name = _said("dpkg-query", "-S", path).partition(":")[0]
        if name:
            break
    else:
        return None
    version = _said("dpkg-query", "-W", "-f=${Version}", name)
    notice = Path("/usr/share/doc") / name / "copyright"
    texts = {"copyright": notice.read_text(errors="replace")} if notice.exists() else {}
    return Package(
        name=name, kind="deb", version=version, licences=debian(name, texts.get("copyright", "")),
        texts=texts, requires=[], files=[],
    )  # fmt: skip


def debian(name: str, notice: str) -> list[str]:
    """Return the licences of a Debian package.

    Args:
        name: of the package.
        notice: its copyright file.
    """
    if notice.startswith(MACHINE_READABLE):
        return sorted(set(re.findall(r"^License: *(\S.*)$", notice, re.MULTILINE)))
    known = [words for begin, words in KNOWN.items() if name.startswith(begin)]
    return known or [f"/usr/share/doc/{name}/copyright"]


def _said(program: str, *arguments: str) -> str:
    """Return what a program of the system says, empty where it is not there or fails."""
    path = shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin")
    if path is None:
        return ""
    done = subprocess.run([path, *arguments], check=False, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def notices(packages: Iterable[Package]) -> str:
    """Return the texts of all licences, one package after the other."""
    parts = []
    for each in packages:
        head = f"{each['name']} {each['version']}: {', '.join(each['licences']) or 'see below'}"
        texts = [f"--- {name}\n\n{text.strip()}\n" for name, text in each["texts"].items()]
        parts.append("\n".join([RULE, head, RULE, "", *texts]))
    return "\n".join(parts)


def write(root: str, folder: Path) -> None:
    """Write both files into the folder of a bundle.

    Args:
        root: the distribution, with extras in brackets.
        folder: where the libraries of the bundle are.
    """
    name, _, inner = root.partition("[")
    extras = frozenset(normal(each.strip()) for each in inner.rstrip("]").split(",") if each)
    packages = installed(name, extras)
    names = [each["name"] for each in packages]
    parts = [*packages, python(), *linked(names), *libraries(folder)]
    listed = [{key: value for key, value in each.items() if key != "texts"} for each in parts]
    (folder / "inventory.json").write_text(json.dumps(listed, indent=1, sort_keys=True) + "\n")
    (folder / "licences.txt").write_text(notices(parts))


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]))
