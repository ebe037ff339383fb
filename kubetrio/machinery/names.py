"""Names of API types: group, version, kind and resource."""

from __future__ import annotations

import re
from typing import NamedTuple


class GroupVersion(NamedTuple):
    """A group and one of its versions; the core group is the empty string."""

    group: str
    version: str

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` text: ``v1`` for core, else ``group/version``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @classmethod
    def parse(cls, api_version: str) -> GroupVersion:
        """Parse an ``apiVersion`` text.

        Raises:
            ValueError: more than one slash, in Kubernetes' words.
        """
        parts = api_version.split("/")
        if len(parts) == 1:
            return cls("", parts[0])
        if len(parts) == 2:
            return cls(parts[0], parts[1])
        raise ValueError(f"unexpected GroupVersion string: {api_version}")


class GroupVersionKind(NamedTuple):
    """What an object calls itself."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` text."""
        return f"{self.group}/{self.version}" if self.group else self.version


class GroupResource(NamedTuple):
    """What a path calls a collection, without its version: ``deployments.apps`` in messages."""

    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class GroupKind(NamedTuple):
    """A kind without its version: ``Deployment.apps`` in messages."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?", re.ASCII)
_STABILITY = {None: 0, "beta": 1, "alpha": 2}


def version_order(version: str) -> tuple[int, int, int, int, str]:
    """Sort key of versions of a group: the most stable and newest first, then unusual names.

    Source: docs "Versions in CustomResourceDefinitions" (version priority).
    """
    parts = _VERSION.fullmatch(version)
    if parts is None:
        return (1, 0, 0, 0, version)
    major, stability, minor = parts.groups()
    return (0, _STABILITY[stability], -int(major), -int(minor or 0), "")
