"""Containers of pods: regular, init and ephemeral ones.

Source: "Containers", "Init Containers", "Sidecar Containers" and "Ephemeral Containers" in the
Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubetrio.kinds.common.checks import (
    Causes,
    Json,
    matches,
    one_of,
    row,
    table,
)
from kubetrio.kinds.common.formats import (
    LABEL,
    PORT_NUMBER,
    config_key,
    env_name,
    no_backsteps,
    port_name,
)
from kubetrio.kinds.common.quantities import requirements
from kubetrio.kinds.core.validation.downward import ENV_FIELDS, field_ref, resource_field_ref
from kubetrio.kinds.core.validation.handlers import lifecycle, probes
from kubetrio.kinds.core.validation.mounts import mounts
from kubetrio.kinds.core.validation.security import security_context
from kubetrio.machinery.fielderrors import (
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_many,
)
from kubetrio.machinery.names_validation import dns1123_label, dns1123_subdomain

PROTOCOLS = ("SCTP", "TCP", "UDP")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_RESTARTS = ("Always", "Never", "OnFailure")
_RESIZABLE = ("cpu", "memory")
_RESIZE_RESTARTS = ("NotRequired", "RestartContainer")
_RULE_ACTION = one_of("Restart", "RestartAllContainers")
_RULE_OPERATOR = one_of("In", "NotIn")
_MAX_RULES = 20
_MAX_EXIT_CODES = 255
_NOT_ALWAYS = "may not be set for init containers without restartPolicy=Always"
_NO_RESTART = "must not be set to 'RestartContainer' for non-sidecar initContainers"
_NOT_EPHEMERAL = "cannot be set for an Ephemeral Container"
_SIDECAR_ONLY = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
_NEVER_EPHEMERAL = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerContext:
    """What checks of containers need to know about their pod.

    Args:
        volumes: good volumes by name.
        claims: names of resource claims.
        grace: grace period in seconds, None when there is none.
        restart_policy: of the pod.
        host_users: whether it runs in the host's user namespace.
    """

    volumes: Mapping[str, Json]
    claims: frozenset[str]
    grace: int | None
    restart_policy: str
    host_users: bool


# --- members ---


def _ports(items: Sequence[Json], path: str, out: Causes) -> None:
    names: set[str] = set()
    for index, port in enumerate(items):
        where = f"{path}[{index}]"
        if name := port.get("name"):
            if messages := port_name(name):
                out.extend(invalid(f"{where}.name", name, text) for text in messages)
            elif name in names:
                out.append(duplicate(f"{where}.name", name))
            names.add(name)
        number = port.get("containerPort") or 0
        if not number:
            out.append(required(f"{where}.containerPort"))
        elif not 1 <= number <= 65535:
            out.append(invalid(f"{where}.containerPort", number, PORT_NUMBER))
        host = port.get("hostPort") or 0
        if host and not 1 <= host <= 65535:
            out.append(invalid(f"{where}.hostPort", host, PORT_NUMBER))
        protocol(port.get("protocol") or "", f"{where}.protocol", out)


def protocol(value: str, path: str, out: Causes) -> None:
    """Check a transport protocol.

    Args:
        value: the protocol, maybe empty.
        path: its path.
        out: receives causes.
    """
    if value not in PROTOCOLS:
        out.append(not_supported(path, value, PROTOCOLS) if value else required(path))


def _key_ref(value: Mapping[str, Any], path: str, out: Causes) -> None:
    name, key = value.get("name") or "", value.get("key") or ""
    out.extend(invalid(f"{path}.name", name, text) for text in dns1123_subdomain(name))
    if key:
        out.extend(invalid(f"{path}.key", key, text) for text in config_key(key))
    else:
        out.append(required(f"{path}.key"))


_file_ref = table(
    row("key", matches(env_name), missing=""),
    row("volumeName", LABEL, missing=""),
    row("path", no_backsteps, missing=""),
)


def _value_from(item: Json, source: Json, path: str, out: Causes) -> None:
    count = 0
    if (ref := source.get("fieldRef")) is not None:
        count += 1
        field_ref(ref, f"{path}.fieldRef", out, ENV_FIELDS)
    if (ref := source.get("resourceFieldRef")) is not None:
        count += 1
        resource_field_ref(ref, f"{path}.resourceFieldRef", out, volume=False)
    for name, check in (
        ("configMapKeyRef", _key_ref),
        ("secretKeyRef", _key_ref),
        ("fileKeyRef", _file_ref),
    ):
        if (ref := source.get(name)) is not None:
            count += 1
            check(ref, f"{path}.{name}", out)
    if not count:
        detail = (
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
            "`secretKeyRef` or `fileKeyRef`"
        )
        out.append(invalid(path, "", detail))
    elif item.get("value"):
        out.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif count > 1:
        out.append(invalid(path, "", "may not have more than one field specified at a time"))


def _env(items: Sequence[Json], path: str, out: Causes) -> None:
    for index, item in enumerate(items):
        where = f"{path}[{index}]"
        if name := item.get("name"):
            out.extend(invalid(f"{where}.name", name, text) for text in env_name(name))
        else:
            out.append(required(f"{where}.name"))
        source = item.get("valueFrom")
        if source is not None:
            _value_from(item, source, f"{where}.valueFrom", out)


def _env_from(items: Sequence[Json], path: str, out: Causes) -> None:
    for index, item in enumerate(items):
        where = f"{path}[{index}]"
        if prefix := item.get("prefix"):
            out.extend(invalid(f"{where}.prefix", prefix, text) for text in env_name(prefix))
        count = 0
        for member in ("configMapRef", "secretRef"):
            source = item.get(member)
            if source is None:
                continue
            count += 1
            name = source.get("name") or ""
            if not name:
                out.append(required(f"{where}.{member}.name"))
                continue
            for text in dns1123_subdomain(name, True):
                out.append(invalid(f"{where}.{member}.name", name, text))
        if not count:
            detail = "must specify one of: `configMapRef` or `secretRef`"
            out.append(invalid(path, "", detail))
        elif count > 1:
            detail = "may not have more than one field specified at a time"
            out.append(invalid(path, "", detail))


def _resize_policy(items: Sequence[Json], path: str, out: Causes, restart: str) -> None:
    seen: set[str] = set()
    for index, item in enumerate(items):
        name, policy = item.get("resourceName") or "", item.get("restartPolicy") or ""
        if name in seen:
            out.append(duplicate(f"{path}[{index}]", name))
        seen.add(name)
        for value, known in ((name, _RESIZABLE), (policy, _RESIZE_RESTARTS)):
            if not value:
                out.append(required(path))
            elif value not in known:
                out.append(not_supported(path, value, known))
        if restart == "Never" and policy != "NotRequired":
            detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            out.append(invalid(path, policy, detail))


def _restart_rules(container: Json, path: str, out: Causes, *, init: bool = False) -> None:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None and rules:
        detail = "must specify restartPolicy when restart rules are used"
        out.append(required(f"{path}.restartPolicy", detail))
        if init:
            return
    elif policy is not None and policy not in _RESTARTS:
        out.append(not_supported(f"{path}.restartPolicy", policy, _RESTARTS))
    if len(rules) > _MAX_RULES:
        out.append(too_many(f"{path}.restartPolicyRules", len(rules), _MAX_RULES))
    for index, rule in enumerate(rules):
        where = f"{path}.restartPolicyRules[{index}]"
        _RULE_ACTION(rule.get("action") or "", f"{where}.action", out)
        codes = rule.get("exitCodes")
        if codes is None:
            out.append(required(f"{where}.exitCodes", "must be specified"))
            continue
        _RULE_OPERATOR(codes.get("operator") or "", f"{where}.exitCodes.operator", out)
        values = codes.get("values") or ()
        if len(values) > _MAX_EXIT_CODES:
            out.append(too_many(f"{where}.exitCodes.values", len(values), _MAX_EXIT_CODES))


# --- one container ---


def _common(container: Json, path: str, out: Causes, context: ContainerContext) -> None:
    """What every kind of container must be."""
    get = container.get
    if name := get("name"):
        out.extend(invalid(f"{path}.name", name, text) for text in dns1123_label(name))
    else:
        out.append(required(f"{path}.name"))
    if not get("image"):
        out.append(required(f"{path}.image"))
    policy = get("terminationMessagePolicy") or ""
    if policy not in _MESSAGE_POLICIES:
        where = f"{path}.terminationMessagePolicy"
        out.append(not_supported(where, policy, _MESSAGE_POLICIES) if policy else required(where))
    if value := get("ports"):
        _ports(value, f"{path}.ports", out)
    if value := get("env"):
        _env(value, f"{path}.env", out)
    if value := get("envFrom"):
        _env_from(value, f"{path}.envFrom", out)
    mounts(container, path, out, context.volumes)
    pull = get("imagePullPolicy") or ""
    if pull not in _PULL_POLICIES:
        where = f"{path}.imagePullPolicy"
        out.append(not_supported(where, pull, _PULL_POLICIES) if pull else required(where))
    if value := get("resources"):
        requirements(value, f"{path}.resources", out, claims=context.claims)
    if value := get("resizePolicy"):
        _resize_policy(value, f"{path}.resizePolicy", out, context.restart_policy)
    if value := get("securityContext"):
        where = f"{path}.securityContext"
        security_context(value, where, out, host_users=context.host_users)


def _host_ports(containers: Sequence[Json], path: str, out: Causes, first: int = 0) -> None:
    taken: set[str] = set()
    for index, container in enumerate(containers, first):
        for number, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort") or 0
            if not host:
                continue
            key = f"{port.get('protocol') or ''}/{port.get('hostIP') or ''}/{host}"
            if key in taken:
                out.append(duplicate(f"{path}[{index}].ports[{number}].hostPort", key))
            taken.add(key)


def only_in_pods(containers: Sequence[Json], path: str, out: Causes) -> None:
    """Check what templates may say and pods may not.

    Args:
        containers: the list.
        path: its path.
        out: receives causes.
    """
    for index, container in enumerate(containers):
        image_padding(container, f"{path}[{index}]", out)


def image_padding(container: Json, path: str, out: Causes) -> None:
    """Check that an image has no white space around it.

    Args:
        container: the container.
        path: its path.
        out: receives causes.
    """
    image = container.get("image") or ""
    if image != image.strip():
        detail = "must not have leading or trailing whitespace"
        out.append(invalid(f"{path}.image", image, detail))


# --- lists of them ---


def containers(items: Sequence[Json], path: str, out: Causes, context: ContainerContext) -> None:
    """Check the regular containers of a pod; there must be one.

    Args:
        items: the list.
        path: its path.
        out: receives causes.
        context: about the pod.
    """
    if not items:
        out.append(required(path))
        return
    names: set[str] = set()
    for index, container in enumerate(items):
        where = f"{path}[{index}]"
        _common(container, where, out, context)
        name = container.get("name") or ""
        if name in names:
            out.append(duplicate(f"{where}.name", name))
        names.add(name)
        if hooks := container.get("lifecycle"):
            lifecycle(hooks, f"{where}.lifecycle", out, context.grace)
        probes(container, where, out)
        _restart_rules(container, where, out)
    _host_ports(items, path, out)


def init_containers(
    items: Sequence[Json],
    path: str,
    out: Causes,
    context: ContainerContext,
    regular: Sequence[Json],
) -> None:
    """Check the init containers of a pod, sidecars included.

    Args:
        items: the list.
        path: its path.
        out: receives causes.
        context: about the pod.
        regular: its regular containers.
    """
    names = {container.get("name") or "" for container in regular}
    for index, container in enumerate(items):
        where = f"{path}[{index}]"
        _common(container, where, out, context)
        _restart_rules(container, where, out, init=True)
        name = container.get("name") or ""
        if name in names:
            out.append(duplicate(f"{where}.name", name))
        elif name:
            names.add(name)
        # kube-apiserver checks them one by one, and names the first place of the list
        _host_ports([container], path, out)
        if container.get("restartPolicy") == "Always":
            if hooks := container.get("lifecycle"):
                lifecycle(hooks, f"{where}.lifecycle", out, context.grace)
            probes(container, where, out)
            continue
        out.extend(
            forbidden(f"{where}.{member}", _NOT_ALWAYS)
            for member in _SIDECAR_ONLY
            if container.get(member) is not None
        )
        for number, item in enumerate(container.get("resizePolicy") or ()):
            if item.get("restartPolicy") == "RestartContainer":
                at = f"{where}.resizePolicy[{number}].restartPolicy"
                out.append(invalid(at, "RestartContainer", _NO_RESTART))


def ephemeral_containers(
    items: Sequence[Json],
    path: str,
    out: Causes,
    context: ContainerContext,
    others: Sequence[Json],
) -> None:
    """Check the ephemeral containers of a pod.

    Args:
        items: the list.
        path: its path.
        out: receives causes.
        context: about the pod.
        others: its regular and init containers.
    """
    targets = {container.get("name") or "" for container in others}
    names = set(targets)
    for index, container in enumerate(items):
        where = f"{path}[{index}]"
        _common(container, where, out, context)
        image_padding(container, where, out)
        name = container.get("name") or ""
        if name in names:
            out.append(duplicate(f"{where}.name", name))
        names.add(name)
        target = container.get("targetContainerName")
        if target and target not in targets:
            out.append(not_found(f"{where}.targetContainerName", target))
        out.extend(
            forbidden(f"{where}.{member}", _NOT_EPHEMERAL)
            for member in _NEVER_EPHEMERAL
            # resources are always there; an empty list or probe is one too many already
            if container.get(member) not in (None, {} if member == "resources" else None)
        )
        _no_sub_paths(container, where, out)


def _no_sub_paths(container: Json, path: str, out: Causes) -> None:
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        for member in ("subPath", "subPathExpr"):
            if mount.get(member):
                where = f"{path}.volumeMounts[{index}].{member}"
                out.append(forbidden(where, _NOT_EPHEMERAL))
