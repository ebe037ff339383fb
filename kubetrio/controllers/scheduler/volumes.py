"""What a scheduler knows of volumes: claims, volumes, and when claims of a class are bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from kubetrio.controllers.podcontrol.nodeselector import any_term

Object = dict[str, Any]
SELECTED_NODE = "volume.kubernetes.io/selected-node"
BOUND = "pv.kubernetes.io/bind-completed"
WAITS = "WaitForFirstConsumer"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
ZONES = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)


class ClaimFacts(NamedTuple):
    """What is kept of a PersistentVolumeClaim.

    Args:
        volume: that it names, empty for none.
        bound: whether it has it.
        class_name: of its StorageClass, empty for none.
        node: for which its volume is to be made, empty for none.
        lost: whether its volume is gone.
        deleting: whether it is being deleted.
    """

    volume: str
    bound: bool
    class_name: str
    node: str
    lost: bool
    deleting: bool


class VolumeFacts(NamedTuple):
    """What is kept of a PersistentVolume.

    Args:
        terms: required of its nodes; None for no requirement.
        zones: labels that say in which zones it is.
    """

    terms: list[Object] | None
    zones: Mapping[str, frozenset[str]]

    def allows(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether its node affinity allows a node."""
        return self.terms is None or any_term(self.terms, name, labels)


class ClassFacts(NamedTuple):
    """What is kept of a StorageClass.

    Args:
        waits: whether its claims are bound when a pod uses them.
        provisions: whether volumes are made for them.
    """

    waits: bool
    provisions: bool


@dataclass(frozen=True, slots=True)
class Volumes:
    """All there are.

    Args:
        claims: by namespace and name.
        volumes: by name.
        classes: by name.
        binding: whether a controller binds claims; otherwise unbound ones hold no pod back.
    """

    claims: dict[str, ClaimFacts] = field(default_factory=dict)
    volumes: dict[str, VolumeFacts] = field(default_factory=dict)
    classes: dict[str, ClassFacts] = field(default_factory=dict)
    binding: bool = False


NO_VOLUMES = Volumes()
"""Of a cluster without volumes; it is not changed."""


def claim_facts(value: bytes) -> ClaimFacts:
    """What is kept of a claim.

    Args:
        value: the stored claim.
    """
    claim: Object = orjson.loads(value)
    meta, spec, status = claim["metadata"], claim.get("spec") or {}, claim.get("status") or {}
    annotations = meta.get("annotations") or {}
    volume = spec.get("volumeName") or ""
    return ClaimFacts(
        volume=volume,
        bound=bool(volume) and (BOUND in annotations or status.get("phase") == "Bound"),
        class_name=spec.get("storageClassName") or "",
        node=annotations.get(SELECTED_NODE) or "",
        lost=status.get("phase") == "Lost",
        deleting=bool(meta.get("deletionTimestamp")),
    )


def volume_facts(value: bytes) -> VolumeFacts:
    """What is kept of a volume.

    Args:
        value: the stored volume.
    """
    volume: Object = orjson.loads(value)
    required = ((volume.get("spec") or {}).get("nodeAffinity") or {}).get("required")
    labels = volume["metadata"].get("labels") or {}
    return VolumeFacts(
        None if required is None else list(required.get("nodeSelectorTerms") or ()),
        {key: frozenset(labels[key].split("__")) for key in ZONES if key in labels},
    )


def class_facts(value: bytes) -> ClassFacts:
    """What is kept of a class.

    Args:
        value: the stored class.
    """
    obj: Object = orjson.loads(value)
    return ClassFacts(
        obj.get("volumeBindingMode") == WAITS, obj.get("provisioner") != NO_PROVISIONER
    )
