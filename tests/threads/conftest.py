"""Servers in threads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubetrio.config import Config, Serving, Storage
from kubetrio.threads import ServerThread, in_thread


def make_config(data_dir: Path) -> Config:
    return Config(
        data_dir=data_dir,
        serving=Serving(secure_port=0),
        storage=Storage(durability="normal"),
    )


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return make_config(tmp_path / "data")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerThread]:
    """One server for the tests that do not end it."""
    with in_thread(make_config(tmp_path_factory.mktemp("threads") / "data")) as server:
        yield server
