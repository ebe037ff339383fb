"""What kinds with replicas share: counts in a status, and the Scale.

Source: the ReplicaSetStatus and the Scale of the API reference.
"""

from __future__ import annotations

from kubetrio.kinds.common.checks import (
    NOT_NEGATIVE,
    Causes,
    Json,
    UpdateCheck,
    member,
    not_negative,
)
from kubetrio.machinery.fielderrors import invalid


def counts(status: Json, names: tuple[str, ...], out: Causes) -> None:
    """Check that numbers of a status are not negative.

    Args:
        status: the status.
        names: its members that are numbers.
        out: receives causes.
    """
    for name in names:
        value = status.get(name) or 0
        if value < 0:
            out.append(invalid(f"status.{name}", value, NOT_NEGATIVE))


def at_most_replicas(status: Json, names: tuple[str, ...], out: Causes, detail: str) -> None:
    """Check that counts are not over ``replicas``, nor the available ones over the ready ones.

    Args:
        status: the status.
        names: its members that count some of the replicas.
        out: receives causes.
        detail: what to say of more available than ready ones.
    """
    total = status.get("replicas") or 0
    for name in names:
        value = status.get(name) or 0
        if value > total:
            text = "cannot be greater than status.replicas"
            out.append(invalid(f"status.{name}", value, text))
    available, ready = status.get("availableReplicas") or 0, status.get("readyReplicas") or 0
    if available > ready:
        out.append(invalid("status.availableReplicas", available, detail))


def not_decremented(new: Json, old: Json, out: Causes) -> None:
    """Check that the count of hash collisions does not fall.

    Args:
        new: the object as it would be stored.
        old: the object as it is stored.
        out: receives causes.
    """
    mine = member(new, "status").get("collisionCount")
    theirs = member(old, "status").get("collisionCount")
    if theirs is not None and (mine is None or mine < theirs):
        out.append(invalid("status.collisionCount", mine or 0, "cannot be decremented"))


def replica_status(detail: str) -> UpdateCheck:
    """A check of a write to the status of a ReplicaSet or ReplicationController.

    Args:
        detail: what to say of more available than ready replicas.
    """
    parts = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")

    def run(new: Json, _: Json, out: Causes) -> None:
        status = dict(member(new, "status"))
        counts(status, ("replicas", *parts, "terminatingReplicas", "observedGeneration"), out)
        at_most_replicas(status, parts, out, detail)

    return run


def scale(new: Json, _: Json, out: Causes) -> None:
    """Check a Scale.

    Args:
        new: the Scale, or the object scaled.
        out: receives causes.
    """
    not_negative(member(new, "spec").get("replicas") or 0, "spec.replicas", out)
