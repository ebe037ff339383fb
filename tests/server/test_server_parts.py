"""What a server says of encrypted data at its start."""

import pytest

from kubetrio.encryption.note import NOTE, note_of
from kubetrio.env import seeded
from kubetrio.server.parts import encrypted
from kubetrio.store.memory import InMemoryStore


async def test_a_start_without_the_file_says_that_encrypted_objects_cannot_be_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Before the first Secret is answered with 500; and nothing where nothing is encrypted."""
    env = seeded(1)
    store = InMemoryStore()
    async with encrypted(None, store, env) as plain:
        assert plain is store
    assert not caplog.records
    await store.create(NOTE, note_of(["/registry/secrets/"]))
    async with encrypted(None, store, env):
        pass
    (said,) = caplog.records
    assert "there is no --encryption-provider-config" in said.getMessage()
    assert said.kubetrio_fields == {"folders": "/registry/secrets/"}
