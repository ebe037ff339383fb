"""Where clusters of a name are, and which data directory is meant where no flag names one.

Source: XDG Base Directory Specification for ``$XDG_STATE_HOME``.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = "kubetrio"
DATA, FLAGS = "data", "flags.yaml"
CONTEXT = "kubetrio-"
DEFAULT = Path("kubetrio-data")
LONGEST = 63
NAMES = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
MARK = "kubetrio.lock"
"""File of each data directory that a server has had."""


class PlaceError(Exception):
    """There is no directory for clusters; one line with the next step."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster of a name, made or not.

    Args:
        name: of the cluster.
        directory: with all that it has.
    """

    name: str
    directory: Path

    @property
    def data(self) -> Path:
        """Data directory of its server."""
        return self.directory / DATA

    @property
    def flags(self) -> Path:
        """File of the flags that its server is started with."""
        return self.directory / FLAGS

    @property
    def context(self) -> str:
        """Name of its context in kubeconfigs."""
        return CONTEXT + self.name

    @property
    def exists(self) -> bool:
        """Whether it was created and not deleted."""
        return self.flags.is_file()


def clusters_directory(environ: Mapping[str, str]) -> Path:
    """Directory of all clusters: ``$XDG_STATE_HOME/kubetrio``, else ``~/.local/state/kubetrio``.

    Raises:
        PlaceError: neither ``$XDG_STATE_HOME`` nor a home directory is set.
    """
    state = environ.get("XDG_STATE_HOME", "")
    if Path(state).is_absolute():  # the specification has others ignored
        return Path(state, FOLDER)
    home = environ.get("HOME") or environ.get("USERPROFILE")
    if not home:
        raise PlaceError("there is no $HOME to keep clusters in; set $XDG_STATE_HOME")
    return Path(home, ".local", "state", FOLDER)


def named(name: str, environ: Mapping[str, str]) -> Cluster:
    """The cluster of a name, whether it exists or not.

    Raises:
        ValueError: no cluster can have that name.
        PlaceError: as `clusters_directory`.
    """
    if not _fits(name):
        raise ValueError(
            f"{name!r} is no name of a cluster: at most {LONGEST} small letters, digits, dots and "
            "dashes, with a letter or digit at both ends"
        )
    return Cluster(name, clusters_directory(environ) / name)


def existing(environ: Mapping[str, str]) -> Iterator[Cluster]:
    """All clusters there are, by name.  Blocking.

    Raises:
        PlaceError: as `clusters_directory`.
        OSError: their directory cannot be read.
    """
    directory = clusters_directory(environ)
    if directory.is_dir():
        for place in sorted(directory.iterdir()):
            cluster = Cluster(place.name, place)
            if _fits(place.name) and cluster.exists:
                yield cluster


def cluster(text: str) -> Cluster:
    """A cluster that exists, for argparse.

    Raises:
        ArgumentTypeError: there is none of that name.
    """
    try:
        found = named(text, os.environ)
    except (ValueError, PlaceError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not found.exists:
        raise argparse.ArgumentTypeError(
            f"there is no cluster {text}: kubetrio list shows those there are, "
            f"kubetrio create {text} makes it"
        )
    return found


def data_of(text: str) -> Path:
    """Data directory of a cluster that exists, for argparse.

    Raises:
        ArgumentTypeError: as `cluster`.
    """
    return cluster(text).data


def data_directory(environ: Mapping[str, str]) -> Path:
    """The data directory that is meant where no flag names one.  Blocking.

    It is ``kubetrio-data`` in the working directory where that is there; else that of the server
    which kubectl talks to: its kubeconfig is in a data directory, or its current context is that
    of a cluster here.

    Args:
        environ: of the process.
    """
    if DEFAULT.exists():
        return DEFAULT
    from kubetrio.kubeconfig import KubeconfigError, default_path

    try:
        path = default_path(environ)
    except KubeconfigError:
        return DEFAULT
    beside = path.resolve().parent
    if (beside / MARK).is_file():
        return beside
    prefix, name = _current(path).partition(CONTEXT)[1:]
    if prefix and _fits(name):
        found = named(name, environ)
        if found.exists:
            return found.data
    return DEFAULT


def _fits(name: str) -> bool:
    """Whether a cluster can have a name: it is a file's too, and part of a context's."""
    return len(name) <= LONGEST and NAMES.fullmatch(name) is not None


def _current(path: Path) -> str:
    """Current context of a kubeconfig, nothing where it says none."""
    import yaml

    try:
        loaded = yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  (it is safe)
    except (OSError, yaml.YAMLError, ValueError):
        return ""
    return str(loaded.get("current-context") or "") if isinstance(loaded, dict) else ""
