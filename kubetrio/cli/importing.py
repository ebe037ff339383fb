"""``kubetrio import``: manifests are applied to a server that runs, in an order that works."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from kubetrio.cli.asking import RemoteServer, RequestRefused, add_server, open_server, segment
from kubetrio.cli.common import Failure, describe, say, told
from kubetrio.cli.progress import Bar
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from argparse import Namespace

    from kubetrio.cli.commands import Call

EXAMPLES = """\
  kubetrio import all.yaml
  kubetrio import manifests/ --data-dir /var/lib/kubetrio
  kubetrio export --data-dir old | kubetrio import - --dry-run
"""
STANDARD = "-"
SUFFIXES = {".yaml", ".yml", ".json"}
SPLIT = re.compile(rb"^---(?:[ \t].*)?\r?$\n?", re.MULTILINE)
APPLY = "application/apply-patch+yaml"
AT_ONCE = 8
TRIES = 5
AGAIN_S = 1.0
SERVED_S = 30.0  # until a new definition is served
LOOK_EACH_S = 0.05
Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object of a file.

    Args:
        place: where it is, for messages.
        obj: the object.
    """

    place: str
    obj: Object

    @property
    def label(self) -> str:
        """What messages call it."""
        meta, kind = self.obj["metadata"], self.obj["kind"]
        name, namespace = meta["name"], meta.get("namespace")
        return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    describe(
        parser,
        "Apply manifests to a server that runs (server-side apply): definitions first, which are\n"
        "waited for, then namespaces, accounts and roles, then all else, webhooks last.",
        EXAMPLES,
    )
    parser.add_argument(
        "source", metavar="FILE", help="a file, a directory of .yaml, .yml and .json, or -"
    )
    parser.add_argument(
        "-n", "--namespace", default="default", metavar="NAME",
        help="namespace of objects that name none (default: default)",
    )  # fmt: skip
    parser.add_argument(
        "--field-manager", default="kubetrio-import", metavar="NAME",
        help="who owns the fields (default: kubetrio-import)",
    )  # fmt: skip
    parser.add_argument(
        "--force-conflicts", action="store_true", help="take fields that others own"
    )
    parser.add_argument("--dry-run", action="store_true", help="have all checked, store nothing")
    add_server(parser)


@told
def run(call: Call) -> int:
    """Apply manifests."""
    return trio.run(_run, call.options)


async def _run(options: Namespace) -> int:
    from kubetrio.kinds.manifests import rank

    objects = list(read(options.source))
    if not objects:
        raise Failure(f"there is no manifest in {options.source}")
    objects.sort(key=lambda one: rank(one.obj))
    failed = 0
    async with open_server(options) as server:
        applying = _Applying(server, options)
        with Bar("import") as bar:
            done = 0

            async def one(manifest: Manifest) -> None:
                nonlocal done, failed
                try:
                    await applying.apply(manifest)
                except (RequestRefused, Failure) as error:
                    failed += 1
                    bar.clear()
                    say(f"{manifest.place}: {manifest.label}: {error}")
                done += 1
                bar.to(done, len(objects))

            for _, group in groupby(objects, key=lambda one: rank(one.obj)):
                await _together(one, list(group))
    checked = "would be applied" if options.dry_run else "applied"
    print(f"{len(objects) - failed} of {len(objects)} objects {checked}")
    return 1 if failed else 0


async def _together(work: Any, items: list[Manifest]) -> None:
    """Work on some at a time."""
    slots = trio.CapacityLimiter(AT_ONCE)

    async def one(item: Manifest) -> None:
        async with slots:
            await work(item)

    async with trio.open_nursery() as nursery:
        for item in items:
            nursery.start_soon(one, item)


class _Applying:
    """Applies manifests to a server.

    Args:
        server: that is asked.
        options: of the command.
    """

    def __init__(self, server: RemoteServer, options: Namespace) -> None:
        self._server = server
        self._namespace: str = options.namespace
        self._dry_run: bool = options.dry_run
        self._query = {"fieldManager": options.field_manager}
        if options.force_conflicts:
            self._query["force"] = "true"
        if options.dry_run:
            self._query["dryRun"] = "All"
        self._resources: dict[str, dict[str, Object]] = {}
        self._asking = trio.Lock()

    async def apply(self, manifest: Manifest) -> None:
        """Apply one, and wait for what it defines.

        Raises:
            RequestRefused: the server refuses it.
            Failure: the server does not know its kind.
        """
        obj = manifest.obj
        resource = await self._resource(obj["apiVersion"], obj["kind"])
        if resource is None:
            raise Failure(f"the server has no kind {obj['kind']} in {obj['apiVersion']}")
        meta = obj["metadata"]
        base = _base(obj["apiVersion"])
        if resource["namespaced"]:
            namespace = meta.get("namespace") or self._namespace
            base += f"/namespaces/{segment(namespace)}"
        path = f"{base}/{resource['name']}/{segment(meta['name'])}"
        for tries in range(TRIES):
            try:
                await self._server.ask(
                    "PATCH", path, body=obj, query=self._query, content_type=APPLY
                )
                break
            except RequestRefused as error:
                if error.code != 429 or tries == TRIES - 1:
                    raise
            await trio.sleep(AGAIN_S)
        if obj["kind"] == "CustomResourceDefinition" and not self._dry_run:
            await self._served(obj)

    async def _resource(self, api_version: str, kind: str, *, anew: bool = False) -> Object | None:
        """How a kind is served, None where it is not."""
        async with self._asking:
            if anew or api_version not in self._resources:
                try:
                    answer = await self._server.ask("GET", _base(api_version))
                except RequestRefused as error:
                    if error.code != 404:
                        raise
                    answer = {}
                self._resources[api_version] = {
                    one["kind"]: one
                    for one in answer.get("resources") or ()
                    if "/" not in one["name"]
                }
        return self._resources[api_version].get(kind)

    async def _served(self, definition: Object) -> None:
        """Wait until all versions of a definition are served.

        Raises:
            Failure: they are not within half a minute.
        """
        spec = definition["spec"]
        kind = spec["names"]["kind"]
        for version in spec["versions"]:
            if not version.get("served"):
                continue
            api_version = f"{spec['group']}/{version['name']}"
            with trio.move_on_after(SERVED_S):
                while True:
                    if await self._resource(api_version, kind, anew=True) is not None:
                        break
                    await trio.sleep(LOOK_EACH_S)
                continue
            raise Failure(f"{kind} in {api_version} is not served after {SERVED_S:.0f} seconds")


def _base(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def read(source: str) -> Iterator[Manifest]:
    """The manifests of a file, of a directory, or of the standard input.

    Raises:
        Failure: something is no manifest; the line says where.
    """
    if source == STANDARD:
        yield from _documents("standard input", sys.stdin.buffer.read())
        return
    path = Path(source)
    files = [path]
    if path.is_dir():
        files = sorted(one for one in path.rglob("*") if one.suffix in SUFFIXES and one.is_file())
    for file in files:
        yield from _documents(str(file), file.read_bytes())


def _documents(place: str, data: bytes) -> Iterator[Manifest]:
    from kubetrio.wire import yamlwire

    for number, text in enumerate(SPLIT.split(data), 1):
        where = f"{place}, document {number}"
        try:
            value = yamlwire.decode(text).value
        except yamlwire.YamlError as error:
            raise Failure(f"{where}: {error}") from error
        if value is not None:
            yield from _objects(where, value)


def _objects(where: str, value: Any) -> Iterator[Manifest]:
    if not isinstance(value, dict):
        raise Failure(f"{where} is no object")
    if value.get("kind") == "List" and isinstance(value.get("items"), list):
        for item in value["items"]:
            yield from _objects(where, item)
        return
    meta = value.get("metadata")
    name = meta.get("name") if isinstance(meta, dict) else None
    for what, given in (
        ("apiVersion", value.get("apiVersion")),
        ("kind", value.get("kind")),
        ("metadata.name", name),
    ):
        if not isinstance(given, str) or not given:
            raise Failure(f"{where}: {what} is missing")
    yield Manifest(where, value)
