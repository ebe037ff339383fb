"""What is counted of a server, for its page of metrics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kubetrio.api.api import Api
from kubetrio.api.flowcontrol import PriorityAndFairness
from kubetrio.api.pages import selfmetrics
from kubetrio.api.pipeline import Pipeline
from kubetrio.audit.counting import Counting
from kubetrio.auth.issuedtokens import IssuedTokens
from kubetrio.auth.tokencache import CachedTokens, families_of
from kubetrio.cel.times import families as cel_families
from kubetrio.config import Config
from kubetrio.flow.exposition import families
from kubetrio.machinery.remember import CacheSize, fills
from kubetrio.observe import prometheus
from kubetrio.observe.metrics import (
    Metrics,
    cache_families,
    fault_families,
    gauge,
    object_families,
    seat_families,
)
from kubetrio.observe.series import gauges
from kubetrio.outgoing.client import Outgoing
from kubetrio.reloading import Reloader
from kubetrio.schema import builtin
from kubetrio.store.model import Store
from kubetrio.watch.hub import Hub

if TYPE_CHECKING:
    from kubetrio.encryption.control import Encryption

STORE_NAME = ("storage_cluster_id",)
MEMBER_NAME = ("endpoint",)


def gather(
    config: Config,
    api: Pipeline,
    *,
    fairness: PriorityAndFairness | None,
    tokens: IssuedTokens,
    caches: Sequence[CachedTokens],
    audited: Counting,
    outgoing: Outgoing,
    reloader: Reloader,
    encryption: Encryption | None,
) -> None:
    """Have all parts of a server asked for what they count.

    Args:
        config: of the server.
        api: its pipeline.
        fairness: API Priority and Fairness, None without it.
        tokens: tokens that it gives out.
        caches: what it remembers of other tokens.
        audited: events of the audit log.
        outgoing: calls to others.
        reloader: files that are read again.
        encryption: of the store, if it is encrypted.
    """
    parts = api.parts
    security, edge = parts.security, parts.edge
    add = edge.metrics.gathered.add
    add(parts.writes.admission.families)
    add(edge.delegation.aggregation.availability.families)
    add(audited.families)
    _gather_storage(edge.metrics, parts.storage.store, parts.storage.hub)
    add(partial(_redelivered, parts))
    if encryption is not None:
        add(encryption.metrics.families)
    add(parts.storage.listing.counts.families)
    add(security.authenticator.attempts.families)
    add(partial(families_of, security.authenticator, caches))
    add(security.impersonation.families)
    add(outgoing.families)
    add(cel_families)
    add(parts.writes.allocators.families)
    for source in selfmetrics.families_of(_gates, config.feature_gates):
        add(source)
    add(security.authorizations.families)
    add(tokens.families)
    add(security.authorizer.counts.families)
    add(reloader.families)
    add(lambda: cache_families((*_fills(parts, fairness), *tokens.fills())))
    add(lambda: fault_families(api.faults.counts))
    add(partial(seat_families, edge.flow.executing, edge.flow.queued))
    if fairness is not None:
        gate, hub = fairness.gate, parts.storage.hub
        counted = config.storage.count_interval_s > 0
        add(lambda: families(gate.snapshot()))
        add(lambda: object_families(fairness.stored_objects(), hub.revision, counted=counted))


def _redelivered(api: Api) -> Iterable[prometheus.Metric]:
    storage = api.storage
    failed = {
        "watches": storage.hub.failed,
        "commits": storage.store.statistics().failed_listeners,
    }
    return storage.informers.dispatcher.redelivery.families(failed)


def _gates() -> dict[str, tuple[str, bool]]:
    """Stage and default of the feature gates that there are."""
    known: dict[str, tuple[str, bool]] = builtin.load("flags")["featureGates"]
    return known


def _fills(api: Api, fairness: PriorityAndFairness | None) -> Iterable[CacheSize]:
    """How full the caches of a server are, and those that the process has for all of them."""
    yield from fills()
    yield CacheSize("auth/authenticate", *api.security.authenticator.remembered())
    yield CacheSize("auth/rbac/authorizer", api.security.rbac.remembered(), None)
    if fairness is not None:
        requests, classes = fairness.gate.remembered()
        yield CacheSize("flow/entries", requests, None)
        yield CacheSize("flow/classify", classes, None)
    if api.edge.auditor is not None:
        yield CacheSize("audit/policy", api.edge.auditor.policy.remembered(), None)
    yield CacheSize("api/encoding/cache", api.edge.cache.entries, api.edge.cache.bytes)
    segments = api.storage.listing.segments.cache
    yield CacheSize("resources/segments/cache", segments.entries, segments.bytes)
    recent = api.storage.listing.recent
    yield CacheSize("resources/recentreads", recent.entries, recent.bytes)
    numbers, watching = api.storage.store.statistics(), api.storage.hub.statistics()
    for cache in numbers.caches:
        yield CacheSize(*cache)
    yield CacheSize("watch/window", watching.window_events, watching.window_bytes)


def _gather_storage(metrics: Metrics, store: Store, hub: Hub) -> None:
    def collect() -> list[object]:
        numbers, watching = store.statistics(), hub.statistics()
        rows = (
            *numbers.own,
            ("kubetrio_storage_revision", "Newest revision.", numbers.revision),
            ("kubetrio_storage_compacted_revision", "Oldest readable revision.", numbers.compacted),
            ("kubetrio_storage_writes", "Revisions made since start.", numbers.writes),
            ("kubetrio_storage_queued_writes", "Writes waiting.", numbers.queued),
            ("kubetrio_watchers", "Open watches.", watching.watchers),
            ("kubetrio_watchers_live", "Watches that are up to date.", watching.live),
            ("kubetrio_watch_window_bytes", "Bytes of recent events.", watching.window_bytes),
        )
        size = [((numbers.cluster,), float(numbers.size_bytes))] if numbers.size_bytes else []
        members = [((url,), float(size)) for url, size in numbers.members.items()]
        old = "apiserver_storage_db_total_size_in_bytes"
        return [
            gauges("apiserver_storage_size_bytes", "Bytes of the database file.", STORE_NAME, size),
            *([gauges(old, "The same by member.", MEMBER_NAME, members)] if members else ()),
            *(gauge(name, text, float(value)) for name, text, value in rows),
        ]

    metrics.gathered.add(collect)  # type: ignore[arg-type]
