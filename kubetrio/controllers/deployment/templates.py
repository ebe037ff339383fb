"""Which ReplicaSet has the template of a Deployment, and a new one for it.

Source: k8s.io/kubernetes/pkg/controller/deployment (``FindNewReplicaSet``, ``getNewReplicaSet``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubetrio.controllers.deployment.sizes import by_age
from kubetrio.controllers.podcontrol.claims import Controlling
from kubetrio.controllers.podcontrol.hashes import template_hash
from kubetrio.machinery.jsonvalues import copy_json

Object = dict[str, Any]

HASH = "pod-template-hash"
_MOST_NAME = 253


def _plain(template: Object) -> Object:
    """A template without its hash."""
    meta = dict(template.get("metadata") or {})
    labels = {key: value for key, value in (meta.get("labels") or {}).items() if key != HASH}
    meta["labels"] = labels
    return {**template, "metadata": {key: value for key, value in meta.items() if value}}


def same_template(one: Object, two: Object) -> bool:
    """Whether two templates are equal but for the hash."""
    return _plain(one) == _plain(two)


def split(deployment: Object, replica_sets: Sequence[Object]) -> tuple[Object | None, list[Object]]:
    """The oldest ReplicaSet with the template of a Deployment, and all others, oldest first."""
    ordered = by_age(replica_sets)
    template = deployment["spec"]["template"]
    new = next((one for one in ordered if same_template(one["spec"]["template"], template)), None)
    return new, [one for one in ordered if one is not new]


def without_hash(template: Object) -> Object:
    """The template of a ReplicaSet as that of a Deployment."""
    plain: Object = copy_json(_plain(template))
    return plain


def new_replica_set(owner: Controlling) -> Object:
    """A ReplicaSet without pods for a Deployment's template.

    Args:
        owner: the Deployment.
    """
    deployment = owner.obj
    spec, name = deployment["spec"], deployment["metadata"]["name"]
    template: Object = copy_json(spec["template"])
    collisions = (deployment.get("status") or {}).get("collisionCount")
    hash_ = template_hash(template, collisions)
    meta = template.setdefault("metadata", {})
    labels = {**(meta.get("labels") or {}), HASH: hash_}
    meta["labels"] = labels
    selector: Object = copy_json(spec.get("selector") or {})
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), HASH: hash_}
    new_spec: Object = {
        "replicas": 0,
        "minReadySeconds": spec.get("minReadySeconds") or 0,
        "selector": selector,
        "template": template,
    }
    if not new_spec["minReadySeconds"]:
        del new_spec["minReadySeconds"]
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{name[: _MOST_NAME - 1 - len(hash_)]}-{hash_}",
            "namespace": deployment["metadata"]["namespace"],
            "labels": dict(labels),
            "ownerReferences": [owner.reference()],
        },
        "spec": new_spec,
    }
