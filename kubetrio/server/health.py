"""What health checks of a server look at, and the checks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from kubetrio.api.pages.health import HOOK, Check, Health
from kubetrio.config import Storage
from kubetrio.store.errors import StoreError
from kubetrio.store.model import Store

if TYPE_CHECKING:
    from kubetrio.encryption.control import Encryption


class State:
    """How far a server has come.

    Attributes:
        bootstrapped: whether what every cluster has is written.
        stopping: whether it is on its way to its end.
        unwritten: writes what there was no room for on the disk.
    """

    __slots__ = ("bootstrapped", "stopping", "unwritten")

    def __init__(self, *, bootstrapped: bool = False) -> None:
        self.bootstrapped = bootstrapped
        self.stopping = False
        self.unwritten: Callable[[], Awaitable[None]] | None = None

    def ready(self) -> None:
        """Note that what every cluster has is written."""
        self.bootstrapped = True
        self.unwritten = None

    def wait_for_room(self, write: Callable[[], Awaitable[None]]) -> None:
        """Note what is written when there is room on the disk."""
        self.unwritten = write

    def stop(self) -> None:
        """Note that the server stops."""
        self.stopping = True


def health_checks(
    state: State, store: Store, limits: Storage, encryption: Encryption | None = None
) -> Health:
    """The checks of kube-apiserver, and what is behind each of them here.

    Args:
        state: what the server says of itself.
        store: asked whether it answers.
        limits: how long it may take for that.
        encryption: its plugins are asked how they are.
    """
    health = Health()

    def bootstrapped() -> str | None:
        return None if state.bootstrapped else "not finished"

    def stopping() -> str | None:
        return "process is shutting down" if state.stopping else None

    def storage(limit_s: float) -> Check:
        async def check() -> str | None:
            try:
                await store.probe(limit_s)
            except StoreError as error:
                return f"error getting data from etcd: {error}"
            return None

        return check

    def space() -> str | None:
        return store.statistics().refusing or None

    health.add("ping", lambda: None)
    health.add("log", lambda: None)
    if encryption is not None and encryption.checked:
        health.add("kms-providers", encryption.unhealthy, ["healthz", "readyz"])
    # This server talks to itself without a connection, so no certificate of one can expire.
    health.add("loopback-serving-certificate", lambda: None, ["healthz", "livez"])
    health.add("etcd", storage(limits.healthcheck_timeout_s))
    ready = storage(limits.readycheck_timeout_s)
    health.add("etcd-readiness", ready, ["readyz"])
    health.add("informer-sync", bootstrapped, ["readyz"])
    if encryption is not None and encryption.reloads:
        health.add(f"{HOOK}start-encryption-provider-config-automatic-reload", bootstrapped)
    health.add_hooks(bootstrapped, {"storage-readiness": ready})
    health.add("storage-space", space, ["readyz"])
    health.add("shutdown", stopping, ["readyz"])
    return health
