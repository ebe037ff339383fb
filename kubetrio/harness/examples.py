"""A small valid object of every built-in kind that can be created and is stored."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from kubetrio.schema.kind import Kind

_FILE = Path(__file__).with_name("examples.json")
NAMED_BY_RULE = frozenset(
    {
        "apiextensions.k8s.io/v1 CustomResourceDefinition",
        "apiregistration.k8s.io/v1 APIService",
        "networking.k8s.io/v1 IPAddress",
    }
)
"""Kinds whose names follow from the rest of the object."""


@cache
def _examples() -> Mapping[str, dict[str, Any]]:
    examples: Mapping[str, dict[str, Any]] = json.loads(_FILE.read_bytes())
    return examples


def kinds() -> tuple[str, ...]:
    """Names of the kinds, such as ``apps/v1 Deployment``, in the order of the alphabet."""
    return tuple(_examples())


def example(kind: str) -> dict[str, Any]:
    """Return a small valid object; one with a namespace is in ``default``.

    Args:
        kind: one of `kinds`.

    Raises:
        KeyError: it is none of them.
    """
    return copy.deepcopy(_examples()[kind])


def named(kind: Kind) -> str:
    """The name of a kind as `kinds` has it."""
    return f"{kind.api_version} {kind.kind}"
