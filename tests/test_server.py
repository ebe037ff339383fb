"""What the composition root does itself: warnings at start, health of the disk."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from kubetrio.config import Config
from kubetrio.files import write_atomic
from kubetrio.server import _written, open_server
from kubetrio.store.errors import StoreFull
from kubetrio.testing.client import Client
from kubetrio.testing.store_model import MemoryStore


async def test_files_that_others_can_use_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each with the command that mends it; and nothing is said where all is well."""
    tokens = tmp_path / "tokens.csv"
    write_atomic(tokens, b"secret,alice,1\n")
    data = tmp_path / "data"
    config = Config(data_dir=data, secure_port=0, token_auth_file=tokens)
    async with open_server(config):
        pass
    assert "others can use" not in caplog.text
    tokens.chmod(0o644)
    data.chmod(0o755)
    (data / "pki" / "sa.key").chmod(0o604)
    (data / "kubetrio.db").chmod(0o620)
    async with open_server(config):
        pass
    said = [r.kubetrio_fields["mend"] for r in caplog.records if "others can" in r.getMessage()]
    assert said == [
        f"chmod 700 {data}",
        f"chmod 600 {data}/kubetrio.db",
        f"chmod 600 {data}/pki/sa.key",
        f"chmod 600 {tokens}",
    ]


async def test_a_disk_with_room_is_ready(client: Client) -> None:
    """The check has a name of its own."""
    answer = await client.request("GET", "/readyz/storage-space")
    assert (answer.status, answer.body) == (200, b"ok")


async def test_objects_of_the_server_fail_loudly_where_there_is_room() -> None:
    """Only a full disk is waited for."""

    async def write() -> None:
        await trio.lowlevel.checkpoint()
        raise StoreFull

    with pytest.raises(ExceptionGroup):
        await _written(write, MemoryStore())
