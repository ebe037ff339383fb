"""The table of the core group (pods have their own) and its small kinds.

Source: "Namespaces", "ReplicationController" and "Service Accounts" in the documentation of
Kubernetes.
"""

from __future__ import annotations

from kubetrio.kinds.common.checks import (
    Causes,
    Json,
    Validation,
    member,
    not_negative,
)
from kubetrio.kinds.common.replicas import replica_status, scale
from kubetrio.kinds.core.validation.podspec import only_always, pod_template
from kubetrio.kinds.core.validation.podwarnings import controller_warnings
from kubetrio.machinery.fielderrors import invalid, required
from kubetrio.machinery.members import shown_map
from kubetrio.machinery.names_validation import qualified_name

_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"
_NO_FINALIZER = "name is neither a standard finalizer name nor is it fully qualified"


# --- namespaces ---


def _finalizer(name: str, path: str, out: Causes) -> None:
    out.extend(invalid(path, name, message) for message in qualified_name(name))
    if "/" not in name and name not in _FINALIZERS:
        out.append(invalid(path, name, _NO_FINALIZER))


def _namespace(obj: Json, _path: str, out: Causes) -> None:
    for name in member(obj, "spec").get("finalizers") or ():
        _finalizer(name, "spec.finalizers", out)


def _finalize(new: Json, _: Json, out: Causes) -> None:
    for index, name in enumerate(member(new, "spec").get("finalizers") or ()):
        _finalizer(name, f"spec.finalizers[{index}]", out)


def _phase(new: Json, _: Json, out: Causes) -> None:
    phase = member(new, "status").get("phase") or ""
    deleted = bool(member(new, "metadata").get("deletionTimestamp"))
    if phase != ("Terminating" if deleted else "Active"):
        detail = (
            "may only be 'Terminating' if `deletionTimestamp` is not empty"
            if deleted
            else "may only be 'Active' if `deletionTimestamp` is empty"
        )
        out.append(invalid("status.Phase", phase, detail))


# --- service accounts ---


def _account_warnings(new: Json, old: Json | None) -> list[str]:
    """A warning about an old way to keep secrets apart, for who starts it."""
    enforces = _MOUNTABLE in member(member(new, "metadata"), "annotations")
    if not enforces or _MOUNTABLE in member(member(old, "metadata"), "annotations"):
        return []
    return [
        (
            f"metadata.annotations[{_MOUNTABLE}]: deprecated in v1.32+; prefer separate namespaces "
            "to isolate access to mounted secrets"
        )
    ]


# --- replication controllers ---


def _controller(obj: Json, _path: str, out: Causes) -> None:
    spec = member(obj, "spec")
    for name in ("minReadySeconds", "replicas"):
        not_negative(spec.get(name) or 0, f"spec.{name}", out)
    selector = spec.get("selector") or {}
    if not selector:
        out.append(required("spec.selector"))
    template = spec.get("template")
    if template is None:
        out.append(required("spec.template"))
        return
    meta = member(template, "metadata")
    if not selector.items() <= member(meta, "labels").items():
        detail = "`selector` does not match template `labels`"
        out.append(invalid("spec.template.metadata.labels", shown_map(meta, "labels"), detail))
    pod_template(template, "spec.template", out)
    only_always(template, "spec.template", out, "ReplicationController")


NAMESPACES = Validation(
    create=_namespace,
    revalidate=False,
    subresources={"status": _phase, "finalize": _finalize},
)
SERVICEACCOUNTS = Validation(warnings=_account_warnings)
REPLICATIONCONTROLLERS = Validation(
    create=_controller,
    subresources={
        "status": replica_status("cannot be greater than readyReplicas"),
        "scale": scale,
    },
    warnings=controller_warnings,
)
