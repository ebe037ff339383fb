"""What all parts of a server stand on."""

from __future__ import annotations

from dataclasses import dataclass

from kubetrio.admission.objectcache import ObjectCache
from kubetrio.aggregation.servicelookup import ResolveService, Services
from kubetrio.api.api import Storage
from kubetrio.config import Config
from kubetrio.env import Env
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.kinds.builtin import registry as builtin_registry
from kubetrio.observe.metrics import Metrics
from kubetrio.outgoing.client import Outgoing
from kubetrio.reloading import Reloader
from kubetrio.resources.listing import Listing
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry
from kubetrio.server.files import Files
from kubetrio.server.parts import Parts
from kubetrio.store.model import Store
from kubetrio.watch.hub import Hub


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What all parts of a server stand on.

    Args:
        config: how it is made.
        files: what the files of the configuration say.
        parts: what an embedder adds.
        env: clocks, randomness and threads.
        storage: objects.
        metrics: counters.
        outgoing: calls webhooks and issuers.
        reloader: reads files again when they change.
        resolve_service: finds Services.
        port: that clients reach.
    """

    config: Config
    files: Files
    parts: Parts
    env: Env
    storage: Storage
    metrics: Metrics
    outgoing: Outgoing
    reloader: Reloader
    resolve_service: ResolveService
    port: int


def make_base(
    config: Config, files: Files, env: Env, store: Store, port: int, parts: Parts
) -> Base:
    """Return what the parts of a server stand on; for the arguments see `Base`."""
    hub = Hub(store, window_bytes=config.memory.window_bytes)
    informers = SharedInformerFactory(store)
    kinds = [*_simulated_kinds(config), *parts.kinds]
    registry = LiveRegistry(builtin_registry().with_resources(kinds))
    listing = Listing(store, hub, config.memory.segments_bytes, config.memory.cache_bytes // 4)
    registry.subscribe(listing.segments.cache.follow)
    resolve = parts.resolve_service
    if resolve is None:
        only = config.aggregation.endpoint_routing
        objects = ObjectCache(informers.dispatcher)
        resolve = Services(objects, registry, env, endpoints_only=only).resolve
    return Base(
        config=config,
        files=files,
        parts=parts,
        env=env,
        storage=Storage(
            registry=registry,
            store=store,
            hub=hub,
            informers=informers,
            listing=listing,
        ),
        metrics=Metrics(),
        outgoing=Outgoing(env),
        reloader=Reloader(env),
        resolve_service=resolve,
        port=port,
    )


def _simulated_kinds(config: Config) -> list[Kind]:
    """The kinds that a simulation brings, none without one."""
    if not config.simulation.nodes:
        return []
    from kubetrio.simulation.metricskinds import metrics_kinds

    return metrics_kinds()
