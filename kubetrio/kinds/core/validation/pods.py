"""The rules of pods, of bindings and of templates of pods.

Source: "Pods" in the Kubernetes documentation and the API reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.kinds.common.addresses import ip_warnings
from kubetrio.kinds.common.checks import (
    Causes,
    Json,
    UpdateCheck,
    Validation,
    member,
    row,
    table,
)
from kubetrio.kinds.core.validation.containers import only_in_pods
from kubetrio.kinds.core.validation.podannotations import (
    MIRROR,
    annotation_changes,
    annotations_and_fields,
    pod_annotations,
)
from kubetrio.kinds.core.validation.podspec import pod_spec, pod_template
from kubetrio.kinds.core.validation.podstatus import update_status
from kubetrio.kinds.core.validation.podupdates import (
    update_ephemeral,
    update_pod,
    update_resources,
)
from kubetrio.kinds.core.validation.podwarnings import (
    hostname_warnings,
    same_generation,
    template_warnings,
)
from kubetrio.machinery.fielderrors import forbidden, not_supported, required


def _annotations(pod: Mapping[str, Any]) -> Mapping[str, str]:
    return member(member(pod, "metadata"), "annotations")


def _pod(pod: Json, out: Causes) -> None:
    """What a pod must be at any time."""
    spec = member(pod, "spec")
    if notes := _annotations(pod):
        pod_annotations(notes, spec, "metadata.annotations", out)
    name = member(pod, "metadata").get("name") or ""
    pod_spec(spec, "spec", out, name=name, is_pod=True, mirror=MIRROR in _annotations(pod))
    if not spec.get("serviceAccountName"):
        _no_tokens(spec, out)
    only_in_pods(spec.get("containers") or (), "spec.containers", out)
    only_in_pods(spec.get("initContainers") or (), "spec.initContainers", out)


def _no_tokens(spec: Mapping[str, Any], out: Causes) -> None:
    for index, volume in enumerate(spec.get("volumes") or ()):
        for number, source in enumerate(member(volume, "projected").get("sources") or ()):
            if source.get("serviceAccountToken") is not None:
                where = f"spec.volumes[{index}].projected.sources[{number}].serviceAccountToken"
                detail = "must not be specified when serviceAccountName is not set"
                out.append(forbidden(where, detail))


def _create(pod: Json, _path: str, out: Causes) -> None:
    _pod(pod, out)
    spec = member(pod, "spec")
    if spec.get("ephemeralContainers"):
        out.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        detail = "cannot be set until all schedulingGates have been cleared"
        out.append(forbidden("spec.nodeName", detail))
    if notes := _annotations(pod):
        annotations_and_fields(notes, spec, "spec", out)


def _annotation_changes(new: Json, old: Json, out: Causes) -> None:
    mine, theirs = _annotations(new), _annotations(old)
    annotation_changes(mine, theirs, member(new, "spec"), "metadata.annotations", out)


def _changed(check: UpdateCheck) -> UpdateCheck:
    """A change of a pod: it is still a good one, its annotations are, and the change is."""

    def run(new: Json, old: Json, out: Causes) -> None:
        _pod(new, out)
        _annotation_changes(new, old, out)
        check(new, old, out)

    return run


def _status(new: Json, old: Json, out: Causes) -> None:
    _annotation_changes(new, old, out)
    update_status(new, old, out)


def binding(value: Json, _path: str, out: Causes) -> None:
    """Check a Binding: to a node, by its name.

    Args:
        value: the Binding.
        out: receives causes.
    """
    target = member(value, "target")
    kind = target.get("kind") or ""
    if kind not in ("", "Node"):
        out.append(not_supported("target.kind", kind, ("Node", "<empty>"), named=False))
    if not target.get("name"):
        out.append(required("target.name"))


def _warnings(new: Json, old: Json | None) -> list[str]:
    # updates of pods are frequent and seldom made by people
    return hostname_warnings(new, owner=False) + template_warnings(new) if old is None else []


def _status_warnings(pod: Json) -> list[str]:
    status = member(pod, "status")
    return [
        text
        for name in ("podIPs", "hostIPs")
        for index, item in enumerate(status.get(name) or ())
        for text in ip_warnings(item.get("ip") or "", f"status.{name}[{index}].ip")
    ]


_BINDING = Validation(create=binding, revalidate=False)


def _template_warnings(new: Json, old: Json | None) -> list[str]:
    if same_generation(new, old):
        return []
    return template_warnings(member(new, "template"), "template")


PODS = Validation(
    create=_create,
    update=_changed(update_pod),
    revalidate=False,
    subresources={
        "status": _status,
        "ephemeralcontainers": _changed(update_ephemeral),
        "resize": _changed(update_resources),
        "binding": lambda new, _, out: binding(new, "", out),
    },
    warnings=_warnings,
    status_warnings=_status_warnings,
)
BINDINGS = _BINDING
PODTEMPLATES = Validation(
    create=table(row("template", pod_template, zero={})),
    warnings=_template_warnings,
)
