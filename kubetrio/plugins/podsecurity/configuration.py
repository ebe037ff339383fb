"""PodSecurityConfiguration: what namespaces without labels ask for, and who is exempt.

Source: docs "Enforce Pod Security Standards by Configuring the Built-in Admission Controller".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kubetrio.admission.configuration import (
    TEXT,
    Uninitialized,
    declared,
    decode,
    of_type_meta,
)
from kubetrio.gotext.text import aggregate
from kubetrio.machinery.fielderrors import duplicate, invalid
from kubetrio.machinery.names_validation import dns1123_label, dns1123_subdomain
from kubetrio.machinery.status import Cause
from kubetrio.plugins.podsecurity.policy import (
    LATEST,
    LEVELS,
    PRIVILEGED,
    UNLABELLED,
    VERSION_MUST,
    Policy,
    Standard,
    minor_of,
)
from kubetrio.schema.structural_shapes import Shape, ShapeKind

GROUP = "pod-security.admission.config.k8s.io"
MODES = ("enforce", "audit", "warn")
Check = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class Exempt:
    """Who is not asked about.

    Args:
        users: names of users.
        namespaces: names of namespaces.
        runtime_classes: of pods.
    """

    users: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    runtime_classes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Configuration:
    """The plugin's configuration.

    Args:
        defaults: the policy of namespaces without labels.
        exempt: who is not asked about.
    """

    defaults: Policy = UNLABELLED
    exempt: Exempt = Exempt()


def _shape(version: str) -> Shape:
    texts = Shape(ShapeKind.LIST, "[]string", TEXT)
    members = {name: TEXT for mode in MODES for name in (mode, f"{mode}-version")}
    return of_type_meta(
        f"{version}.PodSecurityConfiguration",
        defaults=declared(f"{version}.PodSecurityDefaults", **members),
        exemptions=declared(
            f"{version}.PodSecurityExemptions",
            usernames=texts,
            namespaces=texts,
            runtimeClasses=texts,
        ),
    )


def configured(data: bytes | None) -> Configuration:
    """Read the plugin's configuration.

    Raises:
        ConfigurationError: it is none; `Uninitialized` if its values make no sense.
    """
    if not data:
        return Configuration()
    value = decode(
        data,
        {
            (f"{GROUP}/{version}", "PodSecurityConfiguration"): _shape(version)
            for version in ("v1", "v1beta1", "v1alpha1")
        },
        location="k8s.io/pod-security-admission/admission/api/scheme/scheme.go:31",
    )
    exemptions = value.get("exemptions") or {}
    defaults = _defaults(value.get("defaults") or {})
    users, namespaces, classes = (
        [one or "" for one in exemptions.get(name) or ()]
        for name in ("usernames", "namespaces", "runtimeClasses")
    )
    causes: list[Cause] = []
    _check(namespaces, "namespaces", dns1123_label, causes)
    _check(classes, "runtimeClasses", dns1123_subdomain, causes)
    _check(users, "usernames", lambda name: [] if name else ["username must not be empty"], causes)
    if causes:
        texts = aggregate(map(str, causes))
        raise Uninitialized(f"PodSecurity invalid: {texts}")
    exempt = Exempt(frozenset(users), frozenset(namespaces), frozenset(classes))
    return Configuration(defaults, exempt)


def _defaults(said: dict[str, str]) -> Policy:
    wrong: list[str] = []

    def standard(mode: str) -> Standard:
        level = said.get(mode) or PRIVILEGED
        if level not in LEVELS:
            wrong.append(f"{mode}: must be one of {', '.join(LEVELS)}")
        minor: int | None = None
        try:
            minor = minor_of(said.get(f"{mode}-version") or LATEST)
        except ValueError:
            wrong.append(f"{mode}-version: {VERSION_MUST}")
        return Standard(level, minor)

    policy = Policy(enforce=standard("enforce"), audit=standard("audit"), warn=standard("warn"))
    if wrong:
        raise Uninitialized(f"PodSecurity configuration error: {aggregate(wrong)}")
    return UNLABELLED if policy == UNLABELLED else policy


def _check(names: list[str], member: str, wrong: Check, causes: list[Cause]) -> None:
    seen: set[str] = set()
    for index, name in enumerate(names):
        path = f"exemptions.{member}[{index}]"
        if why := wrong(name):
            causes.append(invalid(path, name, ", ".join(why)))
        elif name in seen:
            causes.append(duplicate(path, name))
        else:
            seen.add(name)
