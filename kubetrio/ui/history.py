"""What happened to objects, for the page: ``/ui/history/`` and a path of the Kubernetes API.

==============================================================  ===================================
``/ui/history/PATH-OF-AN-OBJECT``                               its retained revisions
``/ui/history/PATH-OF-AN-OBJECT?revision=N``                    what revision N brought
``/ui/history/``, ``/ui/history/namespaces/NAME``               changes, the newest first
the same with ``?before=N`` or ``?after=N``                     those below or above revision N
==============================================================  ===================================

Who asks must be allowed to ``get`` the object, or to ``list`` the kind where the change was; kinds
that may not be listed are left out and named.  Objects are shown as they are stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import trio

from kubetrio.api.request import Request, resolve
from kubetrio.audit.lookup import Change, Writers, read_writers
from kubetrio.audit.lookup import Object as About
from kubetrio.auth.authorize import forbidden
from kubetrio.env import RunBlocking
from kubetrio.machinery.identity import MASTERS, Attributes, Decision, Verdict
from kubetrio.machinery.status import bad_request, expired, unknown_path
from kubetrio.observe.logs import Log
from kubetrio.resources.timeline import Entry, entry_of, timeline
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.errors import Compacted, FutureRevision, Unreadable
from kubetrio.store.model import Event, EventType, Range, Revision, Store
from kubetrio.store.past import Past, Retained, past_of
from kubetrio.ui.moments import Moments
from kubetrio.ui.rights import Authorize, Lists, refusals

Object = dict[str, Any]
log = Log("kubetrio.ui")

STEP = 1000
"""Revisions that one answer about changes looks at."""
STEP_BYTES = 4 << 20
BREATH = 16
"""Changes that are told before others have a turn: about a millisecond."""
MOST_STATES = 500
"""Revisions of one object that are told: the newest."""
LOG_BYTES = 4 << 20
"""Of the audit log, from its end."""


class History:
    """The past of one server.

    Args:
        store: where objects are, decrypted.
        registry: what is served.
        authorize: who may do what.
        run_blocking: reads the audit log.
        audit_log: its file, None where there is none that can be read.
        newest: revision after which nothing is told; None where all is.
    """

    def __init__(
        self,
        store: Store,
        registry: LiveRegistry,
        authorize: Authorize,
        run_blocking: RunBlocking,
        audit_log: Path | None,
        *,
        newest: Revision | None = None,
    ) -> None:
        self.newest = newest
        self._store = store
        self._past: Retained | None = past_of(store)
        self._registry = registry
        self._authorize = authorize
        self._run_blocking = run_blocking
        self._audit_log = audit_log
        self._read_log: tuple[tuple[int, int], Writers] | None = None

    @property
    def names_users(self) -> bool:
        """Whether there is an audit log that names users."""
        return self._audit_log is not None

    @property
    def _revision(self) -> Revision:
        """The newest revision that is told."""
        revision = self._store.revision
        return revision if self.newest is None else min(self.newest, revision)

    async def answer(self, request: Request, path: str) -> Object:
        """Return what a path below ``/ui/history/`` tells.

        Args:
            request: for it.
            path: behind that prefix.

        Raises:
            ApiError: 400, 403, 404 or 410.
        """
        match path.split("/"):
            case [""]:
                return await self._changes(request, "")
            case ["namespaces", namespace]:
                return await self._changes(request, namespace)
        key, about = await self._object(request, path)
        revision = request.query.get("revision")
        if revision is not None:
            return await self._state(key, _whole("revision", revision))
        return await self._of_object(key, about)

    async def moment(self, request: Request) -> Object:
        """Return a revision and its time; see `moments`.

        Raises:
            ApiError: 400 or 410.
        """
        return await Moments(self._store, self._past).answer(request, self._revision)

    async def refused(self, request: Request) -> Object:
        """Return what the user may not list in a namespace; see `rights`."""
        lists = Lists(request.user, self._authorize)
        namespace = request.query.get("namespace") or ""
        return {"items": await refusals(self._registry.current, lists, namespace)}

    # ------------------------------------------------------------------ one object

    async def _object(self, request: Request, path: str) -> tuple[str, About]:
        """The key of the object that a path of the API is about, which the user may get.

        Raises:
            ApiError: 403 or 404.
        """
        info = resolve("GET", f"/{path}", {})
        resources = self._registry.current.resources
        kind = resources.get((info.group, info.version, info.resource))
        if not info.is_resource or kind is None or not info.name or info.subresource:
            raise unknown_path()
        own = info.resource == "namespaces" and info.namespace == info.name  # of such a path
        if kind.namespaced is not bool(info.namespace) and not own:
            raise unknown_path()  # rights in a namespace are none to what is in no namespace
        attributes = Attributes(
            user=request.user, verb="get", namespace=info.namespace, api_group=info.group,
            api_version=info.version, resource=info.resource, name=info.name,
        )  # fmt: skip
        if MASTERS not in request.user.groups:
            verdict = self._authorize(attributes)
            if not isinstance(verdict, Verdict):
                verdict = await verdict
            if verdict.decision is not Decision.ALLOW:
                raise forbidden(attributes, verdict.reason)
        about = About(info.group, info.resource, info.namespace, info.name)
        return kind.key(info.namespace, info.name), about

    async def _of_object(self, key: str, about: About) -> Object:
        if self._past is None:
            raise bad_request("this store does not tell the revisions of an object")
        revisions = [
            past for past in await self._past.revisions_of(key) if past.revision <= self._revision
        ][-MOST_STATES:]
        entries = await timeline(revisions, partial(self._read, key))
        users = _users(await self._writers(), {about: entries})
        return {
            "compacted": self._store.compacted,
            "revision": self._revision,
            "items": [_shown(one, users) for one in reversed(entries)],
        }

    async def _read(self, key: str, past: Past) -> Object | None:
        """What a revision brought, of a deletion the last state; None if it cannot be read."""
        await trio.lowlevel.checkpoint()
        try:
            if past.type is EventType.DELETED:
                keys, after = Range.single(key), past.revision - 1
                events, _ = await self._store.events(after=after, keys=keys, max_bytes=1)
                return _decoded(events[0].value)
            at = max(past.revision, self._store.compacted)
            found = await self._store.get(key, at=at)
        except Unreadable:
            return None
        except Compacted:  # meanwhile
            return {}
        return {} if found is None else _decoded(found.value)

    async def _state(self, key: str, revision: int) -> Object:
        try:
            found = await self._store.get(key, at=revision)
        except Compacted:
            raise expired("this revision is not kept any more") from None
        except FutureRevision:
            raise bad_request(f"revision {revision} does not exist yet") from None
        except Unreadable:
            return {"revision": revision, "object": None, "encrypted": True}
        value = None if found is None else _decoded(found.value)
        return {"revision": revision, "object": value}

    # ------------------------------------------------------------------ changes

    async def _changes(self, request: Request, namespace: str) -> Object:
        """Changes up to a revision or after one, the newest first; those of `STEP` revisions."""
        store = self._store
        upto = min(_whole("before", request.query.get("before") or "0") - 1, self._revision)
        upto = self._revision if upto < 0 else upto
        above = _whole("after", request.query.get("after") or "0")
        after = max(upto - STEP, store.compacted, min(above, upto))
        lists = Lists(request.user, self._authorize)
        writers = await self._writers()
        found: list[tuple[Event, Kind, About]] = []
        at = after
        while at < upto:
            try:
                events, at = await store.events(after=at, max_bytes=STEP_BYTES)
            except Compacted:
                raise expired("these revisions are not kept any more") from None
            for event in events:
                about = self._about(event.key)
                if event.revision > upto or about is None:
                    continue
                kind, which = about
                if namespace in ("", which.namespace) and await lists.allows(kind, which.namespace):
                    found.append((event, kind, which))
        dates = await self._dates([event.revision for event, _, _ in found])
        entries: list[tuple[Entry, Kind, About]] = []
        by_object: dict[About, list[Entry]] = {}
        for event, kind, which in found:
            if len(entries) % BREATH == 0:
                await trio.lowlevel.checkpoint()
            entry = _entry(event, dates)
            entries.append((entry, kind, which))
            by_object.setdefault(which, []).append(entry)
        users = _users(writers, by_object)
        items = [_shown(one, users) | _identity(kind, which) for one, kind, which in entries]
        return {
            "compacted": store.compacted,
            "revision": upto,
            "after": after,
            "before": after + 1 if after > store.compacted else 0,
            "items": items[::-1],
            "refused": sorted(lists.refused),
        }

    async def _dates(self, revisions: Sequence[int]) -> dict[int, int]:
        return {} if self._past is None else dict(await self._past.dates(revisions))

    def _about(self, key: str) -> tuple[Kind, About] | None:
        """The object under a key; None for what is no object of the API."""
        kind = self._registry.current.kind_of_key(key)
        if kind is None:
            return None
        namespace, _, name = key.removeprefix(kind.storage_prefix).rpartition("/")
        return kind, About(kind.group, kind.resource, namespace, name)

    async def _writers(self) -> Writers | None:
        if self._audit_log is None:
            return None
        try:
            found = await self._run_blocking(self._audit_log.stat)
            state = found.st_size, found.st_mtime_ns
            if self._read_log is None or self._read_log[0] != state:
                writers = await self._run_blocking(read_writers, self._audit_log, LOG_BYTES)
                self._read_log = state, writers
            return self._read_log[1]
        except OSError as error:
            log.warning("the audit log cannot be read", reason=str(error))
            return None


def _whole(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise bad_request(f"{name} must be a whole number")
    return int(text)


def _decoded(value: bytes) -> Object:
    found: Object = orjson.loads(value)
    return found


def _entry(event: Event, dates: dict[int, int]) -> Entry:
    past = Past(event.revision, event.type, dates.get(event.revision, 0))
    before = None if event.previous is None else _decoded(event.previous)
    return entry_of(past, before, _decoded(event.value))


def _users(writers: Writers | None, objects: Mapping[About, Sequence[Entry]]) -> dict[int, str]:
    """The users of revisions, as far as an audit log tells them."""
    users: dict[int, str] = {}
    if writers is not None:
        for about, entries in objects.items():
            changes = [Change(entry.revision, entry.verb, entry.at_ms) for entry in entries]
            users |= writers.users(about, changes)
    return users


def _shown(entry: Entry, users: Mapping[int, str]) -> Object:
    return {
        "revision": entry.revision,
        "time": entry.time,
        "verb": entry.verb,
        "manager": entry.manager,
        "user": users.get(entry.revision, ""),
        "generation": entry.generation,
        "encrypted": entry.encrypted,
    }


def _identity(kind: Kind, about: About) -> Object:
    return {
        "group": kind.group,
        "version": kind.version,
        "kind": kind.kind,
        "resource": kind.resource,
        "namespace": about.namespace,
        "name": about.name,
    }
