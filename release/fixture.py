"""Make data directories of this release: ``python -m release.fixture``.

One archive, ``tests/release/fixtures/VERSION.tar.xz``, has a directory for each form in which a
server leaves its state.  All later releases open them (``tests/release/test_upgrade.py``).  Beside
the directories are the file with the keys of encrypted objects, and what the server answered.

A seed and a mock clock decide what is stored.  The bytes of write-ahead logs differ all the same:
SQLite salts them.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import trio
import trio.testing
import yaml

from kubetrio import __version__
from kubetrio.client import Client
from kubetrio.datadir import SCHEMA_VERSION
from kubetrio.datadir.objects import Kinds
from kubetrio.env import seeded
from kubetrio.flags.given import configured
from kubetrio.harness.keys import PRIMES, write_keys
from kubetrio.harness.scheduler import seed_scheduler
from kubetrio.server import open_server

HERE = Path(__file__).resolve().parent
FIXTURES = HERE.parent / "tests" / "release" / "fixtures"
MANIFESTS = tuple(yaml.safe_load_all((HERE / "fixture.yaml").read_text()))
NAMES = frozenset(obj["metadata"]["name"] for obj in MANIFESTS)
SEED = 32
START = 1_795_737_600.0  # 2026-11-27T00:00:00Z
PAST_S = 900.0  # longer than history is kept: what is older is compacted
JOURNAL = ("--journal-size=1Mi",)
FORMS = ("stopped", "killed", "journal")
"""Ended in order; killed; killed with a journal that has all but the first run of a server."""
KEYS = """\
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - aesgcm: {keys: [{name: key1, secret: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=}]}
  - identity: {}
"""
KEYS_FILE = "encryption.yaml"
ANSWERS = "answers.json"
DATA = "data"
LEFT_OUT = ("kubetrio.lock", "kubetrio.reserve", "kubetrio.db-shm")
"""Files without content of their own: who has the directory, room on the disk, an index of the log.
"""
KEPT_KEYS = ("sa.pub", *(f"{name}.{end}" for name in PRIMES for end in ("crt", "key")))
"""The others of ``pki`` are signed by these, at random, and made anew where they are missing."""
NAMESPACE = "shop"
HEAD = "kubetrio.head"
LARGE = 70_000  # bytes of a value that a journal does not compress
Object = dict[str, Any]


def flags(data_dir: Path, keys: Path, further: Sequence[str] = ()) -> list[str]:
    """Return the flags of a server over a directory, which nothing outside reaches."""
    own = [f"--data-dir={data_dir}", f"--encryption-provider-config={keys}"]
    return [*own, "--secure-serving=false", *further]


async def fill(client: Client) -> Object:
    """Store objects, and make some history; return what the server answered."""
    for obj in MANIFESTS:
        await client.create(obj)
        if obj["kind"] == "CustomResourceDefinition":
            await trio.sleep(1)  # it is served then
    await trio.sleep(PAST_S)
    maps = client.kind("v1", "ConfigMap")
    settings = await client.get(maps, "settings", NAMESPACE)
    begin = (await client.list(maps, NAMESPACE)).resource_version
    for colour in ("green", "blue"):
        settings["data"]["colour"] = colour
        settings = await client.update(settings)
    await client.delete(maps, "passing", NAMESPACE)
    large = {"text": "all work and no play " * (LARGE // 21)}
    meta = {"name": "large", "namespace": NAMESPACE}
    await client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": large})
    await _store_beds_as_v1(client)
    lease = await client.get(client.kind("coordination.k8s.io/v1", "Lease"), "leader", NAMESPACE)
    lease["spec"]["holderIdentity"] = "two"
    await client.update(lease)
    await trio.sleep(30)
    return {
        "history": {"from": begin, "events": await _events(client, begin)},
        "objects": await everything(client),
    }


async def _store_beds_as_v1(client: Client) -> None:
    """Change the stored version of the custom kind, and write objects in the new one."""
    crds = client.kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    definition = await client.get(crds, "beds.garden.example.com")
    for version in definition["spec"]["versions"]:
        version["storage"] = version["name"] == "v1"
    await client.update(definition)
    await trio.sleep(1)
    bed = {"apiVersion": "garden.example.com/v1", "kind": "Bed", "spec": {"rows": 7}}
    late = await client.create({**bed, "metadata": {"name": "late", "namespace": NAMESPACE}})
    await client.update({**late, "status": {"wet": True}}, subresource="status")
    await client.delete(client.kind("garden.example.com/v1", "Bed"), "held", NAMESPACE)


async def _events(client: Client, begin: str) -> list[Object]:
    """Return what happened to ConfigMaps of the namespace after a revision, up to the last one."""
    events: list[Object] = []
    maps = client.kind("v1", "ConfigMap")
    async with client.watch(maps, NAMESPACE, resource_version=begin) as watch:
        async for event in watch:
            events.append({"type": event.type, "object": event.object})
            if event.object["metadata"]["name"] == "large":
                break
    return events


async def everything(client: Client) -> list[Object]:
    """Return all objects of all kinds, each in the version in which it is stored.

    Of the server's own, what names them: a later release may have more to say of these.
    """
    crds = client.kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    definitions = (await client.list(crds)).items
    objects: list[Object] = []
    for kind in Kinds(definitions).all:
        served = client.kind(kind.api_version, kind.kind)
        objects += map(_told, (await client.list(served)).items)
    return objects


def _told(obj: Object) -> Object:
    meta = obj["metadata"]
    if NAMESPACE in (meta["name"], meta.get("namespace")) or meta["name"] in NAMES:
        return obj
    told = {name: meta[name] for name in ("name", "namespace", "uid") if name in meta}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": told}


def make(folder: Path, form: str) -> None:
    """Make the directory of one form, and what the server answered, in a folder."""
    keys, data = folder / KEYS_FILE, folder / DATA
    data.mkdir(parents=True, mode=0o700)
    keys.write_text(KEYS)
    keys.chmod(0o600)
    further: Sequence[str] = ()
    if form == "journal":
        _serve(folder, SEED + 1, further, None)
        further = JOURNAL
    copied = _serve(folder, SEED, further, form)
    if copied:
        shutil.rmtree(data)
        copied.rename(data)
    for name in LEFT_OUT:
        (data / name).unlink(missing_ok=True)
    for path in (data / "pki").iterdir():
        if path.name not in KEPT_KEYS:
            path.unlink()
    head = data / HEAD
    if head.exists():  # it ends with what tells one start of the machine from others
        revision, synced, _ = head.read_text().split(" ")
        head.write_text(f"{revision} {synced} 00000000-0000-0000-0000-000000000000\n")


def _serve(folder: Path, seed: int, further: Sequence[str], form: str | None) -> Path | None:
    """Run a server on a directory; return a copy of what a killed one leaves, if it is to be.

    Args:
        folder: where the directory is.
        seed: of names, uids and nonces.
        further: flags.
        form: what is filled; None to start and stop the server.
    """
    config = configured(flags(folder / DATA, folder / KEYS_FILE, further), ())
    copied = folder / "killed"

    async def main() -> None:
        env = seeded(seed, start=START)
        write_keys(config.pki_dir, env.utcnow())
        async with open_server(config, env) as server:
            await server.settled()
            if form is None:
                return
            answers = await fill(server.client())
            await server.settled()
            told = {"kubetrio": __version__, "schema": SCHEMA_VERSION, "end": env.now()}
            text = json.dumps(told | answers, indent=1, sort_keys=True)
            (folder / ANSWERS).write_text(f"{text}\n")
            if form != "stopped":
                shutil.copytree(folder / DATA, copied)

    seed_scheduler(seed)
    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return copied if copied.exists() else None


def packed(folder: Path) -> bytes:
    """Return an archive of a folder, with neither times nor owners."""
    out = io.BytesIO()

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mtime = int(START)
        return member

    with tarfile.open(fileobj=out, mode="w:xz", preset=9, format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(folder.rglob("*")):
            archive.add(path, str(path.relative_to(folder)), recursive=False, filter=plain)
    return out.getvalue()


def main(arguments: list[str] | None = None) -> int:
    """Make the archive; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m release.fixture", description=__doc__.partition("\n")[0]
    )
    place = FIXTURES / f"{__version__}.tar.xz"
    parser.add_argument("output", type=Path, nargs="?", default=place, help="the file to make")
    output: Path = parser.parse_args(arguments).output
    with tempfile.TemporaryDirectory(prefix="kubetrio-fixture-") as scratch:
        for form in FORMS:
            make(Path(scratch, form), form)
        content = packed(Path(scratch))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(content)
    print(f"{output}: {len(content):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
