"""One composition: the server that runs, without what it listens on.

`open_server` puts sockets before it, tests talk to it in memory: it is the same for both, and for
whoever embeds it.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn, cast

import trio

from kubetrio.admission.configuration import ConfigurationError
from kubetrio.allocation.allocation import ServiceAllocator
from kubetrio.allocation.repair import AddressRepair
from kubetrio.allocation.servicerange import DefaultServiceRange
from kubetrio.api.flowcontrol import PriorityAndFairness
from kubetrio.api.pipeline import Pipeline
from kubetrio.auth.trust import Trust
from kubetrio.bootstrap.authorities import PublishedAuthorities, Trusted
from kubetrio.bootstrap.flowconfig import FlowConfig
from kubetrio.bootstrap.objects import Bootstrap, service_ip
from kubetrio.bootstrap.ownservice import OwnService
from kubetrio.bootstrap.roles import DefaultRoles
from kubetrio.config import Config
from kubetrio.config.flag import values
from kubetrio.config.kinds import FILE, FILES
from kubetrio.controllers.controller import Context
from kubetrio.controllers.table import TABLE, Row, UnknownController, chosen, made
from kubetrio.crd.controller import CRDController
from kubetrio.crd.webhookconversion import converters
from kubetrio.env import Env
from kubetrio.informers.workqueue import queue_families
from kubetrio.machinery.status import ApiError
from kubetrio.observe.logs import Log
from kubetrio.plugins.table import enabled
from kubetrio.plugins.webhooks.plugins import WebhookClientConfig
from kubetrio.runtime.groups import leaves
from kubetrio.runtime.supervise import persevere
from kubetrio.server.assembly import (
    Parts,
    StartError,
    State,
    build_api,
    encrypted,
    encryption_of,
    service_resolver,
)
from kubetrio.server.resetting import Resets
from kubetrio.server.upkeep import Upkeep
from kubetrio.store.errors import StoreError
from kubetrio.store.model import Store

log = Log("kubetrio.server")
WRITES_AGAIN_S = 1.0
CLOSING_S = 1.0  # for connections to others


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """A server that answers requests and does nothing of its own accord.

    Args:
        config: how it was made.
        api: the pipeline.
        state: what health checks look at.
        flow_config: keeps the objects of flow control, None without them.
        table: its controllers, whether they run or not.
        trusted: whom it believes.
        definitions: has custom resources served.
        port: that clients reach.
    """

    config: Config
    api: Pipeline
    state: State
    flow_config: FlowConfig | None
    table: Mapping[str, Row]
    trusted: Trusted
    definitions: CRDController
    port: int

    async def keep(self, nursery: trio.Nursery) -> Resets:
        """Begin what a server does of its own accord.

        Args:
            nursery: where it runs, until cancelled.

        Returns:
            What goes back to former states, and stops these tasks meanwhile.
        """
        api = self.api
        if isinstance(api.flow, PriorityAndFairness):
            await nursery.start(api.flow.gate.run, name="flow control")
        upkeep = self._upkeep()
        nursery.start_soon(upkeep.run, name="upkeep")
        return Resets(api, upkeep)

    def _upkeep(self) -> Upkeep:
        config, api = self.config, self.api
        own_service = OwnService(_objects(config, api, self.port), api.informers.dispatcher)
        runs: dict[str, Callable[[], Awaitable[object]]] = {
            "service range": _default_range(config, api).run,
            "own service": own_service.run,
        }
        trust = Trust(self.trusted.root, api.authorizer.authorize, api.issuer, self.trusted.signing)
        context = Context(
            api.registry,
            api.operations,
            api.informers,
            api.quotas,
            api.env,
            config,
            trust,
            api.aggregation,
        )
        controllers = [
            _repair(api),
            *made(config.controllers, context, self.table),
            *api.aggregation.controllers,
        ]
        api.metrics.gathered.add(lambda: queue_families(one.queue for one in controllers))
        if self.flow_config is not None:
            runs["flow control configuration"] = self.flow_config.run
        always: dict[str, Callable[[], Awaitable[object]]] = {
            "bad credentials": api.authenticator.attempts.run,
            "published authorities": _published(api, self.trusted).run,
            "objects of the server": partial(_write_later, self.state, api.store),
            "changed files": api.reloader.run,
            **api.authenticator.tasks,
        }
        return Upkeep(runs, [self.definitions, *controllers], always)


def known_names(config: Config, parts: Parts) -> Mapping[str, Row]:
    """The table of controllers, after a look at the names of controllers and admission plugins.

    Raises:
        StartError: one is named that is not there.
    """
    table = {**TABLE, **parts.controllers}
    try:
        chosen(config.controllers, table)
    except UnknownController as error:
        raise StartError(f"--controllers: {error}") from error
    try:
        enabled(config.admission, parts.admission)
    except ConfigurationError as error:
        raise StartError(str(error)) from error
    return table


class _NoStore:
    """Stands for the store while a pipeline is made that nobody will use."""

    revision = 0

    def on_commit(self, hook: object) -> None:
        """There will be none."""

    on_progress = on_commit

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(f"{name} of a store that is not open")


def rehearse(config: Config, env: Env, parts: Parts, port: int) -> None:
    """Read all files that flags name, as a server would, and write nothing.  Blocking.

    It makes the parts of a pipeline and drops them.  Without such files there is nothing to do.

    Raises:
        StartError: one cannot be used; one line says which.
    """
    named = (value for row, value in values(config) if row.flag.kind in (FILE, FILES))
    if not any(named):
        return
    quiet = replace(config, audit=replace(config.audit, log_path=""))  # which would be made
    level = logging.root.manager.disable
    logging.disable()  # what there is to say is said when it is done in earnest
    try:
        encryption = encryption_of(config, env)
        build_api(quiet, env, cast("Store", _NoStore()), State(), port, parts, encryption)
    finally:
        logging.disable(level)


@asynccontextmanager
async def open_core(
    config: Config, env: Env, parts: Parts, port: int, trusted: Trusted | None = None
) -> AsyncIterator[Core]:
    """Run a server without sockets for as long as the block lasts.

    Args:
        config: how.
        env: clocks, randomness and threads.
        parts: what an embedder adds.
        port: port that clients reach, for documents and objects that name it.
        trusted: whom it believes; nobody when None.

    Raises:
        StartError: the store takes no writes, the token file cannot be used, or a controller or
            an admission plugin is named that is not there.
        StoreError: the data directory is in use, foreign or damaged.
    """
    table = known_names(config, parts)
    encryption = encryption_of(config, env)
    async with (
        parts.open_store(config, env) as engine,
        encrypted(encryption, engine, env) as store,
    ):
        state, trusted = State(), trusted or Trusted()
        api = build_api(config, env, store, state, port, parts, encryption)
        async with _closing(api), trio.open_nursery() as nursery:
            nursery.start_soon(persevere, api.hub.run, "watch hub", name="watch hub")
            again = api.informers.dispatcher.redelivery.run
            nursery.start_soon(persevere, again, "redelivery", name="redelivery")
            if api.auditor is not None:
                nursery.start_soon(api.auditor.run, name="audit")
            keeper = await bootstrap(config, api, state, port, trusted)
            resolve = service_resolver(config, env, parts, api.registry, api.informers)
            definitions = CRDController(
                api.registry,
                api.operations,
                api.informers,
                api.store,
                api.env,
                converters(
                    WebhookClientConfig(outgoing=api.outgoing, env=env, resolve_service=resolve)
                ),
            )
            await definitions.load()
            if isinstance(api.flow, PriorityAndFairness):
                counting = partial(api.flow.counts.run, api.informers.dispatcher)
                nursery.start_soon(persevere, counting, "object counts", name="object counts")
            try:
                yield Core(
                    config=config,
                    api=api,
                    state=state,
                    flow_config=keeper,
                    table=table,
                    trusted=trusted,
                    definitions=definitions,
                    port=port,
                )
            finally:
                if api.auditor is not None:
                    await api.auditor.close(config.serving.shutdown_grace_s)
            nursery.cancel_scope.cancel()


@asynccontextmanager
async def _closing(api: Pipeline) -> AsyncIterator[None]:
    """Close connections to others at the end of the block."""
    try:
        yield
    finally:
        with trio.move_on_after(CLOSING_S, shield=True):
            await api.outgoing.close()


def _repair(api: Pipeline) -> AddressRepair:
    [allocator] = [
        one for one in api.operations.parts.allocators.values() if isinstance(one, ServiceAllocator)
    ]
    return AddressRepair(api.registry, api.operations, api.informers.dispatcher, allocator, api.env)


def _default_range(config: Config, api: Pipeline) -> DefaultServiceRange:
    return DefaultServiceRange(
        api.registry, api.operations, api.informers.dispatcher, api.env, config.services.ranges
    )


def _published(api: Pipeline, trusted: Trusted) -> PublishedAuthorities:
    return PublishedAuthorities(
        api.registry, api.operations, api.informers.dispatcher, api.env, trusted
    )


def _objects(config: Config, api: Pipeline, port: int) -> Bootstrap:
    return Bootstrap(
        api.registry,
        api.operations,
        api.store,
        address=_ip(config.serving.public_address),
        port=port,
        service_ip=service_ip(config.services.ranges[0]),
        now=api.env.now(),
    )


async def bootstrap(
    config: Config, api: Pipeline, state: State, port: int, trusted: Trusted
) -> FlowConfig | None:
    """Make the objects that every cluster has; returns what keeps those of flow control.

    Args:
        config: how.
        api: an open pipeline.
        state: what health checks look at.
        port: port that clients reach.
        trusted: whom it believes; nobody when None.

    Raises:
        StartError: the store takes no writes.
    """
    objects = _objects(config, api, port)
    roles = DefaultRoles(api.registry, api.operations, api.informers)

    async def own_objects() -> None:
        await _default_range(config, api).keep()
        await objects.run()
        await _published(api, trusted).publish()
        await roles.run()

    keeper: FlowConfig | None = None
    try:
        await api.rbac.sync()
        await api.aggregation.routes.sync()
        await api.authorizers()
        for allocator in api.operations.parts.allocators.values():
            await allocator.start()
        if await _written(own_objects, api.store):
            state.bootstrapped = True
        if isinstance(api.flow, PriorityAndFairness):
            prefixes = {kind.storage_prefix for kind in api.registry.resources.values()} - {""}
            await api.flow.counts.load(api.informers.dispatcher, prefixes)
            keeper = FlowConfig(api.registry, api.operations, api.informers, api.flow.gate, api.env)
            await _written(keeper.produce, api.store)
            await keeper.consume()
    except* ApiError as group:
        reason = next(leaves(group))
        raise StartError(f"cannot write what every cluster has: {reason}") from reason
    if not state.bootstrapped:
        state.unwritten = own_objects
    return keeper


async def _written(write: Callable[[], Awaitable[None]], store: Store) -> bool:
    """Write objects of the server itself; False where there is no room on the disk for them."""
    done = True
    try:
        await write()
    except* (ApiError, StoreError):  # of several tasks
        if not store.statistics().full:
            raise
        log.warning("objects of the server itself wait for room on the disk")
        done = False
    return done


async def _write_later(state: State, store: Store) -> None:
    """Write what there was no room for, when there is; then wait until cancelled."""
    while state.unwritten is not None and not state.bootstrapped:
        await trio.sleep(WRITES_AGAIN_S)
        if not store.statistics().full:
            await state.unwritten()
            state.bootstrapped = True
    await trio.sleep_forever()


def _ip(address: str) -> str:
    """An IP address for endpoints; a host name has none that is sure to be right."""
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return "127.0.0.1"
