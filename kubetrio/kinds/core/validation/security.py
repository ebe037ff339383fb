"""Security contexts of pods and containers.

Source: "Configure a Security Context for a Pod or Container", "Restrict a Container's Access to
Resources with AppArmor", "Seccomp" and "Configure RunAsUserName for Windows" in the Kubernetes
documentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kubetrio.kinds.common.checks import Causes, Json, each, go_struct, one_of, row, table
from kubetrio.kinds.common.formats import USER_ID, descending
from kubetrio.machinery.fielderrors import (
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from kubetrio.machinery.names_validation import byte_length, dns1123_subdomain

_PROFILE_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
_PATH_MAX = 4095
_OWN_USERS = "when `hostUsers` is false"
_SYSCTL_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"^({_SYSCTL_SEGMENT}[\./])*{_SYSCTL_SEGMENT}$"
_sysctl = re.compile(_SYSCTL)
_SYSCTL_MAX = 253
_IPC_SYSCTLS = frozenset(
    {
        "kernel.shmall",
        "kernel.shmmax",
        "kernel.shmmni",
        "kernel.shm_rmid_forced",
        "kernel.msgmax",
        "kernel.msgmnb",
        "kernel.msgmni",
        "kernel.sem",
    }
)
_control = re.compile(r"[\x00-\x1f\x7f]")
_netbios = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_windows_domain = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_bad_user = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_SHOWN = go_struct(
    Capabilities=("capabilities", None),
    Privileged=("privileged", None),
    SELinuxOptions=("seLinuxOptions", None),
    WindowsOptions=("windowsOptions", None),
    RunAsUser=("runAsUser", None),
    RunAsGroup=("runAsGroup", None),
    RunAsNonRoot=("runAsNonRoot", None),
    ReadOnlyRootFilesystem=("readOnlyRootFilesystem", None),
    AllowPrivilegeEscalation=("allowPrivilegeEscalation", None),
    ProcMount=("procMount", None),
    SeccompProfile=("seccompProfile", None),
    AppArmorProfile=("appArmorProfile", None),
)
_SHOWN_SECCOMP = go_struct(Type=("type", ""), LocalhostProfile=("localhostProfile", None))


def every_container(spec: Mapping[str, Any], path: str) -> list[tuple[Json, str]]:
    """All containers of a pod with their paths: init, regular, ephemeral.

    Args:
        spec: the pod's spec.
        path: its path.
    """
    pairs: list[tuple[Json, str]] = []
    for name in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(name) or ()):
            pairs.append((container, f"{path}.{name}[{index}]"))
    return pairs


# --- profiles ---


def _seccomp(profile: Mapping[str, Any], path: str, out: Causes) -> None:
    kind, name = profile.get("type") or "", profile.get("localhostProfile")
    if not kind:
        out.append(required(f"{path}.type", "type is required when seccompProfile is set"))
    elif kind not in _PROFILE_TYPES:
        out.append(not_supported(f"{path}.type", kind, _PROFILE_TYPES))
    where = f"{path}.localhostProfile"
    if kind != "Localhost":
        if name is not None:
            detail = "can only be set when seccomp type is Localhost"
            out.append(invalid(where, _SHOWN_SECCOMP(profile), detail))
    elif name is None:
        out.append(required(where, "must be set when seccomp type is Localhost"))
    else:
        descending(name, where, out)


def _app_armor(profile: Mapping[str, Any], path: str, out: Causes) -> None:
    kind, name = profile.get("type") or "", profile.get("localhostProfile")
    where = f"{path}.localhostProfile"
    if kind == "Localhost":
        _app_armor_name(name, where, out)
    elif kind in _PROFILE_TYPES:
        if name is not None:
            detail = "can only be set when AppArmor type is Localhost"
            out.append(invalid(where, name, detail))
    elif kind:
        out.append(not_supported(f"{path}.type", kind, _PROFILE_TYPES))
    else:
        detail = "type is required when appArmorProfile is set"
        out.append(required(f"{path}.type", detail))


def _app_armor_name(name: str | None, path: str, out: Causes) -> None:
    if name is None or not name:
        out.append(required(path, "must be set when AppArmor type is Localhost"))
        return
    if name.strip() != name:
        out.append(invalid(path, name, "must not be padded with whitespace"))
    if byte_length(name) > _PATH_MAX:
        out.append(too_long(path, _PATH_MAX))


def _windows(options: Mapping[str, Any], path: str, out: Causes) -> None:
    if (name := options.get("gmsaCredentialSpecName")) is not None:
        where = f"{path}.gmsaCredentialSpecName"
        out.extend(invalid(where, name, text) for text in dns1123_subdomain(name))
    if (spec := options.get("gmsaCredentialSpec")) is not None:
        where = f"{path}.gmsaCredentialSpec"
        if not spec:
            out.append(invalid(where, spec, "gmsaCredentialSpec cannot be an empty string"))
        elif byte_length(spec) > 64 * 1024:
            out.append(invalid(where, spec, "gmsaCredentialSpec size must be under 64 KiB"))
    if (user := options.get("runAsUserName")) is not None:
        out.extend(invalid(f"{path}.runAsUserName", user, text) for text in _user_name(user))


def _user_name(name: str) -> list[str]:
    parts = name.split("\\")
    if not name:
        return ["runAsUserName cannot be an empty string"]
    if _control.search(name):
        return ["runAsUserName cannot contain control characters"]
    if len(parts) > 2:
        return ["runAsUserName cannot contain more than one backslash"]
    user = parts[-1]
    messages = _domain(parts[0]) if len(parts) == 2 else []
    if not user:
        messages.append("runAsUserName's User cannot be empty")
    elif byte_length(user) > 104:
        messages.append("runAsUserName's User length must not be longer than 104 characters")
    if user and not user.strip(". "):
        messages.append("runAsUserName's User cannot contain only periods or spaces")
    if _bad_user.search(user):
        messages.append(
            "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"
        )
    return messages


def _domain(name: str) -> list[str]:
    messages = []
    if byte_length(name) >= 256:
        messages.append("runAsUserName's Domain length must be under 256 characters")
    if not _netbios.fullmatch(name) and not _windows_domain.fullmatch(name):
        messages.append("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    return messages


# --- containers ---


def _empty(value: Any, path: str, out: Causes) -> None:
    """A profile that is there without a type."""
    if value is not None:
        (_seccomp if path.endswith("seccompProfile") else _app_armor)(value, path, out)


_FIRST_ROWS = table(
    row("runAsUser", USER_ID),
    row("runAsGroup", USER_ID),
    row("procMount", one_of("Default", "Unmasked")),
)
_LAST_ROWS = table(
    row("windowsOptions", _windows),
    row("appArmorProfile", _app_armor, absent=_empty),
)
_SECCOMP = table(row("seccompProfile", _seccomp, absent=_empty))


def security_context(
    context: Mapping[str, Any], path: str, out: Causes, *, host_users: bool
) -> None:
    """Check the security context of a container.

    Args:
        context: the context.
        path: its path.
        out: receives causes.
        host_users: whether the pod runs in the host's user namespace.
    """
    privileged = context.get("privileged") or False
    if privileged:
        out.append(forbidden(f"{path}.privileged", "disallowed by cluster policy"))
    _FIRST_ROWS(context, path, out)
    if host_users and context.get("procMount") == "Unmasked":
        detail = "`hostUsers` must be false to use `Unmasked`"
        out.append(invalid(f"{path}.procMount", "Unmasked", detail))
    _SECCOMP(context, path, out)
    _escalation(context, path, out)
    _LAST_ROWS(context, path, out)


def _escalation(context: Mapping[str, Any], path: str, out: Causes) -> None:
    if context.get("allowPrivilegeEscalation") is not False:
        return
    if context.get("privileged"):
        detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        out.append(invalid(path, _SHOWN(context), detail))
    added = (context.get("capabilities") or {}).get("add") or ()
    for _ in range(added.count("CAP_SYS_ADMIN") if added else 0):
        detail = (
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
        )
        out.append(invalid(path, _SHOWN(context), detail))


# --- pods ---

_POD_IDS = table(
    row("fsGroup", USER_ID),
    row("runAsUser", USER_ID),
    row("runAsGroup", USER_ID),
    row("supplementalGroups", each(USER_ID)),
)
_POD_ROWS = table(
    row("fsGroupChangePolicy", one_of("Always", "OnRootMismatch")),
    row("seccompProfile", _seccomp, absent=_empty),
    row("windowsOptions", _windows),
    row("appArmorProfile", _app_armor, absent=_empty),
    row("supplementalGroupsPolicy", one_of("Merge", "Strict")),
    row("seLinuxChangePolicy", one_of("Recursive")),
)


def _sysctl_namespace(name: str) -> str:
    dotted = name.replace("/", ".")
    if dotted.startswith("net."):
        return "hostNetwork"
    if dotted in _IPC_SYSCTLS or dotted.startswith("fs.mqueue."):
        return "hostIPC"
    return ""


def _sysctls(spec: Mapping[str, Any], items: list[Json], path: str, out: Causes) -> None:
    seen: set[str] = set()
    for index, item in enumerate(items):
        name, where = item.get("name") or "", f"{path}[{index}].name"
        if not name:
            out.append(required(where))
        elif len(name) > _SYSCTL_MAX or not _sysctl.fullmatch(name):
            detail = f"must have at most {_SYSCTL_MAX} characters and match regex {_SYSCTL}"
            out.append(invalid(where, name, detail))
        elif name in seen:
            out.append(duplicate(where, name))
        shared = _sysctl_namespace(name)
        if shared and spec.get(shared):
            out.append(invalid(where, name, f"may not be specified when '{shared}' is true"))
        seen.add(name)


def pod_security_context(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check the security context of a pod.

    Args:
        spec: the pod's spec.
        path: path of the spec.
        out: receives causes.
    """
    context = spec.get("securityContext")
    where = f"{path}.securityContext"
    if context:
        _POD_IDS(context, where, out)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        out.append(invalid(f"{where}.shareProcessNamespace", True, detail))
    if not context:
        return
    if sysctls := context.get("sysctls"):
        _sysctls(spec, sysctls, f"{where}.sysctls", out)
    _POD_ROWS(context, where, out)


def host_users(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check that a pod with its own users shares neither namespaces nor block devices.

    Args:
        spec: the pod's spec.
        path: its path.
        out: receives causes.
    """
    if spec.get("hostUsers") is not False:
        return
    for name, shown in (
        ("hostNetwork", "hostNetwork"),
        ("hostPID", "HostPID"),
        ("hostIPC", "HostIPC"),
    ):
        if spec.get(name):
            out.append(forbidden(f"{path}.{shown}", _OWN_USERS))
    out.extend(
        forbidden(f"{where}.volumeDevices", _OWN_USERS)
        for container, where in every_container(spec, path)
        if container.get("volumeDevices")
    )


# --- operating systems ---

# members of the spec among those of its security context: kube-apiserver has them all in there
_LINUX_ONLY_SPEC = frozenset({"hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"})
_LINUX_ONLY_POD = (
    "appArmorProfile",
    "seLinuxOptions",
    "hostUsers",
    "hostPID",
    "hostIPC",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "shareProcessNamespace",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
)
_LINUX_ONLY_CONTAINER = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def operating_system(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check that nothing is set that the pod's operating system does not have.

    Args:
        spec: the pod's spec.
        path: its path.
        out: receives causes.
    """
    if spec.get("os") is None:
        return
    name = spec["os"].get("name") or ""
    if not name:
        out.append(required(f"{path}.os.name"))
    elif name == "linux":
        _linux(spec, path, out)
    elif name == "windows":
        _no_linux(spec, path, out)
    else:
        out.append(not_supported(f"{path}.os", name, ("linux", "windows")))


def _contexts(spec: Mapping[str, Any], path: str) -> Iterator[tuple[Json, str]]:
    for container, where in every_container(spec, path):
        if context := container.get("securityContext"):
            yield context, f"{where}.securityContext"


def _linux(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    detail = "windows options cannot be set for a linux pod"
    own = (spec.get("securityContext") or {}, f"{path}.securityContext")
    for context, where in (own, *_contexts(spec, path)):
        if context.get("windowsOptions") is not None:
            out.append(forbidden(f"{where}.windowsOptions", detail))


def _no_linux(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    detail = "cannot be set for a windows pod"
    context = spec.get("securityContext") or {}
    for name in _LINUX_ONLY_POD:
        if name not in _LINUX_ONLY_SPEC:
            if context.get(name) is not None:
                out.append(forbidden(f"{path}.securityContext.{name}", detail))
        elif spec.get(name) or (spec.get(name) is False and name not in ("hostPID", "hostIPC")):
            out.append(forbidden(f"{path}.{name}", detail))
    for context, where in _contexts(spec, path):
        out.extend(
            forbidden(f"{where}.{name}", detail)
            for name in _LINUX_ONLY_CONTAINER
            if context.get(name) is not None
        )


def host_process(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check Windows containers that are processes of the host: all or none.

    Args:
        spec: the pod's spec.
        path: its path.
        out: receives causes.
    """
    own = _host_process(spec)
    total = count = 0
    for container, where in every_container(spec, path):
        total += 1
        theirs = _host_process(container)
        if own is not None and theirs is not None and own != theirs:
            detail = (
                "pod hostProcess value must be identical if both are specified, was "
                f"{'true' if own else 'false'}"
            )
            member = f"{where}.securityContext.windowsOptions.hostProcess"
            out.append(invalid(member, theirs, detail))
        count += bool(own if theirs is None else theirs)
    if not count:
        return
    if count != total:
        detail = (
            "If pod contains any hostProcess containers then all containers must be HostProcess "
            "containers"
        )
        out.append(invalid(path, "", detail))
    if not spec.get("hostNetwork"):
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        out.append(invalid(f"{path}.hostNetwork", False, detail))
    out.append(forbidden(path, "hostProcess containers are disallowed by cluster policy"))


def _host_process(obj: Mapping[str, Any]) -> bool | None:
    context = obj.get("securityContext")
    options = context.get("windowsOptions") if context else None
    return options.get("hostProcess") if options else None
