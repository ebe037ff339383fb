"""Envelope encryption with a KMS plugin: what is stored, and what a bad plugin can do."""

import base64
import json
from pathlib import Path

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from kmsworld import Answers, _config, envelope
from trio.testing import MockClock

from kubetrio.encryption import kmsmessages
from kubetrio.encryption.aes import Gcm
from kubetrio.encryption.control import Encryption
from kubetrio.encryption.kms import MAX_SOURCE_BYTES, Envelope, check
from kubetrio.encryption.kmsplugin import Encrypted
from kubetrio.encryption.providers import read
from kubetrio.encryption.transformers import KeyWanted, TransformError
from kubetrio.env import Env, seeded
from kubetrio.store.cipher import Plain
from kubetrio.testing.kms import ANNOTATION, Plugin, mixed, serving

PATH = b"/registry/secrets/default/one"


STORED = json.loads(Path(__file__).with_name("stored_by_kube_apiserver.json").read_text())


def write(made: Envelope, data: bytes, path: bytes = PATH) -> bytes:
    return made.seal(path, bytes(range(made.nonce_bytes)), len(data))(data)


async def opened(made: Envelope, stored: bytes, path: bytes = PATH) -> Plain:
    """Decrypt, asking for keys as they are wanted."""
    try:
        return made.open(stored, path, {})
    except KeyWanted as wanted:
        await wanted.fetch()
        return made.open(stored, path, {})


async def test_values_come_back() -> None:
    """One encryption of a key serves for many values, and none is decrypted for one's own."""
    answers = Answers(Plugin())
    made = envelope(answers)
    assert await made.healthy() is None
    values = [write(made, b"value %d" % at) for at in range(20)]
    for at, stored in enumerate(values):
        assert made.open(stored, PATH, {}) == (b"value %d" % at, False)
    assert answers.calls == ["Status", "Encrypt"]


async def test_what_is_stored() -> None:
    """The message has the plugin's words, and its data begins with the derivation's 32 bytes."""
    made = envelope(Answers(Plugin(key_id="seven")))
    await made.healthy()
    stored = kmsmessages.decode("EncryptedObject", write(made, b"value"))
    assert (stored.keyID, stored.encryptedDEKSourceType) == ("seven", 1)
    assert kmsmessages.annotations_of(stored) == {ANNOTATION: b"1"}
    assert stored.encryptedData[:44] == bytes(range(44))


async def test_another_server_asks_the_plugin_once() -> None:
    """A key that is met for the first time is decrypted once for all who wait for it."""
    first = envelope(Answers(Plugin()))
    await first.healthy()
    stored = write(first, b"value")
    answers = Answers(Plugin())
    second = envelope(answers, seeded(2))
    await second.healthy()
    answers.calls.clear()

    async def one() -> None:
        assert await opened(second, stored) == (b"value", False)

    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(one)
    assert answers.calls == ["Decrypt"]


async def test_values_are_bound_to_their_key_in_the_store() -> None:
    """A copy under another one is refused."""
    made = envelope(Answers(Plugin()))
    await made.healthy()
    with pytest.raises(TransformError, match="message authentication failed"):
        made.open(write(made, b"value"), b"/registry/secrets/default/two", {})


async def test_a_rotated_key_makes_values_stale(autojump_clock: MockClock) -> None:
    """Within a minute it is used; what was written before is read, and is stale."""
    del autojump_clock
    plugin = Plugin()
    made = envelope(Answers(plugin))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(made.run)
        await trio.sleep(1)
        old = write(made, b"value")
        plugin.key_id = "2"
        await trio.sleep(70)
        assert made.open(old, PATH, {}) == (b"value", True)
        assert made.open(write(made, b"new"), PATH, {}) == (b"new", False)
        assert kmsmessages.decode("EncryptedObject", write(made, b"new")).keyID == "2"
        nursery.cancel_scope.cancel()


async def test_nothing_is_written_on_old_answers(autojump_clock: MockClock) -> None:
    """Three minutes after the plugin failed writes fail, until it is back; reads go on."""
    del autojump_clock
    plugin = Plugin()
    made = envelope(Answers(plugin))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(made.run)
        await trio.sleep(1)
        stored = write(made, b"value")
        plugin.failing = "gone"
        await trio.sleep(100)
        write(made, b"still")
        await trio.sleep(200)
        with pytest.raises(TransformError, match=r'^encryptedDEKSource with keyID hash "sha256:'):
            write(made, b"no more")
        assert made.open(stored, PATH, {}) == (b"value", False)
        plugin.failing = ""
        await trio.sleep(20)
        write(made, b"again")
        nursery.cancel_scope.cancel()


async def test_before_the_plugin_answers_nothing_is_done() -> None:
    """Neither written nor read."""
    made = envelope(Answers(Plugin(failing="no")))
    assert str(await made.healthy()).endswith("for KMS Provider plug, error: no")
    with pytest.raises(TransformError, match=r"^got unexpected nil transformer$"):
        write(made, b"value")


@pytest.mark.parametrize(
    ("plugin", "why"),
    [
        (Plugin(healthz="ill"), "got unexpected healthz status: ill"),
        (Plugin(version="v3"), "expected KMSv2 API version v2, got v3"),
        (Plugin(key_id=""), 'got invalid KMSv2 KeyID hash "": keyID is empty'),
        (Plugin(key_id="x" * 1025), "keyID is 1025 bytes, which exceeds the max size of 1024"),
        (Plugin(encrypts_with="other"), "failed to rotate DEK uid="),
        (Plugin(ciphertext=b""), "encrypted DEK source is empty"),
        (Plugin(ciphertext=b"x" * 1025), "encrypted DEK source is 1025 bytes"),
        (Plugin(annotations={"short": b""}), "should be a domain with at least two segments"),
        (Plugin(annotations={"a.b": b"x" * 40000}), "total size of annotations is 40003"),
    ],
)
async def test_a_plugin_that_lies(plugin: Plugin, why: str) -> None:
    """It is not healthy, for a reason that is told."""
    answers = Answers(plugin)
    error = await envelope(answers).healthy()
    assert str(error).startswith("kmsv2 Provider plug is not healthy, error: ")
    assert why in str(error)


async def test_the_version_may_not_change(autojump_clock: MockClock) -> None:
    """Once it has said one, a plugin stays with it."""
    del autojump_clock
    plugin = Plugin()
    made = envelope(Answers(plugin))
    await made.healthy()
    plugin.version = "v2beta1"
    await trio.sleep(21)
    assert "API version should not change after the initial status" in str(await made.healthy())


async def test_health_is_asked_for_once_in_a_while(autojump_clock: MockClock) -> None:
    """A good answer is good for 20 seconds, a bad one for 3."""
    del autojump_clock
    answers = Answers(Plugin())
    made = envelope(answers)
    for _ in range(5):
        await made.healthy()
    assert answers.calls.count("Status") == 1
    await trio.sleep(21)
    answers.plugin.failing = "gone"
    assert "status section" in str(await made.healthy())
    assert str(await made.healthy()) == "gone"
    await trio.sleep(4)
    answers.plugin.failing = ""
    assert await made.healthy() is None


async def test_a_key_that_cannot_be_decrypted() -> None:
    """Only this value is refused, with the plugin's words."""
    first = envelope(Answers(Plugin()))
    await first.healthy()
    stored = write(first, b"value")
    answers = Answers(Plugin())
    second = envelope(answers, seeded(2))
    await second.healthy()
    answers.plugin.failing = "no"
    with pytest.raises(TransformError, match=r"^failed to decrypt DEK, error: no$"):
        await opened(second, stored)
    answers.plugin.failing = ""
    assert await opened(second, stored) == (b"value", False)


async def test_values_of_an_older_way() -> None:
    """Those under a key in place of a seed are read, and are stale."""
    made = envelope(Answers(Plugin()))
    await made.healthy()
    key = b"k" * 32
    stored = kmsmessages.encode(
        "EncryptedObject",
        encryptedData=Gcm(key).seal(PATH, bytes(12), 5)(b"value"),
        keyID="1",
        encryptedDEKSource=mixed(key, "1"),
    )
    assert await opened(made, stored) == (b"value", True)


@given(data=st.binary(max_size=200))
def test_anything_may_be_in_the_store(data: bytes) -> None:
    """Bytes that are no message, or none that is whole, are refused."""
    made = envelope(Answers(Plugin()))
    with pytest.raises(TransformError):
        made.open(data, PATH, {})


def test_bounds_of_what_is_stored() -> None:
    """They are those of kube-apiserver."""
    check(Encrypted(b"x" * MAX_SOURCE_BYTES, "1"))
    with pytest.raises(TransformError, match=r"^unknown encryptedDEKSourceType: 2$"):
        check(Encrypted(b"x", "1"), 2)
    with pytest.raises(TransformError, match=r"^encrypted data is empty$"):
        check(Encrypted(b"x", "1"), 1, b"")


async def test_values_written_by_kube_apiserver(plugin: Plugin, tmp_path: Path) -> None:
    """What kube-apiserver 1.36 stored with the same plugin is read."""
    found = STORED["services"]
    with serving(plugin, tmp_path / "kms.sock") as endpoint:
        file = tmp_path / "file"
        file.write_text(_config(endpoint))
        encryption = Encryption(file, read(file, reload=False), Env(), reload=False)
        (made,) = encryption.transforms.envelopes
        assert await made.healthy() is None
        stored = base64.b64decode(found["stored"]).removeprefix(b"k8s:enc:kms:v2:plug:")
        plain = await opened(made, stored, found["path"].encode())
        encryption.transforms.close()
    assert plain.data.startswith(b"k8s\0")
    assert b"Service" in plain.data
