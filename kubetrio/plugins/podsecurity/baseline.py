"""Controls of the Pod Security Standards' baseline: what gets a pod out of its box.

Each is a function from a pod to what violates it, or None; `podsecuritystandards` says since when.
Source: docs "Pod Security Standards".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from kubetrio.machinery.fielderrors import quote
from kubetrio.plugins.podsecurity.parts import (
    CheckPod,
    Violation,
    annotations_of,
    containers_of,
    context_of,
    contexts_of,
    listed,
    plural,
    quoted,
    setters,
    uses,
    where,
)

Object = dict[str, Any]

APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
PROFILES = frozenset({"RuntimeDefault", "Localhost"})
DEFAULT_CAPABILITIES = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)
SELINUX_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})
SELINUX_TYPES_31 = SELINUX_TYPES | {"container_engine_t"}
SYSCTLS = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
    }
)
SYSCTLS_27 = SYSCTLS | {"net.ipv4.ip_local_reserved_ports"}
SYSCTLS_29 = SYSCTLS_27 | {
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
}
SYSCTLS_32 = SYSCTLS_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}


def _profiles(pod: Object, member: str) -> tuple[str, list[str]]:
    """Who sets a profile that turns protection off, and what they set."""
    bad: set[str] = set()

    def refused(context: Object) -> bool:
        profile = context.get(member)
        if profile is None or profile.get("type") in PROFILES:
            return False
        bad.add(profile.get("type") or "")
        return True

    who = setters(refused(context_of(pod["spec"])), where(pod, refused))
    return who, sorted(bad)


def app_armor_profile(pod: Object) -> Violation | None:
    """Neither field nor annotation turns AppArmor off."""
    who, values = _profiles(pod, "appArmorProfile")
    notes = sorted(
        f"{key}={quote(value)}"
        for key, value in annotations_of(pod).items()
        if key.startswith(APPARMOR)
        and value not in ("", "runtime/default")
        and not value.startswith("localhost/")
    )
    if notes:
        who = " and ".join(filter(None, (who, plural(len(notes), "annotation"))))
        values += notes
    if not who:
        return None
    return Violation(
        plural(len(values), "forbidden AppArmor profile"),
        f"{who} must not set AppArmor profile type to {quoted(values)}",
    )


def added_capabilities(pod: Object, allowed: AbstractSet[str]) -> str:
    """Which containers add which capabilities beyond some; empty when none does."""
    bad: set[str] = set()

    def adds(context: Object) -> bool:
        added = set((context.get("capabilities") or {}).get("add") or ()) - allowed
        bad.update(added)
        return bool(added)

    containers = where(pod, adds)
    if not containers:
        return ""
    return (
        f"{listed('container', containers)} must not include {quoted(sorted(bad))} "
        "in securityContext.capabilities.add"
    )


def capabilities_baseline(pod: Object) -> Violation | None:
    """No capability is added but those that containers have by default."""
    why = added_capabilities(pod, DEFAULT_CAPABILITIES)
    return Violation("non-default capabilities", why) if why else None


def host_namespaces(pod: Object) -> Violation | None:
    """Namespaces of the node are not shared."""
    shared = [
        f"{member}=true"
        for member in ("hostNetwork", "hostPID", "hostIPC")
        if pod["spec"].get(member)
    ]
    return Violation("host namespaces", ", ".join(shared)) if shared else None


def host_path_volumes(pod: Object) -> Violation | None:
    """No directories of the node."""
    volumes = [
        each["name"]
        for each in pod["spec"].get("volumes") or ()
        if each.get("hostPath") is not None
    ]
    return Violation("hostPath volumes", listed("volume", volumes)) if volumes else None


def _using(pod: Object, found: Callable[[Object], Iterable[str]]) -> tuple[list[str], list[str]]:
    """The containers that use something, in order, and all that they use, sorted."""
    used = {each["name"]: set(found(each)) for each in containers_of(pod)}
    return [name for name, what in used.items() if what], sorted(set().union(*used.values()))


def _host_ports(container: Object) -> Iterator[str]:
    for port in container.get("ports") or ():
        if port.get("hostPort"):
            yield str(port["hostPort"])


def host_ports(pod: Object) -> Violation | None:
    """No ports of the node."""
    containers, ports = _using(pod, _host_ports)
    if not containers:
        return None
    return Violation(
        "hostPort",
        f"{listed('container', containers)} {uses(containers)} {plural(len(ports), 'hostPort')} "
        f"{', '.join(ports)}",
    )


def _named_hosts(container: Object) -> Iterator[str]:
    lifecycle = container.get("lifecycle") or {}
    handlers = [container.get(f"{kind}Probe") for kind in ("liveness", "readiness", "startup")]
    handlers += [lifecycle.get("postStart"), lifecycle.get("preStop")]
    for handler in handlers:
        for action in ("httpGet", "tcpSocket"):
            host = ((handler or {}).get(action) or {}).get("host")
            if host:
                yield host


def host_probes_and_host_lifecycle(pod: Object) -> Violation | None:
    """Probes and hooks ask the pod itself, not another host."""
    containers, hosts = _using(pod, _named_hosts)
    if not containers:
        return None
    return Violation(
        "probe or lifecycle host",
        f"{listed('container', sorted(containers))} {uses(containers)} "
        f"{listed('probe or lifecycle host', hosts)}",
    )


def privileged(pod: Object) -> Violation | None:
    """No privileged containers."""
    containers = where(pod, lambda context: bool(context.get("privileged")))
    if not containers:
        return None
    why = f"{listed('container', containers)} must not set securityContext.privileged=true"
    return Violation("privileged", why)


def proc_mount(pod: Object) -> Violation | None:
    """What ``/proc`` hides stays hidden."""
    bad: set[str] = set()

    def unmasked(context: Object) -> bool:
        kind = context.get("procMount")
        if kind is None or kind == "Default":
            return False
        bad.add(kind)
        return True

    containers = where(pod, unmasked)
    if not containers:
        return None
    return Violation(
        "procMount",
        f"{listed('container', containers)} must not set securityContext.procMount to "
        f"{quoted(sorted(bad))}",
    )


def se_linux_options(types: frozenset[str]) -> CheckPod:
    """SELinux types are these, and neither user nor role is set."""

    def check(pod: Object) -> Violation | None:
        bad: set[str] = set()
        members: set[str] = set()

        def refused(context: Object) -> bool:
            options = context.get("seLinuxOptions") or {}
            kind = options.get("type") or ""
            set_here = {member for member in ("user", "role") if options.get(member)}
            if kind not in types:
                bad.add(kind)
            members.update(set_here)
            return kind not in types or bool(set_here)

        who = setters(refused(context_of(pod["spec"])), where(pod, refused))
        if not who:
            return None
        what = [listed("type", sorted(bad))] if bad else []
        what += [f"{member} may not be set" for member in ("user", "role") if member in members]
        return Violation(
            "seLinuxOptions",
            f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(what)}",
        )

    return check


def seccomp_annotations(pod: Object) -> Violation | None:
    """No annotation turns seccomp off (there was no field for it yet)."""
    notes = annotations_of(pod)
    keys = {SECCOMP_POD, *(f"{SECCOMP_CONTAINER}{name}" for name, _ in contexts_of(pod))}
    bad = sorted(
        f"{key}={quote(notes[key])}"
        for key in keys & notes.keys()
        if notes[key] not in ("runtime/default", "docker/default")
        and not notes[key].startswith("localhost/")
    )
    if not bad:
        return None
    why = f"forbidden {plural(len(bad), 'annotation')} {', '.join(bad)}"
    return Violation("seccompProfile", why)


def seccomp_profile_baseline(pod: Object) -> Violation | None:
    """No container turns seccomp off."""
    who, values = _profiles(pod, "seccompProfile")
    if not who:
        return None
    return Violation(
        "seccompProfile",
        f"{who} must not set securityContext.seccompProfile.type to {quoted(values)}",
    )


def sysctls(safe: frozenset[str]) -> CheckPod:
    """Sysctls are these, which concern the pod alone."""

    def check(pod: Object) -> Violation | None:
        names = [each["name"] for each in context_of(pod["spec"]).get("sysctls") or ()]
        bad = [name for name in names if name not in safe]
        return Violation("forbidden sysctls", ", ".join(bad)) if bad else None

    return check


def windows_host_process(pod: Object) -> Violation | None:
    """No processes of the node on Windows."""

    def sets(context: Object) -> bool:
        return bool((context.get("windowsOptions") or {}).get("hostProcess"))

    who = setters(sets(context_of(pod["spec"])), where(pod, sets))
    if not who:
        return None
    why = f"{who} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", why)
