"""Kinds whose conversion waits, as with a conversion webhook: a made-up one, and built-in ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import trio

from kubetrio.machinery.names import GroupVersionKind
from kubetrio.machinery.status import ApiError
from kubetrio.schema.kind import Conversion, Family, Kind, KindParts, PlainParts, Subresource

Object = dict[str, Any]

GROUP, STORED, OTHER = "example.com", "v1", "v2"
VERBS = frozenset(
    {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
)
MEMBERS = {STORED: "size", OTHER: "length"}
"""What the only member of the spec is called in each version."""


def refused(why: str) -> ApiError:
    """What a conversion webhook of the kind answers that cannot do it."""
    return ApiError(500, "", f"conversion webhook for example.com/v1, Kind=Thing failed: {why}")


class Webhook:
    """Converts objects, as slowly and as badly as a test likes.

    Args:
        change: an object in another version.

    Attributes:
        calls: numbers of objects, call by call.
        seconds: how long a call takes, on Trio's clock.
        under_way: calls that have not returned.
        refuses: why an object is refused, or empty.
        mangle: what becomes of the answer.
    """

    def __init__(self, change: Callable[[Object, Kind], Object] | None = None) -> None:
        self._change = change or _thing_in_version
        self.calls: list[int] = []
        self.seconds = 0.0
        self.under_way = 0
        self.refuses: Callable[[Object], str] = lambda _: ""
        self.mangle: Callable[[list[Object]], list[Object]] = lambda answer: answer

    async def __call__(self, objects: Sequence[Object], to: Kind) -> Sequence[Object]:
        """See `WaitingConvert`."""
        self.calls.append(len(objects))
        self.under_way += 1
        try:
            await trio.sleep(self.seconds)
        finally:
            self.under_way -= 1
        for obj in objects:
            if why := self.refuses(obj):
                raise refused(why)
        return self.mangle([self._change(obj, to) for obj in objects])


def _thing_in_version(obj: Object, to: Kind) -> Object:
    spec = dict.fromkeys([MEMBERS[to.version]], *(obj.get("spec") or {}).values())
    meta = obj["metadata"]
    annotations = {**(meta.get("annotations") or {}), "shown-as": to.version}
    return {
        "kind": to.kind,
        "apiVersion": to.api_version,
        # But for labels and annotations, what a conversion says of metadata counts for nothing.
        "metadata": {**meta, "annotations": annotations, "generation": 77},
        "spec": spec,
    }


class _Waiting:
    """Parts of a kind, but for its conversion."""

    def __init__(self, parts: KindParts, webhook: Webhook) -> None:
        self.strategy, self.rules, self.printer = parts.strategy, parts.rules, parts.printer
        self.object_type, self.selectors = parts.object_type, parts.selectors
        self.migrate_stored = parts.migrate_stored
        self._webhook = webhook

    def conversion(self, _: Kind) -> Conversion:
        """See `KindParts`."""
        return Conversion.awaited(self._webhook)


def waiting_twins(kind: Kind, webhook: Webhook) -> list[Kind]:
    """A built-in kind in all its versions, in which its own conversion has to be waited for.

    Args:
        kind: in a version that is not the stored one.
        webhook: converts, as the kind does by itself.
    """
    if kind.family is None:
        raise ValueError("it has one version")
    family = Family()
    return [
        family.add(replace(each, family=family, parts=_Waiting(each.parts, webhook)))
        for each in kind.family.versions.values()
    ]


def webhook_of(kind: Kind) -> Webhook:
    """What converts as a built-in kind does by itself, between this version and the stored one."""
    stored = kind.stored_as
    return Webhook(
        lambda obj, to: (kind.to_stored if to.group_version == stored else kind.from_stored)(obj)
    )


def things(webhook: Webhook) -> tuple[Kind, Kind]:
    """The kind in the version in which it is stored, and in the other one.

    Args:
        webhook: converts between them.
    """
    family, parts = Family(), _Waiting(PlainParts(), webhook)

    def thing(version: str) -> Kind:
        gvk = GroupVersionKind(GROUP, version, "Thing")
        return family.add(
            Kind(
                group=GROUP,
                version=version,
                resource="things",
                kind="Thing",
                singular="thing",
                namespaced=True,
                verbs=VERBS,
                storage_prefix="/registry/example.com/things/",
                family=family,
                subresources={
                    "status": Subresource(
                        name="status", kind=gvk, verbs=frozenset({"get", "patch", "update"})
                    )
                },
                parts=parts,
            )
        )

    return thing(STORED), thing(OTHER)
