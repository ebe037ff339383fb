"""What plugins share: a base that has no opinion, refusals, order of members."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError, forbidden
from kubetrio.observe import prometheus
from kubetrio.schema.structural_shapes import struct

Object = dict[str, Any]

POD_SPEC = "io.k8s.api.core.v1.PodSpec"


class Base:
    """A plugin that does nothing; others override what they do.

    Attributes:
        resources: of the only resources it has an opinion on; None for all.
        about_own: whether it is asked about what the server writes for itself.  Plugins whose
            opinion is an object that users write are not: no policy may keep a server from
            starting, and who wrote a bad one must be able to take it back.
    """

    name = ""
    resources: frozenset[GroupResource] | None = None
    operations: frozenset[Operation] = frozenset({Operation.CREATE})
    about_own: bool = True

    def families(self) -> Iterable[prometheus.Metric]:
        """What it counts itself, as metrics: nothing."""
        return ()

    async def mutate(self, attributes: Attributes) -> None:
        """Change nothing."""

    async def validate(self, attributes: Attributes) -> None:
        """Refuse nothing."""


def about(attributes: Attributes, *resources: GroupResource) -> Object | None:
    """The object of a write of one of these resources, None for subresources and all else."""
    if attributes.subresource or attributes.resource.group_resource not in resources:
        return None
    return attributes.obj


def denied(attributes: Attributes, why: str) -> ApiError:
    """403 in a plugin's words."""
    name = attributes.name
    if not name and attributes.obj is not None:
        meta = attributes.obj.get("metadata") or {}
        name = meta.get("name") or meta.get("generateName") or ""
    return forbidden(attributes.resource.group_resource, name or "Unknown", why)


def put(obj: Object, member: str, type_name: str, **values: Any) -> None:
    """Set members of a struct inside an object, and keep it in the order of its Go declaration.

    Args:
        obj: what holds the struct; changed.
        member: where it holds it.
        type_name: full name of the struct's type.
        **values: members to set.
    """
    merged = {**(obj.get(member) or {}), **values}
    obj[member] = {key: merged[key] for key in struct(type_name).fields if key in merged}
