"""A clean tree: the files of a commit in a folder of their own."""

from __future__ import annotations

import io
import os
import re
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
EPOCH = "SOURCE_DATE_EPOCH"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A tree to build from.

    Attributes:
        folder: where it is.
        version: of the package.
        epoch: seconds since 1970: time of the commit, or what the environment says.
        revision: the commit.
    """

    folder: Path
    version: str
    epoch: int
    revision: str


def clean(root: Path, folder: Path, commit: str = "HEAD") -> Checkout:
    """Write the files of a commit of a repository into an empty folder.

    Raises:
        CalledProcessError: it is no repository, or has no such commit.
    """
    archive = _git(root, "archive", "--format=tar", commit)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    stamp = _git(root, "show", "-s", "--format=%ct %H", commit).decode().split()
    return Checkout(
        folder=folder,
        version=version_of(folder),
        epoch=int(os.environ.get(EPOCH) or stamp[0]),
        revision=stamp[1],
    )


def version_of(folder: Path) -> str:
    """Return the version that a tree has.

    Raises:
        ValueError: it names none.
    """
    match = VERSION.search((folder / "kubetrio" / "__init__.py").read_text())
    if match is None:
        raise ValueError(f"{folder} names no version")
    return match[1]


def changed(root: Path) -> list[str]:
    """Return the files of a repository that differ from its commit."""
    lines = _git(root, "status", "--porcelain").decode().splitlines()
    return [line[3:] for line in lines]


def _git(root: Path, *arguments: str) -> bytes:
    return subprocess.run(
        ("git", "-C", str(root), *arguments), check=True, capture_output=True
    ).stdout
