"""Specs of pods, in pods and in templates of them.

Source: "Pods" and the PodSpec of the API reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.kinds.common.addresses import IP
from kubetrio.kinds.common.checks import (
    Causes,
    Check,
    Json,
    between,
    each,
    one_of,
    row,
    table,
)
from kubetrio.kinds.common.formats import (
    LABEL,
    QUALIFIED,
    SUBDOMAIN,
    underscored_subdomain,
)
from kubetrio.kinds.common.quantities import (
    amount_of,
    is_huge_page,
    pod_resource_name,
    requirements,
)
from kubetrio.kinds.common.selectors import annotation_map, label_map
from kubetrio.kinds.core.validation.containers import (
    ContainerContext,
    containers,
    ephemeral_containers,
    init_containers,
)
from kubetrio.kinds.core.validation.podannotations import (
    annotations_and_fields,
    pod_annotations,
)
from kubetrio.kinds.core.validation.scheduling import affinity, tolerations, topology_spread
from kubetrio.kinds.core.validation.security import (
    every_container,
    host_process,
    host_users,
    operating_system,
    pod_security_context,
)
from kubetrio.kinds.core.validation.sums import container_amounts
from kubetrio.kinds.core.validation.volumes import VolumeContext, volumes
from kubetrio.machinery.fielderrors import (
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_long,
)
from kubetrio.machinery.names_validation import byte_length, dns1123_label

_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTIONS = one_of("PreemptLowerPriority", "Never")
_MAX_NAMESERVERS = 3
_MAX_SEARCHES = 32
_MAX_SEARCH_CHARS = 2048
_MAX_HOSTNAME = 64
_MAX_INT32 = 2147483647


# --- parts ---


def _host_ports(spec: Mapping[str, Any], path: str, out: Causes, is_pod: bool) -> None:
    if not spec.get("hostNetwork"):
        return
    for index, container in enumerate(spec.get("containers") or ()):
        for number, port in enumerate(container.get("ports") or ()):
            host, own = port.get("hostPort") or 0, port.get("containerPort") or 0
            if (is_pod or host) and host != own:
                where = f"{path}.containers[{index}].ports[{number}].hostPort"
                detail = "must match `containerPort` when `hostNetwork` is true"
                out.append(invalid(where, host, detail))


def _dns(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    config, where = spec.get("dnsConfig"), f"{path}.dnsConfig"
    if spec.get("dnsPolicy") == "None":
        if config is None:
            detail = "must provide `dnsConfig` when `dnsPolicy` is None"
            out.append(required(where, detail))
            return
        if not config.get("nameservers"):
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            out.append(required(f"{where}.nameservers", detail))
            return
    if config:
        _dns_config(config, where, out)


def _dns_config(config: Json, path: str, out: Causes) -> None:
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if len(servers) > _MAX_NAMESERVERS:
        detail = f"must not have more than {_MAX_NAMESERVERS} nameservers"
        out.append(invalid(f"{path}.nameservers", servers, detail))
    for index, server in enumerate(servers):
        IP(server, f"{path}.nameservers[{index}]", out)
    if len(searches) > _MAX_SEARCHES:
        detail = f"must not have more than {_MAX_SEARCHES} search paths"
        out.append(invalid(f"{path}.searches", searches, detail))
    if byte_length(" ".join(searches)) > _MAX_SEARCH_CHARS:
        detail = (
            f"must not have more than {_MAX_SEARCH_CHARS} characters (including spaces) in the "
            "search list"
        )
        out.append(invalid(f"{path}.searches", searches, detail))
    for index, search in enumerate(searches):
        name = search.removesuffix(".")
        for message in underscored_subdomain(name) if search != "." else ():
            out.append(invalid(f"{path}.searches[{index}]", name, message))
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            out.append(required(f"{path}.options[{index}]", "must not be empty"))


def _resource_claims(
    items: Sequence[Json], path: str, out: Causes, *, mirror: bool = False
) -> None:
    seen: set[str] = set()
    for index, claim in enumerate(items):
        if mirror:
            out.append(forbidden("[]", "static pods do not support resource claims"))
            continue
        where = f"{path}[{index}]"
        name = claim.get("name") or ""
        if not name:
            out.append(required(f"{where}.name"))
        elif name in seen:
            out.append(duplicate(f"{where}.name", name))
        else:
            out.extend(invalid(f"{where}.name", name, text) for text in dns1123_label(name))
        seen.add(name)
        sources = [
            member
            for member in ("resourceClaimName", "resourceClaimTemplateName")
            if claim.get(member) is not None
        ]
        if len(sources) > 1:
            detail = (
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            )
            out.append(invalid(where, _shown_claim(claim), detail))
        if not sources:
            detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            out.append(invalid(where, _shown_claim(claim), detail))
        for member in sources:
            SUBDOMAIN(claim[member], f"{where}.{member}", out)


def _shown_claim(claim: Json) -> Json:
    return {
        "Name": claim.get("name") or "",
        "ResourceClaimName": claim.get("resourceClaimName"),
        "ResourceClaimTemplateName": claim.get("resourceClaimTemplateName"),
    }


def _scheduling_gates(items: Sequence[Json], path: str, out: Causes) -> None:
    seen: set[str] = set()
    for index, gate in enumerate(items):
        name = gate.get("name") or ""
        QUALIFIED(name, f"{path}[{index}]", out)
        if name in seen:
            out.append(duplicate(f"{path}[{index}]", name))
        seen.add(name)


def _aggregates(
    spec: Mapping[str, Any], resources: Mapping[str, Any], path: str, out: Causes
) -> None:
    """What the containers ask for together must fit into what the pod asks for."""
    for side, checked in (("requests", None), ("limits", is_huge_page)):
        own = resources.get(side) or {}
        for name, total in container_amounts(spec, side).items():
            if name not in own or (checked is not None and not checked(name)):
                continue
            if total > amount_of(own[name]):
                detail = f"must be greater than or equal to aggregate container {side} of {total}"
                out.append(invalid(f"{path}.{side}[{name}]", own[name], detail))


def _pod_resources(spec: Mapping[str, Any], path: str, out: Causes, claims: frozenset[str]) -> None:
    resources = spec.get("resources")
    if not resources:
        return
    where = f"{path}.resources"
    if (spec.get("os") or {}).get("name") == "windows":
        out.append(forbidden(where, "may not be set for a windows pod"))
        return
    if resources.get("claims") is not None:
        detail = "claims may not be set for Resources at pod-level"
        out.append(forbidden(f"{where}.claims", detail))
    requirements(resources, where, out, name_check=pod_resource_name, claims=claims)
    _aggregates(spec, resources, where, out)
    limits = resources.get("limits") or {}
    for index, container in enumerate(spec.get("containers") or ()):
        for name, limit in ((container.get("resources") or {}).get("limits") or {}).items():
            if name in limits and amount_of(limit) > amount_of(limits[name]):
                detail = f"must be less than or equal to pod limits of {limits[name]}"
                member = f"{where}.containers[{index}][{name}].limits"
                out.append(invalid(member, limit, detail))


def _overhead(value: Json, path: str, out: Causes) -> None:
    requirements({"limits": value}, path, out)


def _host_alias(value: Json, path: str, out: Causes) -> None:
    IP(value.get("ip") or "", f"{path}.ip", out)
    for index, name in enumerate(value.get("hostnames") or ()):
        SUBDOMAIN(name, f"{path}.hostnames[{index}]", out)


def _readiness_gate(value: Json, path: str, out: Causes) -> None:
    QUALIFIED(value.get("conditionType") or "", f"{path}.conditionType", out)


def _preemption(value: str, path: str, out: Causes) -> None:
    if value:
        _PREEMPTIONS(value, path, out)
    else:
        out.append(required(path))


def _file_volumes(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    """Variables come from files of empty directories only."""
    kinds = {volume.get("name") or "": volume for volume in spec.get("volumes") or ()}
    for container, where in every_container(spec, path):
        for index, item in enumerate(container.get("env") or ()):
            reference = (item.get("valueFrom") or {}).get("fileKeyRef")
            if reference is None:
                continue
            name = reference.get("volumeName") or ""
            at = f"{where}.env[{index}].valueFrom.fileKeyRef.volumeName"
            if name not in kinds:
                out.append(not_found(at, name))
            elif kinds[name].get("emptyDir") is None:
                out.append(invalid(at, name, "referenced volume must be of type emptyDir"))


def _hostname_override(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    name = spec.get("hostnameOverride")
    if name is None:
        return
    where = f"{path}.hostnameOverride"
    for other in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(other):
            out.append(forbidden(where, f"may not be specified when {other} is true"))
    if byte_length(name) > _MAX_HOSTNAME:
        out.append(too_long(where, _MAX_HOSTNAME))
    SUBDOMAIN(name, where, out)


def _optional(name: str, check: Check) -> Check:
    """A check of a member that counts even when it is empty."""

    def run(spec: Mapping[str, Any], path: str, out: Causes) -> None:
        if (value := spec.get(name)) is not None:
            check(value, f"{path}.{name}", out)

    return run


_AFTER_CONTAINERS = table(
    row("restartPolicy", one_of("Always", "OnFailure", "Never"), missing=""),
    row("dnsPolicy", one_of(*_DNS_POLICIES), missing=""),
    row("nodeSelector", label_map),
    pod_security_context,
    row("affinity", affinity),
    _dns,
    row("readinessGates", each(_readiness_gate)),
    row("schedulingGates", _scheduling_gates),
    row("topologySpreadConstraints", topology_spread),
    host_process,
    host_users,
    row("serviceAccountName", SUBDOMAIN),
    row("nodeName", SUBDOMAIN),
    row("activeDeadlineSeconds", between(1, _MAX_INT32)),
    row("hostname", LABEL),
    row("subdomain", LABEL),
    _hostname_override,
    row("tolerations", tolerations),
    row("hostAliases", each(_host_alias)),
    row("priorityClassName", SUBDOMAIN),
    _optional("runtimeClassName", SUBDOMAIN),
    _optional("preemptionPolicy", _preemption),
    row("overhead", _overhead),
    operating_system,
    _file_volumes,
)


# --- whole ---


def pod_spec(
    spec: Mapping[str, Any],
    path: str,
    out: Causes,
    *,
    name: str = "",
    is_pod: bool = False,
    mirror: bool = False,
) -> None:
    """Check the spec of a pod.

    Args:
        spec: the spec.
        path: its path.
        out: receives causes.
        name: name of the pod, empty in a template.
        is_pod: whether it is a pod's own.
        mirror: whether the pod is the image of a static one.
    """
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is None:
        out.append(required(f"{path}.terminationGracePeriodSeconds"))
    good: dict[str, Json] = {}
    if listed := spec.get("volumes"):
        context = VolumeContext(pod_name=name, is_pod=is_pod)
        good = volumes(listed, f"{path}.volumes", out, context)
    claims = spec.get("resourceClaims") or ()
    if claims:
        _resource_claims(claims, f"{path}.resourceClaims", out, mirror=mirror)
    around = ContainerContext(
        volumes=good,
        claims=frozenset(claim["name"] for claim in claims if claim.get("name")),
        grace=grace,
        restart_policy=spec.get("restartPolicy") or "",
        host_users=spec.get("hostUsers") is not False,
    )
    _containers(spec, path, out, around)
    _pod_resources(spec, path, out, around.claims)
    _host_ports(spec, path, out, is_pod)
    _AFTER_CONTAINERS(spec, path, out)


def _containers(spec: Mapping[str, Any], path: str, out: Causes, context: ContainerContext) -> None:
    regular, init = spec.get("containers") or [], spec.get("initContainers") or []
    containers(regular, f"{path}.containers", out, context)
    if init:
        init_containers(init, f"{path}.initContainers", out, context, regular)
    if added := spec.get("ephemeralContainers"):
        where = f"{path}.ephemeralContainers"
        ephemeral_containers(added, where, out, context, [*regular, *init])


def pod_template(template: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check a template of pods.

    Args:
        template: with ``metadata`` and ``spec``.
        path: its path.
        out: receives causes.
    """
    metadata = template.get("metadata") or {}
    spec = template.get("spec") or {}
    label_map(metadata.get("labels") or {}, f"{path}.labels", out)
    if notes := metadata.get("annotations"):
        annotation_map(notes, f"{path}.annotations", out)
        pod_annotations(notes, spec, f"{path}.annotations", out)
    pod_spec(spec, f"{path}.spec", out)
    if notes:
        annotations_and_fields(notes, spec, f"{path}.spec", out)
    if spec.get("ephemeralContainers"):
        detail = "ephemeral containers not allowed in pod template"
        out.append(forbidden(f"{path}.spec.ephemeralContainers", detail))


def only_always(template: Mapping[str, Any], path: str, out: Causes, kind: str) -> None:
    """Check that the pods of a template run for ever.

    Args:
        template: with ``spec``.
        path: its path.
        out: receives causes.
        kind: kind of the owner, for the message.
    """
    spec = template.get("spec") or {}
    restart = spec.get("restartPolicy") or ""
    if restart != "Always":
        out.append(not_supported(f"{path}.spec.restartPolicy", restart, ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        out.append(forbidden(f"{path}.spec.activeDeadlineSeconds", detail))
