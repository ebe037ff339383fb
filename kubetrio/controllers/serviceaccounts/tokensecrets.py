"""Secrets with tokens of service accounts: the day on which a token was last used.

Source: docs "Managing Service Accounts" (legacy tokens), KEP-2799.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kubetrio.machinery.status import conflict
from kubetrio.resources.operations import Operations
from kubetrio.resources.own import OWN
from kubetrio.resources.writes import Target
from kubetrio.schema.registry import LiveRegistry

Object = dict[str, Any]
SECRETS = ("", "v1", "secrets")
LAST_USED = "kubernetes.io/legacy-token-last-used"


def last_used_labels(
    operations: Operations, registry: LiveRegistry
) -> Callable[[str, str, str, str], Awaitable[None]]:
    """What labels a Secret with the day on which its token was used.

    Args:
        operations: writes.
        registry: what is served.
    """

    async def label(namespace: str, name: str, uid: str, day: str) -> None:
        """Set the label.

        Raises:
            ApiError: 404 or 409 when the Secret is no longer there; the store takes no writes.
        """
        kind = registry.resources[SECRETS]

        def labelled(old: Object) -> Object:
            meta = old["metadata"]
            if meta["uid"] != uid:
                raise conflict(kind.group_resource, name, "the Secret is another one")
            labels = dict(sorted({**(meta.get("labels") or {}), LAST_USED: day}.items()))
            return {**old, "metadata": {**meta, "labels": labels}}

        await operations.patch(Target(kind, namespace, name), labelled, OWN)

    return label
