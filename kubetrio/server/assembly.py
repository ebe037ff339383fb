"""The parts of a pipeline, put together from a configuration on an open store."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from socket import gethostname
from typing import TYPE_CHECKING

import trio

from kubetrio.admission.chain import Plugin
from kubetrio.admission.configuration import ConfigurationError
from kubetrio.admission.objectcache import ObjectCache
from kubetrio.aggregation.aggregation import Aggregation
from kubetrio.aggregation.frontproxy import FrontProxy
from kubetrio.aggregation.servicelookup import ResolveService, Services
from kubetrio.allocation.allocation import allocators
from kubetrio.api.api import ApiConfig, AuditIds
from kubetrio.api.encoding.cache import ByteCache
from kubetrio.api.flowcontrol import FlowControl, MaxInFlight, PriorityAndFairness
from kubetrio.api.httplog import RequestLog
from kubetrio.api.offloop import OffLoop
from kubetrio.api.pages import selfmetrics
from kubetrio.api.pages.aggregated import document_of_others
from kubetrio.api.pages.documents import GIT_VERSION, Documents
from kubetrio.api.pages.flowpages import FlowPages
from kubetrio.api.pages.health import HOOK, Check, Health
from kubetrio.api.pages.pages import Pages
from kubetrio.api.pipeline import Pipeline
from kubetrio.audit.counting import Counting
from kubetrio.audit.making import AuditError, make_auditor
from kubetrio.auth import authorize as authorization
from kubetrio.auth.authenticate import Authenticator
from kubetrio.auth.keys import KeyFileError
from kubetrio.auth.owntokens import OwnTokens, service_account_keys
from kubetrio.auth.rbac.authorizer import Rbac
from kubetrio.auth.tokencache import families_of
from kubetrio.auth.tokens import StaticTokens, TokenFileError, parse_token_file
from kubetrio.backend.backends import Backends, KubeletConfig
from kubetrio.backend.guard import Guard
from kubetrio.bootstrap.lease import identity
from kubetrio.bootstrap.objects import service_ip
from kubetrio.cel.times import families as cel_families
from kubetrio.config import Config, Storage
from kubetrio.config.flag import values
from kubetrio.controllers.serviceaccounts.tokensecrets import last_used_labels
from kubetrio.controllers.table import Row as Controllers
from kubetrio.encryption.note import noted_folders
from kubetrio.env import Env
from kubetrio.flow.dispatcher import Dispatcher
from kubetrio.flow.exposition import families
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.kinds.builtin import registry as builtin_registry
from kubetrio.kinds.inert import InertKinds
from kubetrio.machinery.remember import Fill, fills
from kubetrio.observe.logs import Log
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
from kubetrio.plugins.context import PluginDependencies
from kubetrio.plugins.existence import NamespaceMaker
from kubetrio.plugins.table import admission
from kubetrio.plugins.webhooks.plugins import WebhookClientConfig
from kubetrio.quota.stored import StoredQuotas
from kubetrio.reloading import Reloader
from kubetrio.resources.listing import Listing
from kubetrio.resources.operations import Operations
from kubetrio.resources.write import WriteParts
from kubetrio.schema import builtin
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry
from kubetrio.server.authenticators import MethodError, methods
from kubetrio.server.authorizers import Authorizers
from kubetrio.store.errors import StoreError
from kubetrio.store.lock import DirectoryLock
from kubetrio.store.model import Store
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.settings import StoreConfig
from kubetrio.tls import pki
from kubetrio.watch.hub import Hub
from kubetrio.wire import cborwire

if TYPE_CHECKING:
    from kubetrio.encryption.control import Encryption

log = Log("kubetrio.server")
STORE_NAME, STORE_LABEL = ("storage_cluster_id",), ("sqlite",)
SERVICE_PORT = 443  # of the Service ``kubernetes``


class StartError(Exception):
    """The server cannot start; the text is one line for the terminal."""


@asynccontextmanager
async def own_store(config: Config, env: Env) -> AsyncIterator[Store]:
    """The store in the data directory, or in memory.

    Raises:
        StoreError: the data directory is in use, foreign or damaged.
    """
    if config.storage.in_memory:
        from kubetrio.store.memory import Retention, open_memory

        kept = Retention(
            history_window_s=config.storage.history_window_s,
            compact_interval_s=config.storage.compact_interval_s,
        )
        lock = DirectoryLock(config.data_dir)
        try:
            async with open_memory(kept) as memory:
                yield memory
        finally:
            lock.release()
        return
    async with open_store(config.data_dir, store_config(config), env) as store:
        yield store


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What an embedder adds to a server, or puts in the place of its own parts.

    Args:
        kinds: served beside the built-in ones.
        authorizers: asked before the server's own; the first opinion counts, and nobody is asked
            about ``system:masters``.
        admission: plugins, asked before quotas; one with the name of one of the server's own takes
            its place.
        controllers: rows beside those of the server's own table; one with the name of one of these
            takes its place.
        resolve_service: finds the address and port that stand for a Service of a webhook or an
            aggregated API server: takes its namespace, its name and its port; None for an endpoint
            of it, else its cluster IP.
        open_store: opens the store for as long as a block lasts.
    """

    kinds: Sequence[Kind] = ()
    authorizers: Sequence[authorization.Authorizer] = ()
    admission: Sequence[Plugin] = ()
    controllers: Mapping[str, Controllers] = field(default_factory=dict)
    resolve_service: ResolveService | None = None
    open_store: Callable[[Config, Env], AbstractAsyncContextManager[Store]] = own_store


@dataclass(slots=True)
class State:
    """What health checks look at."""

    bootstrapped: bool = False
    stopping: bool = False
    unwritten: Callable[[], Awaitable[None]] | None = None  # waits for room on the disk


def _flow_control(config: Config, env: Env, registry: LiveRegistry, hub: Hub) -> FlowControl:
    chosen = config.flowcontrol
    reading, writing = chosen.max_requests_inflight, chosen.max_mutating_requests_inflight
    if not chosen.priority_and_fairness:
        return MaxInFlight(reading, writing)
    dispatcher = Dispatcher(trio.current_time(), reading + writing, held=True)
    return PriorityAndFairness(
        dispatcher, registry, hub, env.now, config.requests.request_timeout_s
    )


def _backends(config: Config, env: Env, port: int) -> Backends:
    chosen = config.kubelet
    for flag, file in (
        ("--kubelet-client-certificate", chosen.client_certificate),
        ("--kubelet-client-key", chosen.client_key),
        ("--kubelet-certificate-authority", chosen.certificate_authority),
    ):
        if file is not None and not file.is_file():
            raise StartError(f"cannot read {flag}: {file} is not a file")
    kubelets = KubeletConfig(
        certificate=chosen.client_certificate,
        key=chosen.client_key,
        authority=chosen.certificate_authority,
        address_types=chosen.preferred_address_types,
        timeout_s=chosen.timeout_s,
    )
    return Backends(
        kubelets,
        env,
        lambda: pki.ensure_kubelet_client(config.pki_dir, now=env.utcnow()),
        guard=_guard(config, port),
    )


def service_resolver(
    config: Config, env: Env, parts: Parts, registry: LiveRegistry, informers: SharedInformerFactory
) -> ResolveService:
    """What finds the Services of webhooks, of conversions too, and of aggregated API servers."""
    if parts.resolve_service is not None:
        return parts.resolve_service
    objects = ObjectCache(informers.dispatcher)
    only = config.aggregation.endpoint_routing
    return Services(objects, registry, env, endpoints_only=only).resolve


def _front_proxy(config: Config, env: Env) -> pki.KeyPair:
    """The certificate that aggregated API servers are shown.  Blocking.

    Raises:
        PkiError: it cannot be made.
    """
    chosen = config.aggregation
    if chosen.client_cert_file is not None and chosen.client_key_file is not None:
        return pki.KeyPair(chosen.client_cert_file, chosen.client_key_file)
    return pki.ensure_front_proxy_client(config.pki_dir, now=env.utcnow())


def _guard(config: Config, port: int) -> Guard:
    """Where users must not lead the server: to itself, under any of its addresses."""
    places = {(ipaddress.ip_address(service_ip(config.services.ranges[0])), SERVICE_PORT)}
    serving = config.serving
    for host in (serving.public_address, serving.bind_address, *serving.extra_hosts):
        with suppress(ValueError):  # a name: what it resolves to is judged
            places.add((ipaddress.ip_address(host), port))
    return Guard(port=port, places=frozenset(places))


def _observe_flow(api: Pipeline) -> None:
    """Pages and metrics of flow control."""
    flow = api.flow
    api.metrics.gathered.add(partial(seat_families, flow.executing, flow.queued))
    if isinstance(flow, PriorityAndFairness):
        gate = flow.gate
        api.documents.flow_pages = FlowPages(gate, api.streams)
        api.metrics.gathered.add(lambda: families(gate.snapshot()))
        api.metrics.gathered.add(lambda: object_families(flow.stored_objects(), api.hub.revision))


def store_config(config: Config) -> StoreConfig:
    """The store's part of a configuration."""
    return StoreConfig(
        durability=config.storage.durability,
        history_window_s=config.storage.history_window_s,
        compact_interval_s=config.storage.compact_interval_s,
        accept_data_loss=config.storage.accept_data_loss,
        journal_bytes=config.storage.journal_bytes,
        quota_bytes=config.storage.quota_backend_bytes,
        recent_bytes=config.memory.recent_bytes,
        cache_kib=config.memory.page_cache_bytes // 1024,
    )


def _serves_cbor(config: Config) -> bool:
    """Whether objects are served as CBOR.

    Raises:
        StartError: they are to be, and what reads it is not installed.
    """
    chosen = config.feature_gates.get("CBORServingAndStorage", False)
    if chosen and not cborwire.available():
        raise StartError(f"--feature-gates=CBORServingAndStorage=true: {cborwire.NOT_INSTALLED}")
    return chosen


def encryption_of(config: Config, env: Env) -> Encryption | None:
    """Encryption as it is configured, None where it is not.

    Raises:
        StartError: the file cannot be used.
    """
    chosen = config.encryption
    if chosen.provider_config is None:
        return None
    from kubetrio.encryption.configuration import EncryptionConfigError
    from kubetrio.encryption.control import Encryption

    try:
        return Encryption(chosen.provider_config, env, reload=chosen.automatic_reload)
    except EncryptionConfigError as error:
        raise StartError(f"--encryption-provider-config: {error}") from error


@asynccontextmanager
async def encrypted(encryption: Encryption | None, store: Store, env: Env) -> AsyncIterator[Store]:
    """A store as the rest of the server uses it.

    Args:
        encryption: how it is encrypted, if it is.
        store: where values are kept.
        env: threads.
    """
    if encryption is not None:
        async with encryption.over(store) as plain:
            yield plain
    elif noted := await noted_folders(store):
        from kubetrio.encryption.control import guarded

        log.warning(
            "encrypted objects are answered with 500: there is no --encryption-provider-config",
            folders=",".join(sorted(noted)),
        )
        yield guarded(store, env, noted)
    else:
        yield store


def build_api(
    config: Config,
    env: Env,
    store: Store,
    state: State,
    port: int,
    parts: Parts,
    encryption: Encryption | None = None,
) -> Pipeline:
    """The pipeline of a server on an open store; nothing listens yet.

    Args:
        config: how.
        env: clocks, randomness and threads.
        store: where objects live.
        state: what health checks look at.
        port: port that clients reach, for documents that name it.
        parts: what an embedder adds.
        encryption: how the store is encrypted, if it is.

    Raises:
        StartError: the token file, or the configuration of admission plugins, cannot be used.
    """
    hub = Hub(store, window_bytes=config.memory.window_bytes)
    informers = SharedInformerFactory(store)
    metrics = Metrics()
    registry = LiveRegistry(builtin_registry().with_resources(parts.kinds))
    address = f"{bracketed(config.serving.public_address)}:{port}"
    health = health_checks(state, store, config.storage, encryption)
    try:
        keys = service_account_keys(config)
    except KeyFileError as error:
        raise StartError(str(error)) from error
    pages = Pages(
        issuer=config.auth.service_account_issuers[0],
        jwks_uri=config.service_accounts.jwks_uri or f"https://{address}/openid/v1/jwks",
        keys=keys,
        run_blocking=env.run_blocking,
        flags={
            row.flag.name or row.path: row.flag.kind.show(value) for row, value in values(config)
        },
        started=env.now(),
        git_version=GIT_VERSION,
        health=health,
    )
    rbac = Rbac(informers)
    outgoing, reloader = Outgoing(env), Reloader(env)
    first = [
        authorization.Masters(),
        *parts.authorizers,
        authorization.kubelet_admins(builtin.parsed("bootstrap")),
    ]
    try:
        authorizers = Authorizers(
            config.authorization,
            first,
            rbac=rbac,
            informers=informers,
            registry=registry,
            outgoing=outgoing,
            reloader=reloader,
            env=env,
        )
    except ValueError as error:
        raise StartError(str(error)) from error
    authorizer = authorizers.chain
    try:
        others = methods(config, env, outgoing, reloader, metrics, lambda: identity(gethostname()))
    except MethodError as error:
        raise StartError(str(error)) from error
    quotas = StoredQuotas(store, registry, env)
    namespaces = NamespaceMaker(registry)
    resolve = service_resolver(config, env, parts, registry, informers)
    around = PluginDependencies(
        informers=informers,
        registry=registry,
        authorize=authorizer.authorize,
        quotas=quotas,
        outgoing=outgoing,
        client_config=WebhookClientConfig(outgoing=outgoing, env=env, resolve_service=resolve),
        provide=namespaces.provide,
        env=env,
        config=config.admission,
    )
    try:
        chain = admission(around, rbac, parts.admission)
    except ConfigurationError as error:
        raise StartError(f"failed to apply admission: {error}") from error
    metrics.gathered.add(chain.families)
    given = allocators(informers.dispatcher, registry, env, config.services.ranges)
    operations = Operations(
        WriteParts(
            store=store,
            registry=registry,
            admission=chain,
            env=env,
            allocators=given,
            allow_privileged=config.admission.allow_privileged,
            times_to_live={"event-ttl": config.storage.event_ttl_s},
        )
    )
    label_used = last_used_labels(operations, registry)
    tokens = OwnTokens(config, keys, informers.dispatcher, registry, env, label_used)
    documents = Documents(registry, health, metrics, address, pages, env.now)
    backends = _backends(config, env, port)
    api = Pipeline(
        config=ApiConfig(
            min_request_timeout_s=config.requests.min_request_timeout_s,
            request_timeout_s=config.requests.request_timeout_s,
            audiences=config.auth.audiences,
            cbor=_serves_cbor(config),
            split_logs=config.feature_gates.get("PodLogsQuerySplitStreams", False),
            longest_token_s=int(config.service_accounts.max_expiration_s),
            extend_tokens=config.service_accounts.extend_expiration,
            standing=config.serving.standing_headers,
            inert=config.requests.inert_warnings,
        ),
        env=env,
        registry=registry,
        store=store,
        hub=hub,
        informers=informers,
        listing=Listing(store, hub),
        operations=operations,
        inert=InertKinds(store, env.now),
        authenticator=Authenticator(
            [_tokens(config), *tokens.authenticators, *others.tokens],
            audiences=config.auth.audiences,
            headers=others.headers,
            anonymous=others.anonymous.enabled,
            anonymous_paths=others.anonymous.paths,
            tasks=others.tasks,
            cached=others.caches,
        ),
        authorizer=authorizer,
        rbac=rbac,
        quotas=quotas,
        documents=documents,
        metrics=metrics,
        audit_ids=AuditIds(env),
        off_loop=OffLoop(env.run_bodies, config.requests.request_timeout_s),
        outgoing=outgoing,
        reloader=reloader,
        authorizers=authorizers.start,
        flow=_flow_control(config, env, registry, hub),
        aggregation=Aggregation(
            registry=registry,
            operations=operations,
            informers=informers,
            proxy=FrontProxy(env, backends.dial, resolve, partial(_front_proxy, config, env)),
            env=env,
            changed=documents.forget,
            reject_redirects=config.aggregation.reject_redirects,
        ),
        backends=backends,
        cache=ByteCache(config.memory.encoded_bytes),
    )
    documents.elsewhere = api.aggregation.documents.current
    documents.ask_others = partial(document_of_others, api)
    metrics.gathered.add(api.aggregation.availability.families)
    namespaces.operations = api.operations
    audited = Counting()
    try:
        api.auditor = make_auditor(config.audit, env, api.outgoing, audited)
    except AuditError as error:
        raise StartError(str(error)) from error
    metrics.gathered.add(audited.families)
    if RequestLog.wanted():
        api.request_log = RequestLog()
        if isinstance(api.flow, PriorityAndFairness):
            api.flow.leave = api.request_log.leaving(api.flow.leave)
    _gather(metrics, store, hub)
    redelivery = informers.dispatcher.redelivery
    metrics.gathered.add(
        lambda: redelivery.families(
            {"watches": hub.failed, "commits": store.statistics().failed_listeners}
        )
    )
    if encryption is not None:
        metrics.gathered.add(encryption.metrics.families)
    metrics.gathered.add(api.listing.counts.families)
    metrics.gathered.add(api.authenticator.attempts.families)
    metrics.gathered.add(partial(families_of, api.authenticator, others.caches))
    metrics.gathered.add(api.impersonation.families)
    metrics.gathered.add(outgoing.families)
    metrics.gathered.add(cel_families)
    for allocator in given.values():
        metrics.gathered.add(allocator.families)
    for source in selfmetrics.families_of(_gates, config.feature_gates):
        metrics.gathered.add(source)
    metrics.gathered.add(api.authorizations.families)
    metrics.gathered.add(tokens.families)
    metrics.gathered.add(authorizer.counts.families)
    metrics.gathered.add(api.reloader.families)
    metrics.gathered.add(lambda: cache_families((*_fills(api), *tokens.fills())))
    metrics.gathered.add(lambda: fault_families(api.faults.counts if api.faults else {}))
    _observe_flow(api)
    _faults(config, api)
    return api


def _faults(config: Config, api: Pipeline) -> None:
    """What goes wrong on demand, where the configuration asks for it.

    Raises:
        StartError: the file of rules cannot be used.
    """
    chosen = config.faults
    if not chosen.enabled and chosen.file is None:
        return
    from kubetrio.api.faults.faulting import injector
    from kubetrio.api.pages.faultpages import FaultPages, FaultsError, read

    try:
        injector(api).stand(read(chosen.file) if chosen.file else ())
    except FaultsError as error:
        raise StartError(f"--faults {chosen.file}: {error}") from error
    api.documents.fault_pages = FaultPages(injector(api))
    log.warning("faults are injected on demand", file=str(chosen.file or ""))


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
        return "the disk is full: only deletions are taken" if store.statistics().full else None

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


def _gates() -> dict[str, tuple[str, bool]]:
    """Stage and default of the feature gates that there are."""
    known: dict[str, tuple[str, bool]] = builtin.load("flags")["featureGates"]
    return known


def _fills(api: Pipeline) -> Iterable[Fill]:
    """How full the caches of a server are, and those that the process has for all of them."""
    yield from fills()
    yield Fill("auth/authenticate", *api.authenticator.remembered())
    yield Fill("auth/rbac/authorizer", api.rbac.remembered(), None)
    if isinstance(api.flow, PriorityAndFairness):
        requests, classes = api.flow.gate.remembered()
        yield Fill("flow/gate", requests, None)
        yield Fill("flow/classify", classes, None)
    if api.auditor is not None:
        yield Fill("audit/policy", api.auditor.policy.remembered(), None)
    yield Fill("api/encoding/cache", api.cache.entries, api.cache.bytes)
    numbers, watching = api.store.statistics(), api.hub.statistics()
    yield Fill("store/sqlite/recent", numbers.recent, numbers.recent_bytes)
    yield Fill("watch/window", watching.window_events, watching.window_bytes)


def _gather(metrics: Metrics, store: Store, hub: Hub) -> None:
    def collect() -> list[object]:
        numbers, watching = store.statistics(), hub.statistics()
        rows = (
            *numbers.own,
            ("kubetrio_storage_revision", "Newest revision.", numbers.revision),
            ("kubetrio_storage_compacted_revision", "Oldest readable revision.", numbers.compacted),
            ("kubetrio_storage_commits", "Transactions since start.", numbers.commits),
            ("kubetrio_storage_writes", "Revisions made since start.", numbers.writes),
            ("kubetrio_storage_queued_writes", "Writes waiting.", numbers.queued),
            ("kubetrio_storage_full", "1 while the disk is full.", numbers.full),
            ("kubetrio_watchers", "Open watches.", watching.watchers),
            ("kubetrio_watchers_live", "Watches that are up to date.", watching.live),
            ("kubetrio_watch_window_bytes", "Bytes of recent events.", watching.window_bytes),
        )
        size = [(STORE_LABEL, float(numbers.size_bytes))]
        return [
            gauges("apiserver_storage_size_bytes", "Bytes of the database file.", STORE_NAME, size),
            *(gauge(name, text, float(value)) for name, text, value in rows),
        ]

    metrics.gathered.add(collect)  # type: ignore[arg-type]


def _tokens(config: Config) -> StaticTokens:
    if config.auth.token_auth_file is None:
        return StaticTokens({})
    try:
        tokens = parse_token_file(
            config.auth.token_auth_file.read_bytes(), str(config.auth.token_auth_file)
        )
    except OSError as error:
        file = config.auth.token_auth_file
        raise StartError(f"cannot read --token-auth-file {file}: {error.strerror}") from error
    except TokenFileError as error:
        raise StartError(f"--token-auth-file: {error}") from error
    for warning in tokens.warnings:
        log.warning(warning)
    return replace(tokens, audiences=config.auth.audiences)


def bracketed(address: str) -> str:
    """An address as it stands before a port."""
    return f"[{address}]" if ":" in address else address
