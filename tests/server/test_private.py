"""A server in memory needs no directory."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from kubetrio.config import Config, ConfigError, Local, Storage
from kubetrio.env import seeded
from kubetrio.server import open_server, private
from kubetrio.server.private import placed

IN_MEMORY = Config(storage=Storage(in_memory=True), local=Local(secure_serving=False))


async def test_a_server_without_a_directory() -> None:
    """Its keys are in one of its own, which goes with it."""
    async with open_server(IN_MEMORY, seeded(0)) as server:
        directory = server.config.data_dir
        assert (directory / "pki" / "ca.key").exists()
        assert directory.stat().st_mode & 0o777 == 0o700
        client = server.client()
        assert (await client.list(client.kind("v1", "Namespace"))).items
    assert not directory.exists()


def test_two_have_two() -> None:
    """Of one configuration."""
    with placed(IN_MEMORY) as one, placed(IN_MEMORY) as other:
        assert one.data_dir != other.data_dir


def test_others_need_one() -> None:
    """Rather than write where nobody looks."""
    with pytest.raises(ConfigError, match="data_dir: is not given"):
        Config()
    with pytest.raises(ConfigError, match="data_dir: is not given"):
        replace(IN_MEMORY, storage=Storage())


@pytest.mark.parametrize("runtime", ["", "relative", "/nowhere"])
def test_where_there_is_no_memory_of_files(
    runtime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's directory for temporary files is taken."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    monkeypatch.setattr(private, "SHARED_MEMORY", Path("/nowhere"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with placed(IN_MEMORY) as config:
        assert config.data_dir.parent == tmp_path
