"""References from what a controller makes to the object that it is made for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def controller_reference(
    api_version: str, kind: str, meta: Mapping[str, Any], *, blocks: bool = True
) -> dict[str, Any]:
    """An owner reference to the one object that controls another.

    Args:
        api_version: of the owner.
        kind: the same.
        meta: metadata of the owner, with its name and uid.
        blocks: whether an owner that is deleted in the foreground waits for what has this.

    Source: k8s.io/apimachinery/pkg/apis/meta/v1/controller_ref.go (`NewControllerRef`).
    """
    reference = {
        "apiVersion": api_version,
        "kind": kind,
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
    }
    return {**reference, "blockOwnerDeletion": True} if blocks else reference
