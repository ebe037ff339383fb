"""Calls of a KMS plugin over gRPC."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio
from kmsworld import Answers, _config, envelope

from kubetrio.encryption.kmsplugin import GrpcService, Status, socket_of
from kubetrio.encryption.providers import EncryptionConfigError, build, read
from kubetrio.encryption.transformers import TransformError, unreported
from kubetrio.testing.kms import ANNOTATION, Plugin, serving


@pytest.mark.parametrize(
    ("endpoint", "target"),
    [("unix:///run/kms.sock", "unix:/run/kms.sock"), ("unix:///@kms", "unix-abstract:kms")],
)
def test_endpoints(endpoint: str, target: str) -> None:
    """Sockets in the file system and those without a file."""
    assert socket_of(endpoint) == target


def test_without_grpcio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The configuration is refused with the command that installs it."""
    monkeypatch.setattr("kubetrio.encryption.kmsplugin.available", lambda: False)
    file = tmp_path / "file"
    file.write_text(_config("unix:///x"))
    with pytest.raises(
        EncryptionConfigError,
        match=r"needs grpcio: install it in a checkout with pip install '\.\[kms\]'",
    ):
        build(read(file, reload=False), lambda _: envelope(Answers(Plugin())), lambda _: unreported)


@pytest.fixture
async def service(plugin: Plugin, tmp_path: Path) -> AsyncIterator[GrpcService]:
    """A connection to `plugin` over a socket."""
    with serving(plugin, tmp_path / "kms.sock") as endpoint:
        made = GrpcService(endpoint, 2.0, lambda *_: None)
        yield made
        made.close()


async def test_the_three_calls(service: GrpcService) -> None:
    """A plugin in another thread, over a Unix socket, is asked by gRPC."""
    assert await service.status() == Status("v2", "ok", "1")
    made = await service.encrypt("uid", b"seed")
    assert (made.key_id, made.annotations) == ("1", {ANNOTATION: b"1"})
    assert await service.decrypt("uid", made) == b"seed"


async def test_calls_that_fail(service: GrpcService, plugin: Plugin) -> None:
    """The text is that of Go's client."""
    plugin.failing = "out of order"
    with pytest.raises(TransformError) as caught:
        await service.status()
    assert str(caught.value) == "rpc error: code = Unavailable desc = out of order"
    assert caught.value.code == "Unavailable"


async def test_answers_that_are_none(service: GrpcService, plugin: Plugin) -> None:
    """They are an error, not a crash."""
    plugin.garbage = True
    with pytest.raises(TransformError, match="failed to unmarshal the received message"):
        await service.status()


async def test_a_plugin_that_is_not_there(tmp_path: Path) -> None:
    """The call ends at its time-out, and the event loop goes on meanwhile."""
    heard: list[tuple[str, str]] = []
    service = GrpcService(
        f"unix://{tmp_path}/none", 0.3, lambda method, code, _: heard.append((method, code))
    )
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await trio.sleep(0.01)
            turns += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(count)
        with pytest.raises(TransformError, match="code = DeadlineExceeded desc = context deadline"):
            await service.status()
        nursery.cancel_scope.cancel()
    service.close()
    assert turns > 5
    assert heard == [("/v2.KeyManagementService/Status", "DeadlineExceeded")]
