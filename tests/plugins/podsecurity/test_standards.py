"""The Pod Security Standards: who violates what, in which version, in which words."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.plugins.podsecurity.policy import PRIVILEGED, RESTRICTED, Standard, policy_of
from kubetrio.plugins.podsecurity.standards import CHECKS, violations

Object = dict[str, Any]
APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"
RUNTIME = {"type": "RuntimeDefault"}
# What is restricted beyond the baseline, at its best.
HARDENED: Object = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": RUNTIME,
}


def told(standard: str, pod: Object) -> str:
    """What violates a standard such as ``baseline:v1.25``."""
    level, _, version = standard.partition(":")
    prefix = "pod-security.kubernetes.io/enforce"
    labels = {prefix: level, f"{prefix}-version": version or "latest"}
    return ", ".join(map(str, violations(policy_of(labels).enforce, pod)))


def pod(*contexts: Object, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    """A pod with containers a, b, ... of these security contexts."""
    containers = [
        {"name": name, "securityContext": context}
        for name, context in zip("abc", contexts, strict=False)
    ]
    return {
        "metadata": {"annotations": annotations or {}},
        "spec": {"containers": containers or [{"name": "a"}], **spec},
    }


def hardened(**context: Any) -> Object:
    """A pod that is fine by the restricted standard but for this."""
    return pod({**HARDENED, **context})


def container(**more: Any) -> Object:
    """A pod with a container that has these members."""
    return pod(containers=[{"name": "a", **more}])


def sysctl(*names: str) -> Object:
    return pod(securityContext={"sysctls": [{"name": name, "value": "1"} for name in names]})


SELINUX = {"type": "x", "user": "u", "role": "r"}
PROBE = {"httpGet": {"host": "h", "port": 1}}
HOOKS = {
    "postStart": {"tcpSocket": {"host": "2", "port": 1}},
    "preStop": {"httpGet": {"host": "1"}},
}
KEEPALIVE = ("net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout")
BOTH_WAYS = pod(
    {**HARDENED, "capabilities": {"add": ["SYS_TIME"]}},
    {**HARDENED, "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE", "CHOWN"]}},
)
BAD_NOTES = {f"{APPARMOR}a": "unconfined", f"{APPARMOR}b": 'x"y'}


@pytest.mark.parametrize(
    ("violating", "message"),
    [
        (
            pod(securityContext={"appArmorProfile": {"type": "Unconfined"}}),
            'forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")',
        ),
        (
            pod(
                {"appArmorProfile": {"type": "Unconfined"}},
                annotations=BAD_NOTES,
                securityContext={"appArmorProfile": {"type": ""}},
            ),
            (
                'forbidden AppArmor profiles (pod and container "a" and annotations must not set '
                f'AppArmor profile type to "", "Unconfined", "{APPARMOR}a="unconfined"", '
                f'"{APPARMOR}b="x\\"y"")'
            ),
        ),
        (
            pod(annotations={f"{APPARMOR}a": "unconfined"}),
            (
                "forbidden AppArmor profile (annotation must not set AppArmor profile type to "
                f'"{APPARMOR}a="unconfined"")'
            ),
        ),
        (
            pod(
                {"capabilities": {"add": ["SYS_TIME", "CHOWN", "NET_RAW"]}},
                {},
                {"capabilities": {"add": ["NET_RAW"]}},
            ),
            (
                'non-default capabilities (containers "a", "c" must not include "NET_RAW", '
                '"SYS_TIME" in securityContext.capabilities.add)'
            ),
        ),
        (
            pod(hostIPC=True, hostPID=True, hostNetwork=True),
            "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)",
        ),
        (
            pod(volumes=[{"name": "v", "hostPath": {"path": "/"}}]),
            'hostPath volumes (volume "v")',
        ),
        (
            pod(volumes=[{"name": n, "hostPath": {"path": "/"}} for n in ("w", "v")]),
            'hostPath volumes (volumes "w", "v")',
        ),
        (
            container(ports=[{"containerPort": 1, "hostPort": 80}, {"hostPort": 0}]),
            'hostPort (container "a" uses hostPort 80)',
        ),
        (
            pod(
                initContainers=[{"name": "i", "ports": [{"hostPort": 9}]}],
                containers=[{"name": "a", "ports": [{"hostPort": 80}, {"hostPort": 9}]}],
            ),
            'hostPort (containers "i", "a" use hostPorts 80, 9)',
        ),
        (
            container(livenessProbe=PROBE, readinessProbe=PROBE),
            'probe or lifecycle host (container "a" uses probe or lifecycle host "h")',
        ),
        (
            pod(
                initContainers=[{"name": "z", "startupProbe": PROBE}],
                containers=[{"name": "a", "lifecycle": HOOKS}],
            ),
            (
                'probe or lifecycle host (containers "a", "z" use probe or lifecycle hosts '
                '"1", "2", "h")'
            ),
        ),
        (
            pod({"privileged": True}, {"privileged": False}),
            'privileged (container "a" must not set securityContext.privileged=true)',
        ),
        (
            pod({"procMount": "Unmasked"}, {"procMount": "Unmasked"}, {"procMount": "Default"}),
            'procMount (containers "a", "b" must not set securityContext.procMount to "Unmasked")',
        ),
        (
            pod(
                {"seLinuxOptions": {"type": "y"}},
                {"seLinuxOptions": {"type": "container_t", "level": "s0"}},
                securityContext={"seLinuxOptions": SELINUX},
            ),
            (
                'seLinuxOptions (pod and container "a" set forbidden '
                'securityContext.seLinuxOptions: types "x", "y"; user may not be set; '
                "role may not be set)"
            ),
        ),
        (
            pod({"seLinuxOptions": {"role": "r"}}),
            (
                'seLinuxOptions (container "a" set forbidden securityContext.seLinuxOptions: '
                "role may not be set)"
            ),
        ),
        (
            pod(
                {"seccompProfile": {"type": "Unconfined"}},
                securityContext={"seccompProfile": {"type": "Unconfined"}},
            ),
            (
                'seccompProfile (pod and container "a" must not set '
                'securityContext.seccompProfile.type to "Unconfined")'
            ),
        ),
        (
            sysctl("kernel.msgmax", "net.ipv4.tcp_syncookies", "a"),
            "forbidden sysctls (kernel.msgmax, a)",
        ),
        (
            pod(
                {"windowsOptions": {"hostProcess": True}},
                securityContext={"windowsOptions": {"hostProcess": True}},
            ),
            (
                'hostProcess (pod and container "a" must not set '
                "securityContext.windowsOptions.hostProcess=true)"
            ),
        ),
    ],
)
def test_baseline(violating: Object, message: str) -> None:
    """Each control in its words."""
    assert told("baseline", violating) == message
    assert told("privileged", violating) == ""


@pytest.mark.parametrize(
    "fine",
    [
        pod(),
        pod({}, securityContext={}),
        pod(securityContext={"appArmorProfile": {"type": "Localhost"}}),
        pod(annotations={f"{APPARMOR}a": "runtime/default", f"{APPARMOR}b": "", "x": "unconfined"}),
        pod(annotations={f"{APPARMOR}a": "localhost/mine", f"{SECCOMP}a": "unconfined"}),
        pod({"capabilities": {"add": ["CHOWN"], "drop": ["NET_RAW"]}}),
        container(livenessProbe={"tcpSocket": {"host": "", "port": 1}}),
        pod({"seccompProfile": RUNTIME, "seLinuxOptions": {"type": "container_engine_t"}}),
        sysctl("net.ipv4.tcp_wmem", *KEEPALIVE),
        pod({"windowsOptions": {"hostProcess": False}}),
        pod(volumes=[{"name": "v", "nfs": {"server": "s", "path": "/"}}]),
    ],
)
def test_the_baseline_lets_pass(fine: Object) -> None:
    """What gets nobody out of a container."""
    assert told("baseline", fine) == ""


NEVER_HARDENED = (
    'allowPrivilegeEscalation != false (container "a" must set '
    "securityContext.allowPrivilegeEscalation=false), unrestricted capabilities "
    '(container "a" must set securityContext.capabilities.drop=["ALL"]), '
    'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true), '
    'seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to '
    '"RuntimeDefault" or "Localhost")'
)


@pytest.mark.parametrize(
    ("violating", "message"),
    [
        (pod(), NEVER_HARDENED),
        (pod(hostPID=True), f"host namespaces (hostPID=true), {NEVER_HARDENED}"),
        (
            pod(*(3 * [{**HARDENED, "allowPrivilegeEscalation": None}])),
            (
                'allowPrivilegeEscalation != false (containers "a", "b", "c" must set '
                "securityContext.allowPrivilegeEscalation=false)"
            ),
        ),
        (
            BOTH_WAYS,
            (
                'unrestricted capabilities (container "a" must set '
                'securityContext.capabilities.drop=["ALL"]; containers "a", "b" must not include '
                '"CHOWN", "SYS_TIME" in securityContext.capabilities.add)'
            ),
        ),
        (
            hardened(procMount="Unmasked"),
            'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
        ),
        (
            pod(
                HARDENED,
                volumes=[
                    {"name": "v", "hostPath": {"path": "/"}},
                    {"name": "ok", "emptyDir": {}},
                ],
            ),
            'restricted volume types (volume "v" uses restricted volume type "hostPath")',
        ),
        (
            pod(
                HARDENED,
                volumes=[{"name": "w", "nfs": {}}, {"name": "v", "hostPath": {}}, {"name": "u"}],
            ),
            (
                'restricted volume types (volumes "w", "v", "u" use restricted volume types '
                '"hostPath", "nfs", "unknown")'
            ),
        ),
        (
            pod({**HARDENED, "runAsNonRoot": False}, securityContext={"runAsNonRoot": False}),
            (
                'runAsNonRoot != true (pod and container "a" must not set '
                "securityContext.runAsNonRoot=false)"
            ),
        ),
        (
            pod({**HARDENED, "runAsUser": 0}, HARDENED, securityContext={"runAsUser": 0}),
            'runAsUser=0 (pod and container "a" must not set runAsUser=0)',
        ),
        (
            hardened(seccompProfile={"type": "Unconfined"}),
            (
                'seccompProfile (container "a" must not set securityContext.seccompProfile.type to '
                '"Unconfined")'
            ),
        ),
    ],
)
def test_restricted(violating: Object, message: str) -> None:
    """The baseline's controls first; a stricter one replaces that of the baseline."""
    assert told("restricted", violating) == message


@pytest.mark.parametrize(
    "fine",
    [
        hardened(),
        hardened(runAsUser=1000, capabilities={"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}),
        pod(
            {**HARDENED, "runAsNonRoot": None, "seccompProfile": None},
            securityContext={"runAsNonRoot": True, "seccompProfile": {"type": "Localhost"}},
        ),
        pod(HARDENED, volumes=[{"name": "v", "image": {}}, {"name": "w", "csi": {}}]),
        # Windows has neither capabilities nor seccomp.
        pod({"runAsNonRoot": True}, os={"name": "windows"}),
    ],
)
def test_restricted_lets_pass(fine: Object) -> None:
    """Containers say it themselves or leave it to the pod."""
    assert told("restricted", fine) == ""


LINUX_ONLY = pod({"runAsNonRoot": True}, os={"name": "windows"})
ROOT = {**HARDENED, "runAsNonRoot": False, "runAsUser": 0}
UNMASKED = {**HARDENED, "procMount": "Unmasked"}


@pytest.mark.parametrize(
    ("subject", "last", "first", "reason"),
    [
        (container(livenessProbe=PROBE), "privileged", "baseline:v1.34",
         "probe or lifecycle host"),
        (pod(annotations={f"{SECCOMP}a": "unconfined"}), "baseline:v1.19", "baseline:v1.18",
         "seccompProfile"),
        (pod({"seccompProfile": {"type": "Unconfined"}}), "baseline:v1.18", "baseline:v1.19",
         "seccompProfile"),
        (pod({"seLinuxOptions": {"type": "container_engine_t"}}), "baseline:v1.31",
         "baseline:v1.30", "seLinuxOptions"),
        (sysctl("net.ipv4.ip_local_reserved_ports"), "baseline:v1.27", "baseline:v1.26",
         "forbidden sysctls"),
        (sysctl(*KEEPALIVE), "baseline:v1.29", "baseline:v1.28", "forbidden sysctls"),
        (sysctl("net.ipv4.tcp_rmem"), "baseline:v1.32", "baseline:v1.31", "forbidden sysctls"),
        (pod(UNMASKED, hostUsers=False), "baseline:v1.35", "baseline:v1.34", "procMount"),
        (hardened(allowPrivilegeEscalation=True), "restricted:v1.7", "restricted:v1.8",
         "allowPrivilegeEscalation != false"),
        (hardened(capabilities={}), "restricted:v1.21", "restricted:v1.22",
         "unrestricted capabilities"),
        (hardened(runAsUser=0), "restricted:v1.22", "restricted:v1.23", "runAsUser=0"),
        (hardened(seccompProfile=None), "restricted:v1.18", "restricted:v1.19", "seccompProfile"),
        (LINUX_ONLY, "restricted:v1.25", "restricted:v1.24",
         "allowPrivilegeEscalation != false, unrestricted capabilities, seccompProfile"),
        (pod(ROOT, hostUsers=False), "restricted:v1.35", "restricted:v1.34",
         "runAsNonRoot != true, runAsUser=0"),
    ],
)  # fmt: skip
def test_versions(subject: Object, last: str, first: str, reason: str) -> None:
    """The first standard lets a pod pass that the neighbouring one does not."""
    assert told(last, subject) == ""
    level, _, version = first.partition(":v1.")
    found = violations(Standard(level, int(version)), subject)
    assert ", ".join(each.reason for each in found) == reason


def test_user_namespaces_do_not_unmask_for_the_restricted() -> None:
    """What the baseline allows there is forbidden still."""
    found = violations(Standard(RESTRICTED), pod(UNMASKED, hostUsers=False))
    assert [each.reason for each in found] == ["procMount"]


def test_seccomp_annotations_of_old() -> None:
    """Of the pod and of its containers, not of others."""
    notes = {
        "seccomp.security.alpha.kubernetes.io/pod": "unconfined",
        f"{SECCOMP}a": "x",
        f"{SECCOMP}b": "localhost/x",
        f"{SECCOMP}other": "unconfined",
    }
    assert told("baseline:v1.0", pod({}, {}, annotations=notes)) == (
        f'seccompProfile (forbidden annotations {SECCOMP}a="x", '
        'seccomp.security.alpha.kubernetes.io/pod="unconfined")'
    )


@pytest.mark.parametrize("minor", [36, 99])
def test_versions_to_come_are_the_newest(minor: int) -> None:
    """Nothing is known of them yet."""
    everything = pod({"privileged": True, "runAsUser": 0}, hostPID=True)
    newest = violations(Standard(RESTRICTED), everything)
    assert violations(Standard(RESTRICTED, minor), everything) == newest


def test_every_kind_of_container_counts() -> None:
    """Init containers, which come first, and ephemeral ones, which come last."""
    bad = {"securityContext": {"privileged": True}}
    spec = {
        "ephemeralContainers": [{"name": "e", **bad}],
        "containers": [{"name": "c", **bad}],
        "initContainers": [{"name": "i", **bad}],
    }
    assert told("baseline", pod(**spec)).startswith('privileged (containers "i", "c", "e" must')


def test_controls_are_in_order() -> None:
    """By name, as bytes, those of the baseline first; what replaces one names it."""
    levels = [check.level for check in CHECKS]
    assert levels == sorted(levels)
    for level in set(levels):
        names = [check.name for check in CHECKS if check.level == level]
        assert names == sorted(names)
    known = {check.name for check in CHECKS} | {""}
    assert {check.replaces for check in CHECKS} <= known
    assert violations(Standard(PRIVILEGED), pod({"privileged": True})) == []
