"""The containers of a pod, of all sorts, with their places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Object = dict[str, Any]
MEMBERS = ("initContainers", "containers", "ephemeralContainers")


def containers(spec: Object) -> Iterator[tuple[str, Object]]:
    """Each container with its path, those that start first before others.

    Args:
        spec: of a pod.
    """
    for member in MEMBERS:
        for index, container in enumerate(spec.get(member) or ()):
            yield f"spec.{member}[{index}]", container
