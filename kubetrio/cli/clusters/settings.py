"""The flags of a cluster: given to ``kubetrio create``, kept in a file, read at each start."""

from __future__ import annotations

import argparse
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kubetrio.cli.common import Failure
from kubetrio.cli.place import Cluster
from kubetrio.config.flag import FlagRow
from kubetrio.flags import parser as flags
from kubetrio.flags.file import NOT_IN_FILES, FileError, line_of, read

PORT = "secure-port"
OURS = ("data-dir", "name", "write-kubeconfig")
"""What the name of a cluster decides."""
ONE_CALL = (*NOT_IN_FILES, "merge-kubeconfig")
FIRST_PORT, LAST_PORT = 6443, 7442
LOCAL = "127.0.0.1"
HEAD = "# Flags of kubetrio serve for this cluster; a change counts from the next start on.\n"


def given(options: argparse.Namespace) -> dict[str, Any]:
    """Values of the flags that were given, by flag; those of ``--config`` too.

    Args:
        options: parsed flags of ``serve``.

    Raises:
        Failure: the file cannot be used, or a flag is one that the cluster's name decides.
    """
    path: Path | None = getattr(options, f"{flags.TERMINAL}.config", None)
    try:
        from_file = read(path, flags.BY_NAME).given if path is not None else {}
    except FileError as error:
        raise Failure(str(error)) from error
    values = {**from_file, **vars(options)}
    found = {row.flag.name: values[row.path] for row in flags.FLAGS if row.path in values}
    for name in OURS:
        if name in found:
            raise Failure(f"--{name} is not taken with the name of a cluster, which decides it")
    return {name: _anywhere(value) for name, value in found.items() if name not in ONE_CALL}


def _anywhere(value: Any) -> Any:
    """A value that means the same in each working directory."""
    if isinstance(value, Path):
        return value.absolute()
    if isinstance(value, list | tuple):
        return [_anywhere(each) for each in value]
    return value


def text_of(values: Mapping[str, Any]) -> str:
    """The file of flags.

    Args:
        values: of flags, by name.
    """
    rows = ((flags.BY_NAME[name], value) for name, value in values.items())
    return HEAD + "".join(f"{_line(row, value)}\n" for row, value in rows)


def _line(row: FlagRow, value: Any) -> str:
    return line_of(row, tuple(value) if row.flag.kind.repeated else value)


def free_port(others: Iterable[Cluster]) -> int:
    """The first port from 6443 on that nothing listens on and no other cluster has.

    Args:
        others: the clusters there are.

    Raises:
        Failure: a thousand ports are taken.
    """
    taken = {port_of(cluster) for cluster in others}
    for port in range(FIRST_PORT, LAST_PORT + 1):
        if port not in taken and _is_free(port):
            return port
    raise Failure(f"all ports from {FIRST_PORT} to {LAST_PORT} are taken; give --{PORT}")


def port_of(cluster: Cluster) -> int:
    """The port of a cluster as its file says, 0 where that cannot be read."""
    try:
        found = read(cluster.flags, flags.BY_NAME).given
    except FileError:
        return 0
    return int(found.get(flags.BY_NAME[PORT].path, 0))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
        try:
            probe.bind((LOCAL, port))
        except OSError:
            return False
    return True
