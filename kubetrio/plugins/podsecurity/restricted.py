"""Controls that are restricted beyond the baseline; see `podsecuritybaseline`."""

from __future__ import annotations

from typing import Any

from kubetrio.plugins.podsecurity.baseline import added_capabilities, seccomp_profile_baseline
from kubetrio.plugins.podsecurity.parts import Violation, context_of, listed, setters, uses, where

Object = dict[str, Any]

VOLUMES = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)
OTHER_VOLUMES = frozenset(
    {
        "hostPath",
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "gitRepo",
        "nfs",
        "iscsi",
        "glusterfs",
        "rbd",
        "flexVolume",
        "cinder",
        "cephfs",
        "flocker",
        "fc",
        "azureFile",
        "vsphereVolume",
        "quobyte",
        "azureDisk",
        "photonPersistentDisk",
        "portworxVolume",
        "scaleIO",
        "storageos",
    }
)


def allow_privilege_escalation(pod: Object) -> Violation | None:
    """Processes get no more privileges than their parents."""
    containers = where(pod, lambda context: context.get("allowPrivilegeEscalation") is not False)
    if not containers:
        return None
    return Violation(
        "allowPrivilegeEscalation != false",
        f"{listed('container', containers)} must set "
        "securityContext.allowPrivilegeEscalation=false",
    )


def capabilities_restricted(pod: Object) -> Violation | None:
    """All capabilities are dropped; ports below 1024 may be had back."""

    def keeps(context: Object) -> bool:
        return "ALL" not in ((context.get("capabilities") or {}).get("drop") or ())

    keeping = where(pod, keeps)
    adding = added_capabilities(pod, {"NET_BIND_SERVICE"})
    why: list[str] = []
    if keeping:
        who = listed("container", keeping)
        why.append(f'{who} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        why.append(adding)
    return Violation("unrestricted capabilities", "; ".join(why)) if why else None


def restricted_volumes(pod: Object) -> Violation | None:
    """Volumes are of kinds that the cluster provides."""
    names: list[str] = []
    kinds: set[str] = set()
    for volume in pod["spec"].get("volumes") or ():
        sources = {member for member, value in volume.items() if value is not None}
        if not sources & VOLUMES:
            names.append(volume["name"])
            kinds.add(min(sources & OTHER_VOLUMES, default="unknown"))
    if not names:
        return None
    what = listed("restricted volume type", sorted(kinds))
    return Violation("restricted volume types", f"{listed('volume', names)} {uses(names)} {what}")


def run_as_non_root(pod: Object) -> Violation | None:
    """Every container says, or its pod does, that it is not root."""
    of_pod = context_of(pod["spec"]).get("runAsNonRoot")
    who = setters(
        of_pod is False,
        where(pod, lambda context: context.get("runAsNonRoot") is False),
    )
    reason = "runAsNonRoot != true"
    if who:
        return Violation(reason, f"{who} must not set securityContext.runAsNonRoot=false")
    silent = where(pod, lambda context: context.get("runAsNonRoot") is None)
    if of_pod or not silent:
        return None
    why = f"pod or {listed('container', silent)} must set securityContext.runAsNonRoot=true"
    return Violation(reason, why)


def run_as_user(pod: Object) -> Violation | None:
    """No container asks to be root."""

    def root(context: Object) -> bool:
        return context.get("runAsUser") == 0

    who = setters(root(context_of(pod["spec"])), where(pod, root))
    return Violation("runAsUser=0", f"{who} must not set runAsUser=0") if who else None


def seccomp_profile_restricted(pod: Object) -> Violation | None:
    """Every container has a seccomp profile, or its pod has."""
    refused = seccomp_profile_baseline(pod)
    if refused is not None or context_of(pod["spec"]).get("seccompProfile") is not None:
        return refused
    silent = where(pod, lambda context: context.get("seccompProfile") is None)
    if not silent:
        return None
    return Violation(
        "seccompProfile",
        f"pod or {listed('container', silent)} must set securityContext.seccompProfile.type "
        'to "RuntimeDefault" or "Localhost"',
    )
