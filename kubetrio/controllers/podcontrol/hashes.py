"""Hashes in names and labels: of pod templates and of what ControllerRevisions hold.

Source: k8s.io/kubernetes/pkg/controller (``ComputeHash``), its ``history``
(``HashControllerRevision``), k8s.io/apimachinery/pkg/util/rand (``SafeEncodeString``).
"""

from __future__ import annotations

from typing import Any

from kubetrio.controllers.podcontrol.godump import dump

Object = dict[str, Any]

_OFFSET, _PRIME, _MASK = 0x811C9DC5, 0x01000193, 0xFFFFFFFF
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_COUNT_BYTES = 8


def fnv32(data: bytes) -> int:
    """FNV-1 of 32 bits."""
    value = _OFFSET
    for byte in data:
        value = (value * _PRIME & _MASK) ^ byte
    return value


def fnv32a(data: bytes) -> int:
    """FNV-1a of 32 bits."""
    value = _OFFSET
    for byte in data:
        value = (value ^ byte) * _PRIME & _MASK
    return value


def safe(number: int) -> str:
    """A number in letters and digits that form no words."""
    return "".join(_LETTERS[ord(digit) % len(_LETTERS)] for digit in str(number))


def template_hash(template: Object, collisions: int | None = None) -> str:
    """The hash of a pod template: ``pod-template-hash``, or the revision of a DaemonSet.

    Args:
        template: as stored.
        collisions: ``collisionCount`` of its owner's status.
    """
    text = dump("v1.PodTemplateSpec", template).encode()
    if collisions is not None:
        text += collisions.to_bytes(_COUNT_BYTES, "little")
    return safe(fnv32a(text))


def data_hash(data: bytes, collisions: int | None = None) -> str:
    """The hash of what a ControllerRevision holds.

    Args:
        data: its JSON.
        collisions: number of the attempt to find a name that is free.
    """
    tail = b"" if collisions is None else str(collisions).encode()
    return safe(fnv32(data + tail))
