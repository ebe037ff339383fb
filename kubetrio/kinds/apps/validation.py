"""The apps group: Deployments, ReplicaSets, DaemonSets, StatefulSets, ControllerRevisions.

Source: "Workload Management" in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubetrio.kinds.apps.annotations import ROLLBACK_TO, TEMPLATE_GENERATION
from kubetrio.kinds.common.checks import (
    IMMUTABLE,
    Causes,
    Check,
    Json,
    UpdateCheck,
    Validation,
    go_struct,
    member,
    not_negative,
    one_of,
    same,
)
from kubetrio.kinds.common.formats import (
    LABEL,
    at_most_hundred_percent,
    number_or_percent,
    positive_or_percent,
)
from kubetrio.kinds.common.replicas import (
    at_most_replicas,
    counts,
    not_decremented,
    replica_status,
    scale,
)
from kubetrio.kinds.common.selectors import label_selector, printed
from kubetrio.kinds.core.validation.claims import CLAIM_SPEC, claim_spec_warnings
from kubetrio.kinds.core.validation.podspec import only_always, pod_template
from kubetrio.kinds.core.validation.podwarnings import (
    owner_warnings,
    same_generation,
    template_warnings,
)
from kubetrio.machinery.fielderrors import (
    Named,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kubetrio.machinery.labels import NOTHING, Selector, from_label_selector
from kubetrio.machinery.members import shown_map
from kubetrio.machinery.objectmeta import validate_labels
from kubetrio.machinery.status import Cause
from kubetrio.wire.jsonwire import encode

_MISMATCH = "`selector` does not match template `labels`"
_ROLLING = go_struct(MaxUnavailable=("maxUnavailable", 0), MaxSurge=("maxSurge", 0))
_ROLLING_ORDINALS = go_struct(Partition=("partition", 0), MaxUnavailable=("maxUnavailable", None))
_RETENTION = one_of("Retain", "Delete")
_TEMPLATE = "spec.template"


def _numbers(spec: Mapping[str, Any], names: tuple[str, ...], out: Causes) -> None:
    for name in names:
        value = spec.get(name) or 0
        if value < 0:
            not_negative(value, f"spec.{name}", out)


def selector_of(spec: Mapping[str, Any]) -> Selector | None:
    """The selector of a workload; None when it is not a good one.

    Args:
        spec: with ``selector``.
    """
    if spec.get("selector") is None:
        return NOTHING
    try:
        return from_label_selector(spec["selector"])
    except ValueError:
        return None


def selected_template(spec: Mapping[str, Any], selector: Selector, out: Causes) -> None:
    """Check that a selector selects the pods of the template beside it.

    Args:
        spec: with ``template``.
        selector: the selector.
        out: receives causes.
    """
    meta = member(member(spec, "template"), "metadata")
    if not selector.matches(member(meta, "labels")):
        out.append(invalid(f"{_TEMPLATE}.metadata.labels", shown_map(meta, "labels"), _MISMATCH))


def _selector(spec: Mapping[str, Any], out: Causes, kind: str) -> None:
    selector = spec.get("selector")
    if selector is None:
        out.append(required("spec.selector"))
        return
    label_selector(selector, "spec.selector", out)
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        detail = f"empty selector is invalid for {kind}"
        out.append(invalid("spec.selector", printed(selector), detail))


def _shown_strategy(
    strategy: Mapping[str, Any], rolling: Callable[[Mapping[str, Any]], Json] = _ROLLING
) -> Json:
    given = strategy.get("rollingUpdate")
    shown = None if given is None else rolling(given)
    return {"Type": strategy.get("type") or "", "RollingUpdate": shown}


def _same_selector(new: Json, old: Json, out: Causes) -> None:
    mine = member(new, "spec").get("selector")
    if not same(mine, member(old, "spec").get("selector")):
        out.append(invalid("spec.selector", mine and printed(mine), IMMUTABLE))


def _plainly_selected(selector: Mapping[str, Any] | None, template: Mapping[str, Any]) -> bool:
    """Whether a selector of good labels, and of nothing else, has labels of the template."""
    match_labels = selector.get("matchLabels") if selector else None
    if not match_labels or selector is None or selector.get("matchExpressions"):
        return False
    labels = (template.get("metadata") or {}).get("labels") or {}
    return match_labels.items() <= labels.items() and not validate_labels(match_labels, "")


def _template_for_replicas(spec: Mapping[str, Any], out: Causes) -> None:
    """What Deployments and ReplicaSets ask of their template."""
    template = spec.get("template") or {}
    if not _plainly_selected(spec.get("selector"), template):
        selector = selector_of(spec)
        if selector is None:
            shown = printed(spec["selector"])
            out.append(invalid("spec.selector", shown, "invalid label selector"))
            return
        selected_template(spec, selector, out)
    pod_template(template, _TEMPLATE, out)
    only_always(template, _TEMPLATE, out, "ReplicaSet")


def _daemon_warnings(new: Json, old: Json | None) -> list[str]:
    # the template has a generation of its own, which other changes do not count in
    if old is not None and _template_generation(new) == _template_generation(old):
        return []
    return template_warnings(member(member(new, "spec"), "template"), _TEMPLATE)


def _template_generation(obj: Json) -> Any:
    return member(member(obj, "metadata"), "annotations").get(TEMPLATE_GENERATION)


def _stateful_warnings(new: Json, old: Json | None) -> list[str]:
    spec, warnings = member(new, "spec"), []
    if not same_generation(new, old):
        warnings = template_warnings(member(spec, "template"), _TEMPLATE)
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        # the path is kube-apiserver's, which differs between a new object and a change
        path = f"spec.volumeClaimTemplates[{index}]" + ("" if old is None else ".Spec")
        warnings += claim_spec_warnings(member(claim, "spec"), path)
    if (spec.get("revisionHistoryLimit") or 0) < 0:
        warnings.append(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value "
            ">= 0 is recommended"
        )
    return warnings


# --- deployments ---


def _rolling_deployment(rolling: Mapping[str, Any], path: str, out: Causes) -> None:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    positive_or_percent(unavailable, f"{path}.maxUnavailable", out)
    positive_or_percent(surge, f"{path}.maxSurge", out)
    if not number_or_percent(unavailable) and not number_or_percent(surge):
        detail = "may not be 0 when `maxSurge` is 0"
        out.append(invalid(f"{path}.maxUnavailable", unavailable, detail))
    at_most_hundred_percent(unavailable, f"{path}.maxUnavailable", out)


def _deployment_strategy(strategy: Mapping[str, Any], out: Causes) -> None:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    path = "spec.strategy.rollingUpdate"
    if kind == "Recreate":
        if rolling is not None:
            detail = "may not be specified when strategy `type` is 'Recreate'"
            out.append(forbidden(path, detail))
    elif kind == "RollingUpdate":
        if rolling is None:
            out.append(required(path, "this should be defaulted and never be nil"))
        else:
            _rolling_deployment(rolling, path, out)
    else:
        shown = _shown_strategy(strategy)
        out.append(not_supported("spec.strategy", shown, ("Recreate", "RollingUpdate")))


def _deployment(obj: Json, _path: str, out: Causes) -> None:
    spec = obj.get("spec") or {}
    _numbers(spec, ("replicas",), out)
    _selector(spec, out, "deployment")
    _template_for_replicas(spec, out)
    _deployment_strategy(spec.get("strategy") or {}, out)
    _numbers(spec, ("minReadySeconds", "revisionHistoryLimit"), out)
    back = ((obj.get("metadata") or {}).get("annotations") or {}).get(ROLLBACK_TO)
    if back is not None:
        # the member it stands for in older versions
        not_negative(int(back), "spec.rollback.version", out)
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is None:
        return
    _numbers(spec, ("progressDeadlineSeconds",), out)
    if deadline <= (spec.get("minReadySeconds") or 0):
        detail = "must be greater than minReadySeconds"
        out.append(invalid("spec.progressDeadlineSeconds", deadline, detail))


def _deployment_status(new: Json, old: Json, out: Causes) -> None:
    status = dict(member(new, "status"))
    parts = ("updatedReplicas", "readyReplicas", "availableReplicas")
    more = ("unavailableReplicas", "terminatingReplicas", "observedGeneration", "collisionCount")
    counts(status, ("replicas", *parts, *more), out)
    at_most_replicas(status, parts, out, "cannot be greater than readyReplicas")
    not_decremented(new, old, out)


# --- replica sets ---


def _replica_set(obj: Json, _path: str, out: Causes) -> None:
    spec = member(obj, "spec")
    _numbers(spec, ("replicas", "minReadySeconds"), out)
    _selector(spec, out, "deployment")
    _template_for_replicas(spec, out)


# --- daemon sets ---


def _rolling_daemons(rolling: Mapping[str, Any], path: str, out: Causes) -> None:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    for check in (positive_or_percent, at_most_hundred_percent):
        check(unavailable, f"{path}.maxUnavailable", out)
        check(surge, f"{path}.maxSurge", out)
    if number_or_percent(unavailable) and number_or_percent(surge):
        detail = "may not be set when maxUnavailable is non-zero"
        out.append(invalid(f"{path}.maxSurge", surge, detail))
    elif not number_or_percent(unavailable) and not number_or_percent(surge):
        out.append(required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))


def _daemon_strategy(strategy: Mapping[str, Any], out: Causes) -> None:
    kind = strategy.get("type") or ""
    path = "spec.updateStrategy.rollingUpdate"
    if kind == "RollingUpdate":
        rolling = strategy.get("rollingUpdate")
        if rolling is None:
            out.append(required(path))
        else:
            _rolling_daemons(rolling, path, out)
    elif kind != "OnDelete":
        shown = _shown_strategy(strategy)
        out.append(not_supported("spec.updateStrategy", shown, ("RollingUpdate", "OnDelete")))


def _daemon_set(obj: Json, _path: str, out: Causes) -> None:
    spec = member(obj, "spec")
    selector = spec.get("selector")
    label_selector(selector, "spec.selector", out)
    compiled = selector_of(spec)
    if compiled is not None:
        selected_template(spec, compiled, out)
        if compiled.empty:
            detail = "empty selector is invalid for daemonset"
            out.append(invalid("spec.selector", printed(selector or {}), detail))
    template = member(spec, "template")
    pod_template(template, _TEMPLATE, out)
    only_always(template, _TEMPLATE, out, "DaemonSet")
    _numbers(spec, ("minReadySeconds",), out)
    _daemon_strategy(member(spec, "updateStrategy"), out)
    _numbers(spec, ("revisionHistoryLimit",), out)


def _daemon_status(new: Json, old: Json, out: Causes) -> None:
    names = (
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    )
    counts(dict(member(new, "status")), names, out)
    not_decremented(new, old, out)


# --- stateful sets ---

_STATEFUL_MUTABLE = frozenset(
    {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    }
)
_FROM_CONTROLLER = frozenset({"hostname", "subdomain"})
_STATEFUL_FORBIDDEN = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
    "'minReadySeconds' are forbidden"
)


def _stateful_strategy(strategy: Mapping[str, Any], out: Causes) -> None:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    path = "spec.updateStrategy"
    if not kind:
        out.append(required(path))
    elif kind == "OnDelete":
        if rolling is not None:
            shown = _ROLLING_ORDINALS(rolling)
            detail = "only allowed for updateStrategy 'RollingUpdate'"
            out.append(invalid(f"{path}.rollingUpdate", shown, detail))
    elif kind != "RollingUpdate":
        detail = "must be 'RollingUpdate' or 'OnDelete'"
        out.append(invalid(path, _shown_strategy(strategy, _ROLLING_ORDINALS), detail))
    elif rolling is not None:
        not_negative(rolling.get("partition") or 0, f"{path}.rollingUpdate.partition", out)
        unavailable = rolling.get("maxUnavailable")
        where = f"{path}.rollingUpdate.maxUnavailable"
        if unavailable is None:
            return
        positive_or_percent(unavailable, where, out)
        if not number_or_percent(unavailable):
            out.append(invalid(where, unavailable, "cannot be 0"))
        at_most_hundred_percent(unavailable, where, out)


def _as_controlled(spec: Mapping[str, Any]) -> Json:
    """The template with what the controller makes of it.

    Host name and subdomain are the controller's, so what the template says is not checked; the
    volumes that the claim templates become stand in front.
    """
    template: Json = spec.get("template") or {}
    claims = spec.get("volumeClaimTemplates") or ()
    names = dict.fromkeys(member(claim, "metadata").get("name") or "" for claim in claims)
    pod = dict(member(template, "spec"))
    if not names and not pod.keys() & _FROM_CONTROLLER:
        return template
    for name in _FROM_CONTROLLER:
        pod.pop(name, None)
    if names:
        volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
        volumes += [item for item in pod.get("volumes") or () if item.get("name") not in names]
        pod["volumes"] = volumes
    return {**template, "spec": pod}


def _stateful_template(spec: Mapping[str, Any], out: Causes, *, pods: bool) -> None:
    selector = selector_of(spec)
    if selector is None:
        out.append(invalid("spec.selector", printed(spec["selector"]), ""))
    else:
        selected_template(spec, selector, out)
        if pods:
            pod_template(_as_controlled(spec), _TEMPLATE, out)
    only_always(member(spec, "template"), _TEMPLATE, out, "StatefulSet")


def _stateful_spec(spec: Mapping[str, Any], out: Causes, *, pods: bool = True) -> None:
    policy = spec.get("podManagementPolicy") or ""
    if not policy:
        out.append(required("spec.podManagementPolicy"))
    elif policy not in ("OrderedReady", "Parallel"):
        detail = "must be 'OrderedReady' or 'Parallel'"
        out.append(invalid("spec.podManagementPolicy", Named(policy), detail))
    _stateful_strategy(member(spec, "updateStrategy"), out)
    retention = spec.get("persistentVolumeClaimRetentionPolicy")
    if retention is not None:
        for name in ("whenDeleted", "whenScaled"):
            where = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
            _RETENTION(retention.get(name) or "", where, out)
    _numbers(spec, ("replicas", "minReadySeconds"), out)
    ordinals = member(spec, "ordinals")
    not_negative(ordinals.get("start") or 0, "spec.ordinals.start", out)
    _selector(spec, out, "statefulset")
    _stateful_template(spec, out, pods=pods)


def _stateful_set(obj: Json, _path: str, out: Causes) -> None:
    spec = member(obj, "spec")
    _stateful_spec(spec, out)
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        CLAIM_SPEC(member(claim, "spec"), f"spec.volumeClaimTemplates[{index}].spec", out)
    if name := spec.get("serviceName"):
        LABEL(name, "spec.serviceName", out)


def _stateful_update(new: Json, old: Json, out: Causes) -> None:
    mine, theirs = member(new, "spec"), member(old, "spec")
    causes: Causes = []
    _stateful_spec(mine, causes)
    before: Causes = []
    if causes:
        _stateful_spec(theirs, before)
    if before:
        # templates were not checked once, and what was stored then may change as it is
        causes = []
        _stateful_spec(mine, causes, pods=False)
    out.extend(causes)
    names = (mine.keys() | theirs.keys()) - _STATEFUL_MUTABLE
    if not all(same(mine.get(name), theirs.get(name)) for name in names):
        out.append(forbidden("spec", _STATEFUL_FORBIDDEN))


def _stateful_status(new: Json, old: Json, out: Causes) -> None:
    status = dict(member(new, "status"))
    parts = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    counts(status, ("replicas", *parts, "observedGeneration", "collisionCount"), out)
    at_most_replicas(status, parts, out, "cannot be greater than status.readyReplicas")
    not_decremented(new, old, out)


# --- controller revisions ---


def _revision(obj: Json, _path: str, out: Causes) -> None:
    not_negative(obj.get("revision") or 0, "revision", out)
    data = obj.get("data")
    if data is None:
        out.append(required("data", "data is mandatory"))
    elif not isinstance(data, dict):
        out.append(required("data", "data must be a valid JSON object"))


def _revision_update(new: Json, old: Json, out: Causes) -> None:
    not_negative(new.get("revision") or 0, "revision", out)
    # The data is bytes to the server: another order of members is another value.
    wanted, was = encode(new.get("data")), encode(old.get("data"))
    if wanted != was:
        message = f"Invalid value: {wanted.decode()}: {IMMUTABLE}"
        out.append(Cause("FieldValueInvalid", message, "data"))


def _scaled(create: Check, status: UpdateCheck) -> Validation:
    """Rules of what has replicas."""
    return Validation(
        create=create,
        update=_same_selector,
        subresources={"status": status, "scale": scale},
        warnings=owner_warnings,
    )


DEPLOYMENTS = _scaled(_deployment, _deployment_status)
REPLICASETS = _scaled(_replica_set, replica_status("cannot be greater than readyReplicas"))
DAEMONSETS = Validation(
    create=_daemon_set,
    update=_same_selector,
    subresources={"status": _daemon_status},
    warnings=_daemon_warnings,
)
STATEFULSETS = Validation(
    create=_stateful_set,
    update=_stateful_update,
    revalidate=False,
    subresources={"status": _stateful_status, "scale": scale},
    warnings=_stateful_warnings,
)
CONTROLLERREVISIONS = Validation(create=_revision, update=_revision_update, revalidate=False)
