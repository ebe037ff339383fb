"""The Pod Security Standards: which controls belong to which level, since which version.

Source: docs "Pod Security Standards"; KEP-127 for pods in user namespaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from kubetrio.plugins.podsecurity import baseline, restricted
from kubetrio.plugins.podsecurity.parts import CheckPod, Violation
from kubetrio.plugins.podsecurity.policy import BASELINE, PRIVILEGED, RESTRICTED, Standard

Object = dict[str, Any]


def unless_user_namespace(check: CheckPod) -> CheckPod:
    """A control that does not matter where root has no rights on the node."""
    return lambda pod: None if pod["spec"].get("hostUsers") is False else check(pod)


def unless_windows(check: CheckPod) -> CheckPod:
    """A control of what only Linux has."""

    def on_linux(pod: Object) -> Violation | None:
        system = pod["spec"].get("os") or {}
        return None if system.get("name") == "windows" else check(pod)

    return on_linux


@dataclass(frozen=True, slots=True)
class Check:
    """A control.

    Args:
        name: its name in Kubernetes; violations are told in the order of the names.
        level: the least strict level that has it.
        revisions: how it is checked, by the minor version that began to do so.
        replaces: a control of the baseline that it makes superfluous.
    """

    name: str
    level: str
    revisions: Mapping[int, CheckPod]
    replaces: str = ""

    def at(self, minor: int) -> CheckPod | None:
        """How a version checks it; None when it did not yet."""
        since = max((each for each in self.revisions if each <= minor), default=None)
        return None if since is None else self.revisions[since]


CHECKS = (
    Check("appArmorProfile", BASELINE, {0: baseline.app_armor_profile}),
    Check("capabilities_baseline", BASELINE, {0: baseline.capabilities_baseline}),
    Check("hostNamespaces", BASELINE, {0: baseline.host_namespaces}),
    Check("hostPathVolumes", BASELINE, {0: baseline.host_path_volumes}),
    Check("hostPorts", BASELINE, {0: baseline.host_ports}),
    Check("hostProbesAndHostLifecycle", BASELINE, {34: baseline.host_probes_and_host_lifecycle}),
    Check("privileged", BASELINE, {0: baseline.privileged}),
    Check(
        "procMount",
        BASELINE,
        {0: baseline.proc_mount, 35: unless_user_namespace(baseline.proc_mount)},
    ),
    Check(
        "seLinuxOptions",
        BASELINE,
        {
            0: baseline.se_linux_options(baseline.SELINUX_TYPES),
            31: baseline.se_linux_options(baseline.SELINUX_TYPES_31),
        },
    ),
    Check(
        "seccompProfile_baseline",
        BASELINE,
        {0: baseline.seccomp_annotations, 19: baseline.seccomp_profile_baseline},
    ),
    Check(
        "sysctls",
        BASELINE,
        {
            0: baseline.sysctls(baseline.SYSCTLS),
            27: baseline.sysctls(baseline.SYSCTLS_27),
            29: baseline.sysctls(baseline.SYSCTLS_29),
            32: baseline.sysctls(baseline.SYSCTLS_32),
        },
    ),
    Check("windowsHostProcess", BASELINE, {0: baseline.windows_host_process}),
    Check(
        "allowPrivilegeEscalation",
        RESTRICTED,
        {
            8: restricted.allow_privilege_escalation,
            25: unless_windows(restricted.allow_privilege_escalation),
        },
    ),
    Check(
        "capabilities_restricted",
        RESTRICTED,
        {
            22: restricted.capabilities_restricted,
            25: unless_windows(restricted.capabilities_restricted),
        },
        replaces="capabilities_baseline",
    ),
    Check("procMount_restricted", RESTRICTED, {35: baseline.proc_mount}, replaces="procMount"),
    Check(
        "restrictedVolumes",
        RESTRICTED,
        {0: restricted.restricted_volumes},
        replaces="hostPathVolumes",
    ),
    Check(
        "runAsNonRoot",
        RESTRICTED,
        {0: restricted.run_as_non_root, 35: unless_user_namespace(restricted.run_as_non_root)},
    ),
    Check(
        "runAsUser",
        RESTRICTED,
        {23: restricted.run_as_user, 35: unless_user_namespace(restricted.run_as_user)},
    ),
    Check(
        "seccompProfile_restricted",
        RESTRICTED,
        {
            19: restricted.seccomp_profile_restricted,
            25: unless_windows(restricted.seccomp_profile_restricted),
        },
        replaces="seccompProfile_baseline",
    ),
)
NEWEST = max(minor for check in CHECKS for minor in check.revisions)


@cache
def _checks(level: str, minor: int) -> tuple[CheckPod, ...]:
    """What a standard checks: the baseline first, then what is restricted beyond it."""
    if level == PRIVILEGED:
        return ()
    checks = [
        (check, how)
        for check in CHECKS
        if level in (check.level, RESTRICTED) and (how := check.at(minor)) is not None
    ]
    replaced = {check.replaces for check, _ in checks}
    return tuple(how for check, how in checks if check.name not in replaced)


def violations(standard: Standard, pod: Object) -> list[Violation]:
    """What of a standard a pod, or a template of pods, violates."""
    # Versions to come have no rules of their own yet, so nothing is remembered for them.
    minor = NEWEST if standard.minor is None else min(standard.minor, NEWEST)
    results = (check(pod) for check in _checks(standard.level, minor))
    return [each for each in results if each is not None]
