"""`kubetrio.server.engines.table`: which engine a configuration chooses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kubetrio.config import Config
from kubetrio.server.engines.table import TABLE, UnknownEngine, chosen


def config(*, backend: str = "", in_memory: bool = False) -> Config:
    """A configuration with flags that choose an engine."""
    plain = Config(data_dir=Path("data"))
    return replace(plain, storage=replace(plain.storage, backend=backend, in_memory=in_memory))


@pytest.mark.parametrize(
    ("backend", "in_memory", "name"),
    [
        ("", False, "sqlite"),
        ("sqlite", False, "sqlite"),
        ("memory", False, "memory"),
        ("", True, "memory"),
        ("memory", True, "memory"),
        ("etcd3", False, "sqlite"),
        ("etcd3", True, "memory"),
    ],
)
def test_an_engine_is_chosen(backend: str, in_memory: bool, name: str) -> None:
    """By its name, by its flag, or as the default; kube-apiserver's name chooses none."""
    assert chosen(config(backend=backend, in_memory=in_memory)) is TABLE[name]


@pytest.mark.parametrize(
    ("backend", "in_memory", "text"),
    [
        ("postgres", False, "--storage-backend: 'postgres' is none of etcd3, memory, sqlite"),
        ("sqlite", True, "--storage-backend: sqlite and memory cannot be used together"),
    ],
)
def test_what_cannot_be_chosen_is_refused(backend: str, in_memory: bool, text: str) -> None:
    """The text names the flag and the engines."""
    with pytest.raises(UnknownEngine, match=text):
        chosen(config(backend=backend, in_memory=in_memory))


def test_every_row_opens_something() -> None:
    """The functions that rows name are there."""
    assert all(callable(row.open) for row in TABLE.values())
