"""Reads and writes the scale of what an autoscaler names.

Source: docs "Workloads" (scale subresource); k8s.io/client-go/scale.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from kubetrio.controllers.controller import Context
from kubetrio.kinds.autoscaling.scale import (
    SCALE,
    UNSET,
    owners_of_scale,
    places_of,
    scale_of,
    with_scale,
)
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError, internal_error, not_found
from kubetrio.resources.conversion import from_stored
from kubetrio.resources.writes import Target, WriteOptions
from kubetrio.schema.kind import Kind

Object = dict[str, Any]


class NoScale(Exception):
    """There is no scale; the text says why."""


class Scaled(NamedTuple):
    """What is scaled.

    Args:
        kind: of it.
        desired: replicas that are wanted.
        actual: replicas that there are.
        selector: of its pods as text, or empty.
    """

    kind: Kind
    desired: int
    actual: int
    selector: str


class Scaling:
    """Reads and writes scales.

    Args:
        context: of the controller.
        who: writes.
    """

    def __init__(self, context: Context, who: WriteOptions) -> None:
        self._registry = context.registry
        self._store = context.informers.store
        self._operations = context.operations
        self._who = who

    def resource_of(self, api_version: str, kind: str) -> GroupResource | None:
        """The resource of objects with an apiVersion and a kind, None for unknown ones."""
        kinds = self._kinds(api_version.rpartition("/")[0], kind)
        return kinds[0].group_resource if kinds else None

    def _kinds(self, group: str, name: str) -> list[Kind]:
        """The versions of a kind, the preferred one first."""
        snapshot = self._registry.current
        return [
            kind
            for version in snapshot.groups.get(group, ())
            for kind in snapshot.resources.values()
            if (kind.group, kind.version, kind.kind) == (group, version, name)
        ]

    async def read(self, namespace: str, reference: Object) -> Scaled:
        """The scale of an object.

        Args:
            namespace: of the object.
            reference: ``scaleTargetRef``.

        Raises:
            NoScale: there is none.
            StoreError: it cannot be read.
        """
        group, name = _group(reference), reference["kind"]
        kinds = self._kinds(group, name)
        if not kinds:
            raise NoScale(f"no matches for kind {quote(name)} in group {quote(group)}")
        kind = next((one for one in kinds if "scale" in one.subresources), None)
        if kind is None:
            raise NoScale("the server could not find the requested resource")
        stored = await self._store.get(kind.key(namespace, reference["name"]))
        if stored is None:
            raise NoScale(not_found(kind.group_resource, reference["name"]).message)
        paths = kind.subresources["scale"].replicas
        try:
            (obj,) = await from_stored(kind, [orjson.loads(stored.value)])
            scale = scale_of(obj, paths)
        except (ApiError, ValueError) as error:
            raise NoScale(str(error)) from error
        replicas = scale["spec"].get("replicas") or 0
        if replicas == UNSET and paths is not None:
            where = f"the spec replicas field {quote(paths.wanted)} does not exist"
            raise NoScale(internal_error(where).message)
        status = scale["status"]
        return Scaled(kind, replicas, status["replicas"], status.get("selector", ""))

    async def write(self, scaled: Scaled, namespace: str, name: str, replicas: int) -> None:
        """Give an object another number of replicas.

        Args:
            scaled: what `read` said of it.
            namespace: of the object.
            name: of the object.
            replicas: how many.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same.
        """
        kind = scaled.kind
        paths = kind.subresources["scale"].replicas
        target = Target(kind, namespace, name, "scale")
        fields = self._operations.fields(Target(SCALE, namespace, name, "scale"), self._who)

        async def changed(obj: Object | None) -> Object:
            if obj is None:
                raise not_found(kind.group_resource, name)
            scale = scale_of(obj, paths)
            if owners := owners_of_scale(
                obj["metadata"].get("managedFields") or (), places_of(kind)
            ):
                scale["metadata"]["managedFields"] = owners
            new = {
                **scale,
                "metadata": {
                    key: value
                    for key, value in scale["metadata"].items()
                    if key != "resourceVersion"
                },
                "spec": {"replicas": replicas} if replicas else {},
            }
            fields.updated(scale, new)
            new = await self._operations.mutate_shown(target, new, scale, self._who)
            return with_scale(obj, new, kind)

        def shown(obj: Object) -> Object:
            return scale_of(obj, paths)

        options = self._who._replace(shown=shown)
        await self._operations.change(target, changed, options, uid_is_precondition=False)


def _group(reference: Object) -> str:
    return str(reference.get("apiVersion") or "").rpartition("/")[0]
