"""What a namespace's labels ask of its pods: levels and versions of the Pod Security Standards.

Source: docs "Pod Security Admission", "Pod Security Standards"; KEP-2579.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kubetrio.gotext.numbers import is_int64
from kubetrio.machinery import fielderrors
from kubetrio.machinery.status import Cause

PREFIX = "pod-security.kubernetes.io/"
PRIVILEGED, BASELINE, RESTRICTED = LEVELS = ("privileged", "baseline", "restricted")
LATEST = "latest"
VERSION_MUST = 'must be "latest" or "v1.x"'
_VERSION = re.compile(r"v1\.(0|[1-9][0-9]*)")


@dataclass(frozen=True, slots=True)
class Standard:
    """A level as some version of Kubernetes defines it.

    Args:
        level: one of `LEVELS`.
        minor: of the version 1.x; None for the latest.
    """

    level: str = PRIVILEGED
    minor: int | None = None

    def __str__(self) -> str:
        return f"{self.level}:{LATEST if self.minor is None else f'v1.{self.minor}'}"

    def tightens(self, other: Standard) -> bool:
        """Whether pods that are fine by another standard may violate this one."""
        if self == other or self.level == PRIVILEGED:
            return False
        same_version = self.minor == other.minor
        return not same_version or LEVELS.index(self.level) > LEVELS.index(other.level)


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds in a namespace.

    Args:
        enforce: what pods must fulfil.
        audit: what else is noted for the audit log.
        warn: what else is warned of.
        causes: labels that make no sense; what they should say is guessed.
    """

    enforce: Standard = Standard()
    audit: Standard = Standard()
    warn: Standard = Standard()
    causes: tuple[Cause, ...] = ()

    def beside(self, defaults: Policy) -> bool:
        """Whether it asks for something, and for something else than by default."""
        mine = (self.enforce, self.audit, self.warn)
        if all(standard.level == PRIVILEGED for standard in mine):
            return False
        return mine != (defaults.enforce, defaults.audit, defaults.warn)

    @property
    def advises(self) -> bool:
        """Whether there is anything to say where nothing is enforced."""
        lax = self.audit.level == self.warn.level == PRIVILEGED
        return not lax or bool(self.causes)

    @property
    def concerns_pods(self) -> bool:
        """Whether pods have to be looked at."""
        return self.enforce.level != PRIVILEGED or self.advises


UNLABELLED = Policy()


def minor_of(version: str) -> int | None:
    """The minor of a version such as ``v1.34``, None for the latest.

    Raises:
        ValueError: it is none.
    """
    if version == LATEST:
        return None
    parts = _VERSION.fullmatch(version)
    if parts is None or not is_int64(minor := int(parts[1])):
        raise ValueError(VERSION_MUST)
    return minor


def policy_of(labels: Mapping[str, str], defaults: Policy = UNLABELLED) -> Policy:
    """The policy of a namespace with these labels; `defaults` itself when none is about it.

    A level that is none enforces the strictest, but neither audits nor warns; a version that is
    none is the latest.  What is enforced is warned of, where no label says of what to warn.
    """
    if not any(label.startswith(PREFIX) for label in labels):
        return defaults
    causes: list[Cause] = []

    def standard(mode: str, unknown: str, default: Standard) -> Standard:
        level = labels.get(PREFIX + mode, default.level)
        if level not in LEVELS:
            causes.append(_invalid(mode, level, f"must be one of {', '.join(LEVELS)}"))
            level = unknown
        text = labels.get(f"{PREFIX}{mode}-version")
        if text is None:
            return Standard(level, default.minor)
        try:
            return Standard(level, minor_of(text))
        except ValueError as error:
            causes.append(_invalid(f"{mode}-version", text, str(error)))
            return Standard(level)

    enforce = standard("enforce", RESTRICTED, defaults.enforce)
    audit = standard("audit", PRIVILEGED, defaults.audit)
    warn = standard("warn", PRIVILEGED, defaults.warn)
    unsaid = PREFIX + "warn" not in labels
    stricter = LEVELS.index(enforce.level) > LEVELS.index(warn.level)
    if unsaid and stricter and labels.get(PREFIX + "enforce") in LEVELS:
        own_version = f"{PREFIX}warn-version" in labels
        warn = Standard(enforce.level, warn.minor if own_version else enforce.minor)
    return Policy(enforce=enforce, audit=audit, warn=warn, causes=tuple(causes))


def _invalid(label: str, value: str, why: str) -> Cause:
    return fielderrors.invalid(f"metadata.labels[{PREFIX}{label}]", value, why)
