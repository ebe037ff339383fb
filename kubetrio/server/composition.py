"""One composition: the server that runs, without what it listens on.

`open_server` puts sockets before it, tests talk to it in memory: it is the same for both, and for
the embedding program.
"""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from kubetrio.admission.configuration import ConfigurationError
from kubetrio.allocation.repair import AddressRepair
from kubetrio.allocation.servicerange import DefaultServiceRange
from kubetrio.api.pipeline import Pipeline
from kubetrio.auth.trust import ClusterAuthorities
from kubetrio.bootstrap.authorities import PublishedAuthorities, Trusted
from kubetrio.bootstrap.election import LeaderElection
from kubetrio.bootstrap.flowconfig import FlowConfig
from kubetrio.bootstrap.masterleases import MasterLeases
from kubetrio.bootstrap.objects import Bootstrap, service_ip
from kubetrio.bootstrap.ownservice import OwnService
from kubetrio.bootstrap.roles import DefaultRoles
from kubetrio.config import Config
from kubetrio.controllers.controller import Context
from kubetrio.controllers.table import (
    TABLE,
    WITH_NODES,
    Row,
    UnknownController,
    chosen,
    made,
    wanted,
)
from kubetrio.crd.controller import CRDController
from kubetrio.crd.webhookconversion import converters
from kubetrio.env import Env
from kubetrio.informers.workqueue import queue_families
from kubetrio.machinery.status import ApiError
from kubetrio.observe.logs import Log
from kubetrio.outgoing.client import Outgoing
from kubetrio.plugins.table import enabled
from kubetrio.plugins.webhooks.plugins import WebhookClientConfig
from kubetrio.runtime.groups import leaves
from kubetrio.runtime.supervise import run_forever_with_backoff
from kubetrio.server import tlsfiles
from kubetrio.server.assembly import Assembly, assemble
from kubetrio.server.backgroundtasks import BackgroundTasks
from kubetrio.server.engines import table as engines
from kubetrio.server.engines.table import UnknownEngine
from kubetrio.server.files import Files, StartError, load_files
from kubetrio.server.health import State
from kubetrio.server.parts import Parts, open_plain
from kubetrio.server.resetting import SnapshotRestorer
from kubetrio.server.sampling import sampler
from kubetrio.store.consistent import consistent
from kubetrio.store.errors import StoreError
from kubetrio.store.model import Store
from kubetrio.tls import pki

if TYPE_CHECKING:
    from kubetrio.auth.issuing import TokenIssuer
    from kubetrio.encryption.control import Encryption

log = Log("kubetrio.server")
LEADER = "kubetrio-controllers"
"""Lease of the server that runs the controllers, in kube-system."""
WRITES_AGAIN_S = 1.0
CLOSING_S = 1.0  # for connections to others


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """A server that answers requests and does nothing of its own accord.

    Args:
        config: how it was made.
        assembly: its pipeline, and what runs beside that.
        state: what health checks look at.
        flow_config: keeps the objects of flow control, None without them.
        table: its controllers, whether they run or not.
        trusted: authorities it believes, and what it signs with.
        definitions: has custom resources served.
        port: that clients reach.
        servers: says which servers there are, None where this is the only one.
    """

    config: Config
    assembly: Assembly
    state: State
    flow_config: FlowConfig | None
    table: Mapping[str, Row]
    trusted: Trusted
    definitions: CRDController
    port: int
    servers: MasterLeases | None

    @property
    def api(self) -> Pipeline:
        """The pipeline."""
        return self.assembly.api

    async def keep(self, nursery: trio.Nursery, spared: Collection[str] = ()) -> SnapshotRestorer:
        """Begin what a server does of its own accord.

        Args:
            nursery: where it runs, until cancelled.
            spared: keys that resets leave as they are, for the server itself renews them.

        Returns:
            What goes back to former states, and stops these tasks meanwhile.
        """
        fairness = self.assembly.fairness
        if fairness is not None:
            await nursery.start(fairness.gate.run, name="flow control")
        background = self._background()
        nursery.start_soon(background.run, name="background")
        return SnapshotRestorer(self.api, background, spared)

    def _background(self) -> BackgroundTasks:
        config, built = self.config, self.assembly
        api = built.api
        storage, security, writes = api.storage, api.security, api.writes
        aggregation = api.edge.delegation.aggregation
        objects = _objects(config, api, self.port, self.servers)
        own_service = OwnService(objects, storage.informers.dispatcher)
        runs: dict[str, Callable[[], Awaitable[object]]] = {
            "service range": _default_range(config, api).run,
            "own service": own_service.run,
        }
        trust = ClusterAuthorities(
            self.trusted.root, security.authorizer.authorize, security.issuer, self.trusted.signing
        )
        context = Context(
            storage.registry,
            writes.operations,
            storage.informers,
            writes.quotas,
            built.env,
            config,
            trust,
            aggregation,
        )
        led = made(wanted(config), context, self.table)
        _tell_of_simulation(config, [one.name for one in led])
        # As post-start hooks of kube-apiserver: each server serves what its own say.
        own = [self.definitions, _repair(api), *aggregation.controllers]
        queues = [one.queue for one in (*own[1:], *led)]
        api.edge.metrics.gathered.add(lambda: queue_families(queues))
        if self.flow_config is not None:
            runs["flow control configuration"] = self.flow_config.run
        always: dict[str, Callable[[], Awaitable[object]]] = {
            "bad credentials": security.authenticator.attempts.run,
            "published authorities": _published(api, self.trusted).run,
            "objects of the server": partial(_write_later, self.state, storage.store),
            "changed files": built.reloader.run,
            "last hour": partial(
                api.edge.metrics.hour.run,
                sampler(api.edge.metrics, storage.store, built.env.now),
            ),
            **security.authenticator.tasks,
        }
        if storage.store.shared:
            always["node ports"] = writes.allocators.keep_ports
        return BackgroundTasks(runs, own, always, led=led, election=_election(api))


def _tell_of_simulation(config: Config, running: Sequence[str]) -> None:
    """Say which controllers a simulation brings, where there is one."""
    nodes = config.simulation.nodes
    if nodes:
        names = [name for name in running if name in WITH_NODES]
        log.info("nodes are simulated", nodes=nodes, controllers=" ".join(names))


def known_names(config: Config, parts: Parts) -> Mapping[str, Row]:
    """The table of controllers, after a look at names of engines, controllers and plugins.

    Raises:
        StartError: one is named that is not there.
    """
    table = {**TABLE, **parts.controllers}
    try:
        chosen(wanted(config), table)
    except UnknownController as error:
        raise StartError(f"--controllers: {error}") from error
    try:
        engines.chosen(config)
        enabled(config.admission, parts.admission)
    except (ConfigurationError, UnknownEngine) as error:
        raise StartError(str(error)) from error
    return table


def check_files(config: Config, parts: Parts) -> Files:
    """Read and check every file that flags name, before anything is written.  Blocking.

    Raises:
        StartError: one cannot be used; one line says which.
    """
    try:
        tlsfiles.check_given(config)
        return load_files(config, parts.admission)
    except pki.PkiError as error:
        raise StartError(str(error)) from error


@asynccontextmanager
async def open_core(
    config: Config,
    files: Files,
    env: Env,
    parts: Parts,
    port: int,
    trusted: Trusted,
    issuer: TokenIssuer | None,
) -> AsyncIterator[Core]:
    """Run a server without sockets for as long as the block lasts.

    Args:
        config: how.
        files: what the files of the configuration say.
        env: clocks, randomness and threads.
        parts: what an embedder adds.
        port: port that clients reach, for documents and objects that name it.
        trusted: authorities it believes.
        issuer: signs service account tokens, None without a key.

    Raises:
        StartError: the store takes no writes, the audit log cannot be written, or a controller or
            an admission plugin is named that is not there.
        StoreError: the data directory is in use, foreign or damaged.
    """
    table = known_names(config, parts)
    encryption = _encryption(config, files, env)
    async with open_plain(parts, config, encryption, env) as plain:
        store = consistent(plain)
        state = State()
        built = assemble(
            config, files, env, store, state, port, parts, encryption=encryption, issuer=issuer
        )
        auditor = built.api.edge.auditor
        async with _closing(built.outgoing), trio.open_nursery() as nursery:
            _start(built, nursery)
            servers = _servers(config, store)
            keeper = await bootstrap(config, built, state, port, trusted, servers)
            definitions = _definitions(built)
            await definitions.load()
            _count_objects(built, nursery)
            try:
                yield Core(
                    config=config,
                    assembly=built,
                    state=state,
                    flow_config=keeper,
                    table=table,
                    trusted=trusted,
                    definitions=definitions,
                    port=port,
                    servers=servers,
                )
            finally:
                if auditor is not None:
                    await auditor.close(config.serving.shutdown_grace_s)
            nursery.cancel_scope.cancel()


def _start(built: Assembly, nursery: trio.Nursery) -> None:
    """Start the tasks that bootstrapping needs: the watch hub, redelivery, audit and memory."""
    storage, auditor = built.api.storage, built.api.edge.auditor
    nursery.start_soon(run_forever_with_backoff, storage.hub.run, "watch hub", name="watch hub")
    redeliver = storage.informers.dispatcher.redelivery.run
    nursery.start_soon(run_forever_with_backoff, redeliver, "redelivery", name="redelivery")
    if auditor is not None:
        nursery.start_soon(auditor.run, name="audit")
    if built.memory is not None:
        nursery.start_soon(run_forever_with_backoff, built.memory.run, "memory", name="memory")


def _count_objects(built: Assembly, nursery: trio.Nursery) -> None:
    """Start counting stored objects, by which flow control estimates the work of a list."""
    if built.fairness is not None:
        count = partial(built.fairness.counts.run, built.api.storage.informers.dispatcher)
        nursery.start_soon(run_forever_with_backoff, count, "object counts", name="object counts")


@asynccontextmanager
async def _closing(outgoing: Outgoing) -> AsyncIterator[None]:
    """Close connections to others at the end of the block."""
    try:
        yield
    finally:
        with trio.move_on_after(CLOSING_S, shield=True):
            await outgoing.close()


def _encryption(config: Config, files: Files, env: Env) -> Encryption | None:
    """Encryption of the store, None where it has none."""
    path = config.encryption.provider_config
    if files.encryption is None or path is None:
        return None
    from kubetrio.encryption.control import Encryption

    return Encryption(path, files.encryption, env, reload=config.encryption.automatic_reload)


def _definitions(built: Assembly) -> CRDController:
    """What has custom resources served, and converted by the webhooks that they name."""
    storage = built.api.storage
    reach = WebhookClientConfig(
        outgoing=built.outgoing, env=built.env, resolve_service=built.resolve_service
    )
    return CRDController(
        storage.registry,
        built.api.writes.operations,
        storage.informers,
        storage.store,
        built.env,
        converters(reach),
    )


def _election(api: Pipeline) -> LeaderElection | None:
    """Who runs the controllers, None where no other server can."""
    storage = api.storage
    if not storage.store.shared:
        return None
    return LeaderElection(
        storage.registry, api.writes.operations, storage.store, api.edge.env, name=LEADER
    )


def _repair(api: Pipeline) -> AddressRepair:
    storage, writes = api.storage, api.writes
    return AddressRepair(
        storage.registry,
        writes.operations,
        storage.informers.dispatcher,
        writes.allocators,
        api.edge.env,
    )


def _default_range(config: Config, api: Pipeline) -> DefaultServiceRange:
    return DefaultServiceRange(
        api.storage.registry,
        api.writes.operations,
        api.storage.informers.dispatcher,
        api.edge.env,
        config.services.ranges,
    )


def _published(api: Pipeline, trusted: Trusted) -> PublishedAuthorities:
    return PublishedAuthorities(
        api.storage.registry,
        api.writes.operations,
        api.storage.informers.dispatcher,
        api.edge.env,
        trusted,
    )


def _servers(config: Config, store: Store) -> MasterLeases | None:
    """What says which servers there are, None where this one is alone or does not tell."""
    if not store.shared or config.serving.endpoint_reconciler == "none":
        return None
    return MasterLeases(store, _ip(config.serving.public_address))


def _objects(config: Config, api: Pipeline, port: int, servers: MasterLeases | None) -> Bootstrap:
    return Bootstrap(
        api.storage.registry,
        api.writes.operations,
        api.storage.store,
        address=_ip(config.serving.public_address),
        port=port,
        service_ip=service_ip(config.services.ranges[0]),
        now=api.edge.env.now(),
        servers=servers,
        reconciles=config.serving.endpoint_reconciler != "none",
    )


def _simulated_roles(config: Config) -> Sequence[dict[str, Any]]:
    """The roles that a simulation brings, none without one."""
    if not config.simulation.nodes:
        return ()
    from kubetrio.simulation.metricskinds import ROLE

    return (dict(ROLE),)


async def bootstrap(
    config: Config,
    built: Assembly,
    state: State,
    port: int,
    trusted: Trusted,
    servers: MasterLeases | None = None,
) -> FlowConfig | None:
    """Make the objects that every cluster has; returns what keeps those of flow control.

    Args:
        config: how.
        built: the server, on an open store.
        state: what health checks look at.
        port: port that clients reach.
        trusted: authorities it believes.
        servers: says which servers there are, None where this is the only one.

    Raises:
        StartError: the store takes no writes.
    """
    api, fairness = built.api, built.fairness
    storage, operations = api.storage, api.writes.operations
    objects = _objects(config, api, port, servers)
    more = _simulated_roles(config)
    roles = DefaultRoles(storage.registry, operations, storage.informers, more)

    async def own_objects() -> None:
        await _default_range(config, api).keep()
        await objects.run()
        await _published(api, trusted).publish()
        await roles.run()

    keeper: FlowConfig | None = None
    try:
        await api.security.rbac.sync()
        await api.edge.delegation.aggregation.routes.sync()
        await built.authorizers.start()
        await api.writes.allocators.start()
        if await _written(own_objects, storage.store):
            state.ready()
        if fairness is not None:
            prefixes = {kind.storage_prefix for kind in storage.registry.resources.values()} - {""}
            await fairness.counts.load(storage.informers.dispatcher, prefixes)
            keeper = FlowConfig(
                storage.registry, operations, storage.informers, fairness.gate, built.env
            )
            await _written(keeper.produce, storage.store)
            await keeper.consume()
    except* ApiError as group:
        reason = next(leaves(group))
        raise StartError(f"cannot write what every cluster has: {reason}") from reason
    if not state.bootstrapped:
        state.wait_for_room(own_objects)
    return keeper


async def _written(write: Callable[[], Awaitable[None]], store: Store) -> bool:
    """Write objects of the server itself; False where there is no room on the disk for them."""
    done = True
    try:
        await write()
    except* (ApiError, StoreError):  # of several tasks
        if not store.statistics().refusing:
            raise
        log.warning("objects of the server itself wait for room on the disk")
        done = False
    return done


async def _write_later(state: State, store: Store) -> None:
    """Write what there was no room for, when there is; then wait until cancelled."""
    while state.unwritten is not None and not state.bootstrapped:
        await trio.sleep(WRITES_AGAIN_S)
        if not store.statistics().refusing:
            await state.unwritten()
            state.ready()
    await trio.sleep_forever()


def _ip(address: str) -> str:
    """An IP address for endpoints; a host name has none that is sure to be right."""
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return "127.0.0.1"
