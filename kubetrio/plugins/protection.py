"""StorageObjectInUseProtection: what is in use is not deleted under its users.

Source: docs "Persistent Volumes" (storage object in use protection); KEP-3751.
"""

from __future__ import annotations

from kubetrio.admission.attributes import Attributes
from kubetrio.admission.plugin import Base
from kubetrio.machinery.names import GroupResource

FINALIZERS = {
    GroupResource("", "persistentvolumeclaims"): "kubernetes.io/pvc-protection",
    GroupResource("", "persistentvolumes"): "kubernetes.io/pv-protection",
    GroupResource("storage.k8s.io", "volumeattributesclasses"): "kubernetes.io/vac-protection",
}


class StorageObjectInUseProtection(Base):
    """Puts a finalizer on new claims, volumes and volume classes."""

    name = "StorageObjectInUseProtection"
    resources = frozenset(FINALIZERS)

    async def mutate(self, attributes: Attributes) -> None:
        """Add the finalizer."""
        finalizer = FINALIZERS.get(attributes.resource.group_resource)
        if finalizer is None or attributes.subresource or attributes.obj is None:
            return
        meta = attributes.obj["metadata"]
        present = list(meta.get("finalizers") or ())
        if finalizer not in present:
            meta["finalizers"] = [*present, finalizer]
