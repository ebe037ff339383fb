"""A server that encrypts: what clients see is as before, what is in the file is not plain."""

import base64
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kubetrio.config import Config
from kubetrio.config.encryption import Encryption as Flags
from kubetrio.encryption.note import NOTE
from kubetrio.server.files import StartError
from kubetrio.store.model import EventType, Range
from kubetrio.testing.client import Client
from kubetrio.testing.kms import Plugin, serving
from kubetrio.testing.server import InProcess, in_memory, open_api

HEAD = "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\nresources:\n"
SECRETS = "/api/v1/namespaces/default/secrets"
WORD = b"hunter2-hunter2"
WORDS = base64.b64encode(WORD).decode()
NAMES = ("aescbc", "aesgcm", "secretbox")


def key(letter: str) -> str:
    return base64.b64encode(letter.encode() * 32).decode()


def provider(name: str, *keys: str) -> str:
    """One provider with keys by a letter each."""
    if name == "identity":
        return "- identity: {}"
    items = ", ".join(f"{{name: key-{one}, secret: {key(one)}}}" for one in keys)
    return f"- {name}: {{keys: [{items}]}}"


def rule(resources: str, *providers: str) -> str:
    lines = "\n".join(f"  {one}" for one in providers)
    return f"- resources: [{resources}]\n  providers:\n{lines}\n"


Serve = Callable[..., Any]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Opens a server on one data directory, with some rules or without any."""

    @asynccontextmanager
    async def opened(
        *rules: str, reload: bool = False, seed: int = 3
    ) -> AsyncIterator[tuple[InProcess, Client]]:
        config: Config = in_memory(tmp_path / "data")
        config = replace(config, storage=replace(config.storage, compact_interval_s=0.0))
        if rules:
            file = tmp_path / "encryption.yaml"
            file.write_text(HEAD + "".join(rules))
            flags = Flags(provider_config=file, automatic_reload=reload)
            config = replace(config, encryption=flags)
        async with open_api(seed=seed, config=config) as server, server.connect() as client:
            yield server, client

    return opened


def stored(tmp_path: Path) -> bytes:
    """All bytes in the data directory."""
    return b"".join(path.read_bytes() for path in (tmp_path / "data").glob("kubetrio.db*"))


def rows(tmp_path: Path, name: str, of: str = "secrets") -> list[bytes]:
    """What the engine has of one object, oldest first."""
    with sqlite3.connect(f"file:{tmp_path / 'data' / 'kubetrio.db'}?mode=ro", uri=True) as db:
        wanted = f"/registry/{of}/default/{name}"
        found = db.execute("SELECT value FROM revision WHERE key = ? ORDER BY rev", (wanted,))
        return [bytes(value) for (value,) in found]


def secret(name: str, data: str = WORDS, **more: Any) -> dict[str, Any]:
    meta = {"name": name, **more}
    return {"kind": "Secret", "apiVersion": "v1", "metadata": meta, "data": {"word": data}}


def damage(tmp_path: Path, name: str) -> None:
    """Change the last byte of what is stored of a secret, as if it was written so."""
    with sqlite3.connect(tmp_path / "data" / "kubetrio.db") as db:
        (last,) = db.execute(
            "SELECT max(rev) FROM revision WHERE key = ?", (f"/registry/secrets/default/{name}",)
        ).fetchone()
        (value,) = db.execute("SELECT value FROM revision WHERE rev = ?", (last,)).fetchone()
        db.execute(
            "UPDATE revision SET value = ? WHERE rev = ?",
            (value[:-1] + bytes([value[-1] ^ 1]), last),
        )
        for table in ("revision", "current", "history"):
            db.execute(f"UPDATE {table} SET checksum = NULL WHERE rev = ?", (last,))


@pytest.mark.parametrize("name", NAMES)
async def test_secrets_are_in_the_file_encrypted_only(
    serve: Serve, tmp_path: Path, name: str
) -> None:
    """Neither the value nor its base64 text is in any file of the data directory."""
    async with serve(rule("secrets", provider(name, "a"))) as (_, client):
        made = await client.request("POST", SECRETS, json=secret("one"))
        assert made.status == 201
        assert WORDS in str(made.json())
        got = await client.request("GET", f"{SECRETS}/one")
        assert got.json() == made.json()
        assert WORD not in stored(tmp_path)
        assert WORDS.encode() not in stored(tmp_path)
        assert rows(tmp_path, "one")[0].startswith(f"k8s:enc:{name}:v1:key-a:".encode())
    assert WORDS.encode() not in stored(tmp_path)


async def test_without_the_flag_they_are_plain(serve: Serve, tmp_path: Path) -> None:
    """What the other tests look for is there to be found."""
    async with serve() as (_, client):
        await client.request("POST", SECRETS, json=secret("one"))
    assert WORDS.encode() in stored(tmp_path)


async def test_other_collections_are_stored_and_joined_as_they_are(
    serve: Serve, tmp_path: Path
) -> None:
    """What the file does not name is plain, and lists of it are joined by the engine."""
    async with serve(rule("secrets", provider("aesgcm", "a"))) as (server, client):
        body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "one"}}
        await client.request("POST", "/api/v1/namespaces/default/configmaps", json=body)
        assert rows(tmp_path, "one", of="configmaps")[0].startswith(b'{"kind":"ConfigMap"')
        joined = await server.api.storage.store.join(
            Range.prefix("/registry/configmaps/"), skip=1, separator=b",", max_bytes=1 << 20
        )
        assert joined.count >= 1


@pytest.mark.parametrize("large", [False, True])
async def test_lists_and_watches_are_plain(serve: Serve, tmp_path: Path, large: bool) -> None:
    """A list, a page of one and events from an old revision say what was written."""
    data = base64.b64encode(b"x" * (40_000 if large else 10)).decode()
    async with serve(rule("secrets", provider("secretbox", "a"))) as (server, client):
        for at in range(4):
            await client.request("POST", SECRETS, json=secret(f"s{at}", data))
        await client.request("PUT", f"{SECRETS}/s1", json=secret("s1"))
        await client.request("DELETE", f"{SECRETS}/s2")
        listed = (await client.request("GET", SECRETS)).json()
        assert [item["metadata"]["name"] for item in listed["items"]] == ["s0", "s1", "s3"]
        assert listed["items"][0]["data"]["word"] == data
        page = (await client.request("GET", f"{SECRETS}?limit=2")).json()
        assert len(page["items"]) == 2
        chosen = (await client.request("GET", f"{SECRETS}?fieldSelector=metadata.name=s1")).json()
        assert chosen["items"][0]["data"]["word"] == WORDS
        began = int(listed["items"][0]["metadata"]["resourceVersion"]) - 1
        events, _ = await server.api.storage.store.events(
            after=began, keys=Range.prefix("/registry/secrets/"), max_bytes=1 << 30
        )
        assert [event.type for event in events] == [
            *[EventType.CREATED] * 4, EventType.UPDATED, EventType.DELETED,
        ]  # fmt: skip
        for event in events:
            assert b'"resourceVersion":"%d"' % event.revision in event.value
        assert events[4].previous == events[1].value
    assert data.encode() not in stored(tmp_path)


async def test_live_events_are_plain(serve: Serve) -> None:
    """The commit stream tells values before and after as they were written."""
    async with serve(rule("secrets", provider("aescbc", "a"))) as (server, client):
        told: list[Any] = []
        server.api.storage.store.on_commit(told.extend)
        await client.request("POST", SECRETS, json=secret("one"))
        await client.request("PUT", f"{SECRETS}/one", json=secret("one", "bmV3"))
        await client.request("DELETE", f"{SECRETS}/one")
        told = [event for event in told if event.key.startswith("/registry/secrets/")]
        assert [event.type for event in told] == list(EventType)
        assert told[1].previous == told[0].value
        assert b"bmV3" in told[2].value
        assert b'"resourceVersion":"%d"' % told[2].revision in told[2].value


async def test_what_lives_out_its_time(
    serve: Serve, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """An encrypted Event is deleted in time, and watchers hear of it at the deletion's revision."""
    del autojump_clock
    event = {
        "kind": "Event", "apiVersion": "v1", "metadata": {"name": "one", "namespace": "default"},
        "involvedObject": {"namespace": "default"}, "message": WORDS,
    }  # fmt: skip
    async with serve(rule("events", provider("aesgcm", "a"))) as (server, client):
        told: list[Any] = []
        server.api.storage.store.on_commit(told.extend)
        made = await client.request("POST", "/api/v1/namespaces/default/events", json=event)
        assert made.status == 201
        assert WORDS.encode() not in stored(tmp_path)
        await trio.sleep(3700)
        gone = [one for one in told if one.type is EventType.DELETED]
        assert len(gone) == 1
        assert WORDS.encode() in gone[0].value
        assert b'"resourceVersion":"%d"' % gone[0].revision in gone[0].value
        got = await client.request("GET", "/api/v1/namespaces/default/events/one")
        assert got.status == 404


async def test_keys_are_rotated_by_writing_again(serve: Serve, tmp_path: Path) -> None:
    """A replacement that changes nothing writes what is stale, once, and nothing after that."""
    async with serve(rule("secrets", provider("aescbc", "a"))) as (_, client):
        await client.request("POST", SECRETS, json=secret("one"))
    async with serve(rule("secrets", provider("aescbc", "b", "a"))) as (_, client):
        found = (await client.request("GET", f"{SECRETS}/one")).json()
        await client.request("PUT", f"{SECRETS}/one", json=found)
        assert rows(tmp_path, "one")[-1].startswith(b"k8s:enc:aescbc:v1:key-b:")
        again = (await client.request("GET", f"{SECRETS}/one")).json()
        assert again["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"]
        assert again["data"] == found["data"]
        put = await client.request("PUT", f"{SECRETS}/one", json=again)
        assert put.json() == again
    async with serve(rule("secrets", provider("aescbc", "b"))) as (_, client):
        assert (await client.request("GET", f"{SECRETS}/one")).json() == again


async def test_switched_on_and_off_again(serve: Serve, tmp_path: Path) -> None:
    """Old plain values are read and written again; with identity in front they become plain."""
    on = rule("secrets", provider("aesgcm", "a"), provider("identity"))
    off = rule("secrets", provider("identity"), provider("aesgcm", "a"))
    async with serve() as (_, client):
        await client.request("POST", SECRETS, json=secret("one"))
        await client.request("POST", SECRETS, json=secret("two"))
    async with serve(on) as (_, client):
        listed = (await client.request("GET", SECRETS)).json()["items"]
        assert len(listed) == 2
        await client.request("PUT", f"{SECRETS}/one", json=listed[0])
        assert len((await client.request("GET", SECRETS)).json()["items"]) == 2  # one of each
        assert rows(tmp_path, "one")[-1].startswith(b"k8s:enc:aesgcm:")
        assert rows(tmp_path, "two")[-1].startswith(b"{")
    async with serve(off) as (_, client):
        found = (await client.request("GET", f"{SECRETS}/one")).json()
        await client.request("PUT", f"{SECRETS}/one", json=found)
        assert rows(tmp_path, "one")[-1].startswith(b"{")


async def test_a_value_that_cannot_be_decrypted(serve: Serve, tmp_path: Path) -> None:
    """GET, LIST, PUT and DELETE are refused as kube-apiserver does; others are left alone."""
    rules = rule("secrets", provider("aesgcm", "a"))
    async with serve(rules) as (_, client):
        await client.request("POST", SECRETS, json=secret("bad"))
        await client.request("POST", SECRETS, json=secret("good"))
    damage(tmp_path, "bad")
    why = "cipher: message authentication failed"
    async with serve(rules) as (_, client):
        for method, body in (("GET", None), ("PUT", secret("bad")), ("DELETE", None)):
            answer = await client.request(method, f"{SECRETS}/bad", json=body)
            assert answer.status == 500
            assert answer.json()["message"] == f"Internal error occurred: {why}"
            assert answer.json()["reason"] == "InternalError"
            assert answer.json()["details"] == {"causes": [{"message": why}]}
        listed = await client.request("GET", SECRETS)
        assert listed.status == 500
        assert listed.json()["message"] == (
            'Internal error occurred: unable to transform key "/registry/secrets/default/bad": '
            + why
        )
        assert (await client.request("POST", SECRETS, json=secret("bad"))).status == 409
        assert (await client.request("GET", f"{SECRETS}/good")).status == 200


async def test_a_lost_configuration(serve: Serve, tmp_path: Path) -> None:
    """Without the flag, or with one that names others, encrypted values are refused, not shown."""
    async with serve(rule("secrets", provider("aesgcm", "a"))) as (server, client):
        await client.request("POST", SECRETS, json=secret("one"))
        assert await server.api.storage.store.get(NOTE)
    why = "Internal error occurred: identity transformer tried to read encrypted data"
    for rules in ((), (rule("configmaps", provider("aesgcm", "a"), provider("identity")),)):
        async with serve(*rules) as (_, client):
            got = await client.request("GET", f"{SECRETS}/one")
            assert (got.status, got.json()["message"]) == (500, why)
            assert (await client.request("GET", SECRETS)).status == 500


async def test_a_file_that_is_refused_ends_the_start(serve: Serve) -> None:
    """With one line that names the flag."""
    with pytest.raises(
        StartError, match=r"^--encryption-provider-config: error while parsing file"
    ):
        async with serve(rule("Secrets", provider("aesgcm", "a"))):
            raise AssertionError("it started")


async def test_custom_resources_under_a_wildcard(serve: Serve, tmp_path: Path) -> None:
    """All resources are encrypted, built-in ones in folders of other names too."""
    async with serve(rule("'*.*'", provider("aesgcm", "a"))) as (_, client):
        body = {
            "kind": "Service", "apiVersion": "v1", "metadata": {"name": "one"},
            "spec": {"ports": [{"port": 80}]},
        }  # fmt: skip
        made = await client.request("POST", "/api/v1/namespaces/default/services", json=body)
        assert made.status == 201
        assert rows(tmp_path, "one", of="services/specs")[0].startswith(b"k8s:enc:aesgcm:")


async def test_a_new_file_is_in_force_without_a_restart(
    serve: Serve, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """A bad one is not, whatever was in force stays; both are counted."""
    del autojump_clock
    rules = rule("secrets", provider("aesgcm", "a"))
    file = tmp_path / "encryption.yaml"
    async with serve(rules, reload=True) as (_, client):
        for path in ("/readyz", "/healthz"):
            assert (
                "kms-providers ok" in (await client.request("GET", f"{path}?verbose")).body.decode()
            )
        livez = (await client.request("GET", "/livez?verbose")).body.decode()
        assert "kms-providers" not in livez
        await client.request("POST", SECRETS, json=secret("one"))
        file.write_text(HEAD + "nonsense")
        await trio.sleep(20)
        await client.request("POST", SECRETS, json=secret("two"))
        assert rows(tmp_path, "two")[0].startswith(b"k8s:enc:aesgcm:v1:key-a:")
        file.write_text(HEAD + rule("secrets", provider("aesgcm", "b", "a")))
        await trio.sleep(20)
        await client.request("POST", SECRETS, json=secret("three"))
        assert rows(tmp_path, "three")[0].startswith(b"k8s:enc:aesgcm:v1:key-b:")
        assert len((await client.request("GET", SECRETS)).json()["items"]) == 3
        text = (await client.request("GET", "/metrics")).body.decode()
        reloads = "apiserver_encryption_config_controller_automatic_reloads_total"
        assert f'{reloads}{{apiserver_id_hash="sha256:' in text
        assert 'status="success"} 1.0' in text
        assert 'status="failure"}' in text
        assert "_created" not in "".join(line for line in text.splitlines() if "encryption" in line)
        operations = "apiserver_storage_transformation_operations_total"
        assert f'{operations}{{resource="secrets",status="OK"' in text


async def test_a_watch_that_meets_what_cannot_be_decrypted(serve: Serve, tmp_path: Path) -> None:
    """It ends with an error event that says so."""
    rules = rule("secrets", provider("aesgcm", "a"))
    async with serve(rules) as (_, client):
        await client.request("POST", SECRETS, json=secret("bad"))
    damage(tmp_path, "bad")
    async with serve(rules) as (_, client):
        answer = await client.request("GET", f"{SECRETS}?watch=1&timeoutSeconds=5")
        assert b'{"type":"ERROR","object":{"kind":"Status"' in answer.body
        assert b"unable to transform key" in answer.body


async def test_a_plugin_keeps_the_key(serve: Serve, tmp_path: Path) -> None:
    """Over a restart, with a plugin on a socket; one that fails shows in the health checks."""
    plugin = Plugin()
    with serving(plugin, tmp_path / "kms.sock") as endpoint:
        kms = f"- kms: {{apiVersion: v2, name: plug, endpoint: '{endpoint}'}}"
        async with serve(rule("secrets", kms)) as (_, client):
            made = await client.request("POST", SECRETS, json=secret("one"))
            assert made.status == 201
            assert rows(tmp_path, "one")[0].startswith(b"k8s:enc:kms:v2:plug:")
            assert WORDS.encode() not in stored(tmp_path)
        async with serve(rule("secrets", kms), seed=4) as (_, client):
            assert (await client.request("GET", f"{SECRETS}/one")).json() == made.json()
            assert (
                "[+]kms-providers ok"
                in (await client.request("GET", "/readyz?verbose")).body.decode()
            )
        plugin.failing = "out of order"
        async with serve(rule("secrets", kms), seed=5) as (_, client):
            got = await client.request("GET", f"{SECRETS}/one")
            why = "Internal error occurred: got unexpected nil transformer"
            assert (got.status, got.json()["message"]) == (500, why)
            health = await client.request("GET", "/healthz/kms-providers")
            assert health.status == 500
            assert b"kms-provider-0: rpc error: code = Unavailable" in health.body
            assert (await client.request("GET", "/livez")).status == 200
    assert "Decrypt" in plugin.calls


async def test_a_dry_run_writes_nothing_again(serve: Serve, tmp_path: Path) -> None:
    """A dry run of a replacement writes nothing, stale or not."""
    async with serve(rule("secrets", provider("aescbc", "a"))) as (_, client):
        await client.request("POST", SECRETS, json=secret("one"))
    async with serve(rule("secrets", provider("aescbc", "b", "a"))) as (_, client):
        found = (await client.request("GET", f"{SECRETS}/one")).json()
        dry = await client.request("PUT", f"{SECRETS}/one?dryRun=All", json=found)
        assert dry.json()["metadata"]["resourceVersion"] == found["metadata"]["resourceVersion"]
        assert len(rows(tmp_path, "one")) == 1
