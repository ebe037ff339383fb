"""How the kinds differ in life: rows of data, read by `lifecycle`.

The facts come from ``schemas/behaviours.json`` (what a kube-apiserver was seen to do) and
``schemas/names.json``; only what those files cannot say is written here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from kubetrio.machinery.names_validation import NAME_CHECKS
from kubetrio.schema import builtin
from kubetrio.schema.registry import ResourceType


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """Rules of one resource.

    Args:
        name_rule: class of valid names, as in ``schemas/names.json``.
        generation: whether new objects have a ``metadata.generation``.
        generation_counts: whether changes of the spec count in it; where new objects have none,
            the first change makes one.
        generation_metadata: members of metadata whose changes count too.
        status: whether ``status`` is written only through its subresource.
        create_on_update: whether PUT to a missing name creates.
        unconditional_update: whether an update may leave out the resourceVersion.
        returns_deleted: whether DELETE answers with the object instead of a Status.
        collected: whether dependents are looked after; if not, propagation policies do nothing.
        orphan_by_default: whether dependents stay when no propagation policy is given.
        orphan_warning: what to tell a client that left the policy out, or empty.
        graceful: whether deletion waits for a kubelet.
        standard_finalizers: whether finalizers without a domain must be standard ones.
    """

    name_rule: str = "dns1123Subdomain253"
    generation: bool = False
    generation_counts: bool = False
    generation_metadata: tuple[str, ...] = ()
    status: bool = False
    create_on_update: bool = False
    unconditional_update: bool = True
    returns_deleted: bool = False
    collected: bool = True
    orphan_by_default: bool = False
    orphan_warning: str = ""
    graceful: bool = False
    standard_finalizers: bool = True


NOT_COLLECTED = frozenset({("", "events"), ("events.k8s.io", "events")})
ORPHAN_BY_DEFAULT = frozenset({("batch", "jobs"), ("", "replicationcontrollers")})
ORPHAN_WARNINGS = {
    ("batch", "jobs"): (
        "child pods are preserved by default when jobs are deleted; set "
        "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress "
        "this warning"
    )
}
GRACEFUL = frozenset({("", "pods")})
FREE_FINALIZERS = frozenset(
    {
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "coordination.k8s.io",
        "node.k8s.io",
        "policy",
    }
)
# Not probed, known from what they answer.
GENERATION_GROUPS = frozenset({"admissionregistration.k8s.io"})
GENERATION_METADATA = {
    ("apps", "deployments"): ("annotations",),
    ("discovery.k8s.io", "endpointslices"): ("labels",),
}
# What can change of these does not count.
GENERATION_FIXED = frozenset({("scheduling.k8s.io", "priorityclasses")})
# Only a change gives these a generation.
GENERATION_OF_CHANGES = frozenset({("storage.k8s.io", "csidrivers")})
# Kinds whose own updates write their status too.
STATUS_WRITTEN_BY_ALL = frozenset({("networking.k8s.io", "servicecidrs")})
# Seen with a finalizer in the way, so the recording says nothing about what they return.
RETURNS_DELETED = frozenset({("", "pods")})


def collection_path(resource: ResourceType) -> str:
    """Path of a collection without a namespace: the key of the fact files."""
    root = f"/apis/{resource.group}" if resource.group else "/api"
    return f"{root}/{resource.version}/{resource.resource}"


def _builtin_strategy(path: str) -> Strategy:
    behaviour = builtin.load("behaviours").get(path, {})
    names = builtin.load("names").get(path, {})
    rule = names.get("class", "")
    deletion = behaviour.get("delete", [200, "Status", False])
    return Strategy(
        # "special" and "other" names are checked with the kind's own validation
        name_rule=rule if rule in NAME_CHECKS else "dns1123Subdomain253",
        generation="generationDeltaOnLabelChange" in behaviour
        or "generationDeltaOnSpecChange" in behaviour,
        create_on_update=behaviour.get("putMissing") == 201,
        unconditional_update=behaviour.get("putWithoutResourceVersion", 200) == 200,
        returns_deleted=deletion[1] != "Status" and deletion[2] is False,
    )


@cache
def strategy_of(resource: ResourceType) -> Strategy:
    """The strategy of a resource."""
    group = resource.group
    key = (group, resource.resource)
    base = _builtin_strategy(collection_path(resource))
    generation = base.generation or group in GENERATION_GROUPS
    return replace(
        base,
        status="status" in resource.subresources and key not in STATUS_WRITTEN_BY_ALL,
        collected=key not in NOT_COLLECTED,
        orphan_by_default=key in ORPHAN_BY_DEFAULT,
        orphan_warning=ORPHAN_WARNINGS.get(key, ""),
        graceful=key in GRACEFUL,
        standard_finalizers=group not in FREE_FINALIZERS,
        generation=generation,
        generation_counts=(generation or key in GENERATION_OF_CHANGES)
        and key not in GENERATION_FIXED,
        generation_metadata=GENERATION_METADATA.get(key, ()),
        returns_deleted=base.returns_deleted or key in RETURNS_DELETED,
    )
