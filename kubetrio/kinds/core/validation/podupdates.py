"""Which changes to pods are allowed, directly and through subresources.

Source: "Pod update and replacement" and "Resize CPU and Memory Resources assigned to Containers"
in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.kinds.common.checks import Causes, Json, same
from kubetrio.kinds.common.differences import difference
from kubetrio.kinds.common.selectors import printed_term
from kubetrio.kinds.core.validation.podannotations import MIRROR
from kubetrio.kinds.core.validation.scheduling import tolerations
from kubetrio.kinds.core.validation.sums import quality_of_service
from kubetrio.machinery.fielderrors import forbidden, invalid, quote, required

_UPDATABLE = (
    "`spec.containers[*].image`",
    "`spec.initContainers[*].image`",
    "`spec.activeDeadlineSeconds`",
    "`spec.tolerations` (only additions to existing tolerations)",
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
)
_MAX_INT32 = 2147483647
_REQUIRED_TERMS = "requiredDuringSchedulingIgnoredDuringExecution"
_RESTART = "RestartContainer"
_RESIZABLE = ("cpu", "memory")
_ONLY_COMPUTE = "only cpu and memory resources are mutable"
_ONLY_COMPUTE_EARLY = "only cpu and memory resources for init or sidecar containers are mutable"
_RESTARTED = f"non-sidecar init containers with a resize policy of {_RESTART} cannot be resized"


def _spec(pod: Mapping[str, Any]) -> Json:
    return pod.get("spec") or {}


def _equal(one: Json, two: Json) -> bool:
    return all(same(one.get(name), two.get(name)) for name in one.keys() | two.keys())


# --- update ---


def update_pod(new: Json, old: Json, out: Causes) -> None:
    """Check a change to a pod: images, deadlines, tolerations, gates and little else.

    Args:
        new: the pod as it would be stored.
        old: the pod as it is stored.
        out: receives causes.
    """
    mine, theirs = _spec(new), _spec(old)
    for name in ("containers", "initContainers"):
        if not _images(mine.get(name) or (), theirs.get(name) or (), f"spec.{name}", out):
            return
    if not _deadline(mine, theirs, out):
        return
    _tolerations(mine.get("tolerations") or [], theirs.get("tolerations") or [], out)
    _gates(mine.get("schedulingGates") or (), theirs.get("schedulingGates") or (), out)
    if mine == theirs:
        return
    masked = _masked(mine, theirs)
    if theirs.get("schedulingGates"):
        _while_gated(masked, theirs, out)
    if not _equal(masked, theirs):
        detail = f"pod updates may not change fields other than {','.join(_UPDATABLE)}\n"
        out.append(forbidden("spec", detail + difference(theirs, masked)))


def _images(mine: Sequence[Json], theirs: Sequence[Json], path: str, out: Causes) -> bool:
    if len(mine) != len(theirs):
        out.append(forbidden(path, "pod updates may not add or remove containers"))
        return False
    for index, container in enumerate(mine):
        image = container.get("image") or ""
        where = f"{path}[{index}].image"
        if not image:
            out.append(required(where))
        if image.strip() != image:
            out.append(invalid(where, image, "must not have leading or trailing whitespace"))
    return True


def _deadline(mine: Json, theirs: Json, out: Causes) -> bool:
    path = "spec.activeDeadlineSeconds"
    seconds, before = mine.get("activeDeadlineSeconds"), theirs.get("activeDeadlineSeconds")
    if seconds is None:
        if before is not None:
            detail = "must not update from a positive integer to nil value"
            out.append(invalid(path, None, detail))
        return True
    if not 0 <= seconds <= _MAX_INT32:
        out.append(invalid(path, seconds, f"must be between 0 and {_MAX_INT32}, inclusive"))
        return False
    if before is not None and before < seconds:
        out.append(invalid(path, seconds, "must be less than or equal to previous value"))
        return False
    return True


def _without_seconds(toleration: Json) -> Json:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def _tolerations(mine: list[Json], theirs: list[Json], out: Causes) -> None:
    if mine == theirs:
        return
    present = [_without_seconds(item) for item in mine]
    if any(_without_seconds(item) not in present for item in theirs):
        detail = "existing toleration can not be modified except its tolerationSeconds"
        out.append(forbidden("spec.tolerations", detail))
        return
    tolerations(mine, "spec.tolerations", out)


def _gates(mine: Sequence[Json], theirs: Sequence[Json], out: Causes) -> None:
    known = {gate.get("name") for gate in theirs}
    for index, gate in enumerate(mine):
        name = gate.get("name")
        if name not in known:
            detail = f"only deletion is allowed, but found new scheduling gate '{name}'"
            out.append(forbidden(f"spec.schedulingGates[{index}].name", detail))


def _masked(mine: Json, theirs: Json) -> Json:
    """The new spec with the changes that are allowed undone."""
    masked = dict(mine)
    for name in ("containers", "initContainers"):
        if name in masked:
            pairs = zip(mine.get(name) or (), theirs.get(name) or (), strict=False)
            masked[name] = [{**one, "image": two.get("image")} for one, two in pairs]
    for name in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        masked[name] = theirs.get(name)
        if masked[name] is None:
            del masked[name]
    grace = theirs.get("terminationGracePeriodSeconds")
    if (grace or 0) < 0 and mine.get("terminationGracePeriodSeconds") == 1:
        masked["terminationGracePeriodSeconds"] = grace
    return masked


def _while_gated(masked: Json, theirs: Json, out: Causes) -> None:
    """What may change until the scheduler sees the pod; undone in ``masked``."""
    mine, before = masked.get("nodeSelector") or {}, theirs.get("nodeSelector") or {}
    if any(mine.get(key) != value for key, value in before.items()):
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        out.append(invalid("spec.nodeSelector", mine or None, detail))
    masked["nodeSelector"] = theirs.get("nodeSelector")
    old = theirs.get("affinity") or {}
    new = masked.get("affinity") or {}
    if new.get("nodeAffinity") != old.get("nodeAffinity"):
        _node_affinity(new.get("nodeAffinity") or {}, old.get("nodeAffinity") or {}, out)
        undone = {**new, "nodeAffinity": old.get("nodeAffinity")}
        kept = {name: value for name, value in undone.items() if value}
        masked["affinity"] = kept or theirs.get("affinity")


def _node_affinity(mine: Json, theirs: Json, out: Causes) -> None:
    before = (theirs.get(_REQUIRED_TERMS) or {}).get("nodeSelectorTerms") or []
    after = (mine.get(_REQUIRED_TERMS) or {}).get("nodeSelectorTerms") or []
    path = f"spec.affinity.nodeAffinity.{_REQUIRED_TERMS}.nodeSelectorTerms"
    if before and len(before) != len(after):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        out.append(invalid(path, [printed_term(term) for term in after] or None, detail))
        return
    for index, (new, old) in enumerate(zip(after, before, strict=False)):
        if not _only_added(new, old):
            detail = "only additions are allowed (no mutations or deletions)"
            out.append(invalid(f"{path}[{index}]", printed_term(new), detail))


def _only_added(new: Json, old: Json) -> bool:
    lists = [(new.get(name) or [], old.get(name) or []) for name in _TERM_LISTS]
    if not any(theirs for _, theirs in lists):
        return not any(mine for mine, _ in lists)
    return all(mine[: len(theirs)] == theirs for mine, theirs in lists)


_TERM_LISTS = ("matchExpressions", "matchFields")


# --- subresources ---


def _is_mirror(pod: Json) -> bool:
    return MIRROR in ((pod.get("metadata") or {}).get("annotations") or ())


def update_ephemeral(new: Json, old: Json, out: Causes) -> None:
    """Check a write to ``ephemeralcontainers``: what is there stays as it is.

    Args:
        new: the pod as it would be stored.
        old: the pod as it is stored.
        out: receives causes; replaced when the pod can have no such containers.
    """
    if _is_mirror(old):
        out[:] = [forbidden("[]", "static pods do not support ephemeral containers")]
        return
    path = "spec.ephemeralContainers"
    present = {item.get("name"): item for item in _spec(new).get("ephemeralContainers") or ()}
    for container in _spec(old).get("ephemeralContainers") or ():
        name = container.get("name") or ""
        subject = f"existing ephemeral containers {quote(name)} may not be"
        if name not in present:
            out.append(forbidden(path, f"{subject} removed\n"))
        elif present[name] != container:
            detail = f"{subject} changed\n{difference(container, present[name])}"
            out.append(forbidden(path, detail))


def update_resources(new: Json, old: Json, out: Causes) -> None:
    """Check a write to ``resize``: only CPU and memory, and the same quality of service.

    Args:
        new: the pod as it would be stored.
        old: the pod as it is stored.
        out: receives causes; replaced when the pod cannot be resized at all.
    """
    mine, theirs = _spec(new), _spec(old)
    if _is_mirror(old):
        out[:] = [forbidden("[]", "static pods cannot be resized")]
        return
    if (theirs.get("os") or {}).get("name") == "windows":
        out[:] = [forbidden("[]", "windows pods cannot be resized")]
        return
    status = old.get("status") or {}
    before = status.get("qosClass") or quality_of_service(theirs)
    if before != quality_of_service(mine):
        detail = "Pod QOS Class may not change as a result of resizing"
        shown = (new.get("status") or {}).get("qosClass") or ""
        out.append(invalid("spec", shown, detail))
    if not _node_resizes(status):
        out.append(forbidden("spec", "Pod running on node without support for resize"))
    if _has_amounts(mine) or _has_amounts(theirs):
        _resize_whole(mine, theirs, out)
    if not _same_order(mine, theirs, out):
        return
    for name in ("initContainers", "containers"):
        pairs = zip(mine.get(name) or (), theirs.get(name) or (), strict=True)
        for index, (one, two) in enumerate(pairs):
            path = f"spec.{name}[{index}].resources"
            _not_removed(one.get("resources") or {}, two.get("resources") or {}, path, out)
    restored = _restored(mine, theirs, out)
    if not out and not _equal(restored, theirs):
        out.append(forbidden("spec", _ONLY_COMPUTE))


def _node_resizes(status: Json) -> bool:
    for container in status.get("containerStatuses") or ():
        if (container.get("state") or {}).get("running") is not None:
            return container.get("resources") is not None
    return True


def _not_removed(mine: Json, theirs: Json, path: str, out: Causes, what: str = "") -> None:
    for side in ("requests", "limits"):
        if (theirs.get(side) or {}).keys() - (mine.get(side) or {}).keys():
            out.append(forbidden(f"{path}.{side}", f"{what}resource {side} cannot be removed"))


def _has_amounts(spec: Json) -> bool:
    resources = spec.get("resources") or {}
    return bool(resources.get("requests") or resources.get("limits"))


def _resize_whole(mine: Json, theirs: Json, out: Causes) -> None:
    """Resources of a pod as a whole may change, and stay."""
    new, old = mine.get("resources"), theirs.get("resources")
    if old is not None and new is None:
        out.append(forbidden("spec.resources", "pod-level resources cannot be removed"))
        return
    _not_removed(new or {}, old or {}, "spec.resources", out, "pod-level ")
    if not _equal(_without_compute(mine, theirs)["resources"], old or {}):
        out.append(forbidden("spec", "only cpu and memory resources are mutable at pod-level"))


def _same_order(mine: Json, theirs: Json, out: Causes) -> bool:
    before = len(out)
    for name in ("containers", "initContainers"):
        new = [container.get("name") for container in mine.get(name) or ()]
        old = [container.get("name") for container in theirs.get(name) or ()]
        if len(new) != len(old):
            detail = f"{name} may not be added or removed on resize"
            out.append(forbidden(f"spec.{name}", detail))
            continue
        detail = f"{name} may not be renamed or reordered on resize"
        out.extend(
            forbidden(f"spec.{name}[{index}].name", detail)
            for index, (one, two) in enumerate(zip(new, old, strict=True))
            if one != two
        )
    return len(out) == before


def _without_compute(holder: Json, before: Json, *, claims: bool = True) -> Json:
    """A container or a spec with the CPU and memory that it had, maybe without its claims."""
    resources, old = holder.get("resources") or {}, before.get("resources") or {}
    out = {"claims": resources["claims"]} if claims and resources.get("claims") else {}
    for side in ("requests", "limits"):
        amounts = {
            name: value
            for name, value in (resources.get(side) or {}).items()
            if name not in _RESIZABLE
        }
        had = old.get(side) or {}
        amounts.update((name, had[name]) for name in _RESIZABLE if name in had)
        if amounts:
            out[side] = amounts
    return {**holder, "resources": out}


def _restored(mine: Json, theirs: Json, out: Causes) -> Json:
    """The new spec without its changes to CPU and memory; tells of other changes."""
    restored = _without_compute(mine, theirs)
    restored["resources"] = restored["resources"] or None
    for name in ("containers", "initContainers"):
        pairs = zip(mine.get(name) or (), theirs.get(name) or (), strict=False)
        restored[name] = [
            _restored_container(one, two, "" if name == "containers" else f"{name}[{index}]", out)
            for index, (one, two) in enumerate(pairs)
        ]
    return restored


def _restored_container(mine: Json, theirs: Json, place: str, out: Causes) -> Json:
    """One of its containers; the place of an init container."""
    # upstream forgets the claims of the new container, so that one with claims cannot be resized
    if not _equal(_without_compute(mine, theirs, claims=False), _complete(theirs)):
        path, detail = (f"spec.{place}", _ONLY_COMPUTE_EARLY) if place else ("spec", _ONLY_COMPUTE)
        out.append(forbidden(path, detail))
    if place and theirs.get("restartPolicy") != "Always" and not _equal(mine, theirs):
        policies = [item.get("restartPolicy") for item in mine.get("resizePolicy") or ()]
        refused = policies.count(_RESTART)
        out.extend(forbidden(f"spec.{place}", _RESTARTED) for _ in range(refused))
    return theirs


def _complete(container: Json) -> Json:
    return {**container, "resources": container.get("resources") or {}}
