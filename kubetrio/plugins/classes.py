"""Default classes: claims and ingresses that name none get the one that is marked.

Source: docs "Storage Classes", "Ingress" (default ingress class).
"""

from __future__ import annotations

from kubetrio.admission.attributes import Attributes
from kubetrio.admission.lookup import Lookup, newest_default
from kubetrio.admission.plugin import Base, about, put
from kubetrio.machinery.names import GroupResource

CLAIMS = GroupResource("", "persistentvolumeclaims")
INGRESSES = GroupResource("networking.k8s.io", "ingresses")
OLD_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
OLD_INGRESS_CLASS = "kubernetes.io/ingress.class"
DEFAULT_STORAGE = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
DEFAULT_INGRESS = ("ingressclass.kubernetes.io/is-default-class",)


class DefaultStorageClass(Base):
    """The plugin.

    Args:
        lookup: reads storage classes.
    """

    name = "DefaultStorageClass"
    resources = frozenset({CLAIMS})

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    async def mutate(self, attributes: Attributes) -> None:
        """Name the default class in a claim that leaves it open; the empty name is a choice."""
        claim = about(attributes, CLAIMS)
        if claim is None or (claim.get("spec") or {}).get("storageClassName") is not None:
            return
        if OLD_STORAGE_CLASS in (claim["metadata"].get("annotations") or {}):
            return
        default = newest_default(await self._lookup.all("storageclasses"), DEFAULT_STORAGE)
        if default is not None:
            kind = "io.k8s.api.core.v1.PersistentVolumeClaimSpec"
            put(claim, "spec", kind, storageClassName=default["metadata"]["name"])


class DefaultIngressClass(Base):
    """The plugin.

    Args:
        lookup: reads ingress classes.
    """

    name = "DefaultIngressClass"
    resources = frozenset({INGRESSES})

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    async def mutate(self, attributes: Attributes) -> None:
        """Name the default class in an ingress that leaves it open."""
        ingress = about(attributes, INGRESSES)
        if ingress is None or (ingress.get("spec") or {}).get("ingressClassName") is not None:
            return
        if OLD_INGRESS_CLASS in (ingress["metadata"].get("annotations") or {}):
            return
        default = newest_default(await self._lookup.all("ingressclasses"), DEFAULT_INGRESS)
        if default is not None:
            kind = "io.k8s.api.networking.v1.IngressSpec"
            put(ingress, "spec", kind, ingressClassName=default["metadata"]["name"])
