"""ControllerRevisions: the templates that a workload had, each with a number.

Source: k8s.io/kubernetes/pkg/controller/history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import orjson

from kubetrio.controllers.controller import Context
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.podcontrol.claims import (
    Claimable,
    Controlling,
    adopted,
    claims,
)
from kubetrio.informers.informer import Informer, Item
from kubetrio.kinds.core.pods.digests import owner_of
from kubetrio.machinery.jsonvalues import copy_json, without_nulls
from kubetrio.machinery.labels import Selector
from kubetrio.machinery.status import ApiError
from kubetrio.resources.writes import DeleteOptions, Target

Object = dict[str, Any]

HASH = "controller.kubernetes.io/hash"
_MOST_PREFIX = 223
_OWNED = "owned"
_ESCAPED = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def template_data(template: Object) -> Object:
    """What a revision holds of a template: a patch that puts it back.

    Args:
        template: as stored.
    """
    kept: Object = copy_json(template)
    return {"spec": {"template": {**kept, "$patch": "replace"}}}


def data_text(data: Object) -> bytes:
    """The data as Go prints it, which is what hashes are made from."""
    text = orjson.dumps(data, option=orjson.OPT_SORT_KEYS).decode()
    for letter, escaped in _ESCAPED.items():
        text = text.replace(letter, escaped)
    return text.encode()


def template_in(revision: Object) -> Object:
    """The template that a revision holds."""
    template = ((revision.get("data") or {}).get("spec") or {}).get("template") or {}
    plain: Object = without_nulls(template)
    return {key: value for key, value in plain.items() if key != "$patch"}


def number_of(revision: Object) -> int:
    """The number of a revision."""
    return int(revision.get("revision") or 0)


def in_order(revisions: Iterable[Object]) -> list[Object]:
    """Revisions by number, age and name."""

    def key(one: Object) -> tuple[int, str, str]:
        meta = one["metadata"]
        return number_of(one), meta.get("creationTimestamp") or "", meta["name"]

    return sorted(revisions, key=key)


def next_number(revisions: list[Object]) -> int:
    """The number of the next revision, of those in order."""
    return number_of(revisions[-1]) + 1 if revisions else 1


def name_of(owner: str, found: str) -> str:
    """The name of a revision with a hash."""
    return f"{owner[:_MOST_PREFIX]}-{found}"


class NewRevision(NamedTuple):
    """A revision that is not stored yet.

    Args:
        name: of it.
        labels: of it.
        annotations: of it.
        data: that it holds.
        number: of it.
    """

    name: str
    labels: dict[str, str]
    annotations: dict[str, str]
    data: Object
    number: int

    def for_owner(self, owner: Controlling) -> Object:
        """The object."""
        meta: Object = {
            "name": self.name,
            "namespace": owner.meta["namespace"],
            "labels": dict(self.labels),
            "annotations": dict(self.annotations),
            "ownerReferences": [owner.reference()],
        }
        return {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {key: value for key, value in meta.items() if value},
            # Others compare bytes, and Go prints keys in order.
            "data": orjson.loads(orjson.dumps(self.data, option=orjson.OPT_SORT_KEYS)),
            "revision": self.number,
        }


def _owned_by(item: Item) -> tuple[str]:
    """The uid of the controller, or the namespace of an orphan."""
    meta = item.object["metadata"]
    owner = owner_of(meta)
    return (owner.uid if owner is not None else f"/{meta['namespace']}",)


class Revisions:
    """Reads and writes the revisions of one kind of owners.

    Args:
        context: what controllers are made of.
        informer: of ControllerRevisions.
        account: service account of the controller.
    """

    def __init__(self, context: Context, informer: Informer, account: str) -> None:
        self._kind = context.registry.resources["apps", "v1", "controllerrevisions"]
        self._operations = context.operations
        self._who = as_service_account(account)
        self._informer = informer
        informer.indexer.add_index(_OWNED, _owned_by)

    async def of(self, owner: Controlling, selector: Selector) -> list[Object]:
        """The revisions of an owner in order; orphans that it selects are adopted.

        Raises:
            ApiError: one cannot be adopted.
            StoreError: the same.
        """
        index = self._informer.indexer
        meta = owner.meta
        own = index.by_index(_OWNED, meta["uid"])
        orphans = index.by_index(_OWNED, f"/{meta['namespace']}")

        def look(one: Object) -> Claimable:
            described = one["metadata"]
            matches = selector.matches(described.get("labels") or {})
            return Claimable(owner_of(described), bool(described.get("deletionTimestamp")), matches)

        ownership = claims(owner, [item.object for item in (*own, *orphans)], look)
        held = list(ownership.held)
        for one in ownership.adopt:
            reference, uid = owner.reference(), one["metadata"]["uid"]

            def adopt(old: Object, uid: str = uid, reference: Object = reference) -> Object:
                return adopted(old, uid, reference)

            held.append(await self._patch(one, adopt))
        return in_order(held)

    async def _patch(self, one: Object, make: Callable[[Object], Object]) -> Object:
        target = Target(self._kind, one["metadata"]["namespace"], one["metadata"]["name"])
        await self._operations.patch(target, make, self._who)
        return self.named(target.namespace, target.name) or one

    def named(self, namespace: str, name: str) -> Object | None:
        """A revision by its name."""
        return self._informer.lister.get(name, namespace)

    async def create(self, owner: Controlling, new: NewRevision) -> Object:
        """Store a revision; returns it.

        Raises:
            ApiError: 409 where another one has its name; what else a write says.
            StoreError: it cannot be stored.
        """
        target = Target(self._kind, owner.meta["namespace"])
        body = new.for_owner(owner)
        await self._operations.create(target, body, self._who)
        return self.named(target.namespace, new.name) or body

    async def renumber(self, revision: Object, number: int) -> Object:
        """Give a revision another number; returns it.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same.
        """
        return await self._patch(revision, lambda old: {**old, "revision": number})

    async def label(self, revision: Object, key: str, value: str) -> Object:
        """Give a revision a label; see `renumber`."""

        def made(old: Object) -> Object:
            labels = {**(old["metadata"].get("labels") or {}), key: value}
            return {**old, "metadata": {**old["metadata"], "labels": labels}}

        return await self._patch(revision, made)

    async def delete(self, revision: Object) -> None:
        """Delete a revision, if it is there.

        Raises:
            ApiError: it cannot be deleted.
            StoreError: the same.
        """
        meta = revision["metadata"]
        target = Target(self._kind, meta["namespace"], meta["name"])
        try:
            await self._operations.delete(target, DeleteOptions(), self._who)
        except ApiError as error:
            if error.code != 404:
                raise
