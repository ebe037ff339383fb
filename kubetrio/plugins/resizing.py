"""PersistentVolumeClaimResize: claims grow only where their class says that volumes can.

Source: docs "Persistent Volumes" (expanding persistent volumes claims).
"""

from __future__ import annotations

from typing import Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.lookup import Lookup
from kubetrio.admission.plugin import Base, about, denied
from kubetrio.machinery import quantity
from kubetrio.plugins.classes import CLAIMS, OLD_STORAGE_CLASS

Object = dict[str, Any]


def _size(claim: Object) -> quantity.Quantity:
    resources = (claim.get("spec") or {}).get("resources") or {}
    return quantity.from_json((resources.get("requests") or {}).get("storage") or "0")


def _class_name(claim: Object) -> str:
    annotations = claim["metadata"].get("annotations") or {}
    name = annotations.get(OLD_STORAGE_CLASS)
    if name is None:
        name = (claim.get("spec") or {}).get("storageClassName")
    return str(name or "")


class PersistentVolumeClaimResize(Base):
    """The plugin.

    Args:
        lookup: reads storage classes.
    """

    name = "PersistentVolumeClaimResize"
    resources = frozenset({CLAIMS})
    operations = frozenset({Operation.UPDATE})

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    async def validate(self, attributes: Attributes) -> None:
        """Refuse growth of claims that are not bound, or whose class does not allow it."""
        claim, old = about(attributes, CLAIMS), attributes.old
        if claim is None or old is None or not _size(claim) > _size(old):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise denied(attributes, "Only bound persistent volume claims can be expanded")
        name = _class_name(claim)
        storage_class = (await self._lookup.all("storageclasses")).get(name)
        same = bool(name) and name == _class_name(old)
        if storage_class is None or not same or not storage_class.get("allowVolumeExpansion"):
            raise denied(
                attributes,
                "only dynamically provisioned pvc can be resized and the storageclass that "
                "provisions the pvc must support resize",
            )
