"""The parts of a pipeline, put together from a configuration on an open store."""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial

import trio

from kubetrio import pki
from kubetrio.admission.certificates import CertificateSubjectRestriction
from kubetrio.admission.chain import Chain as AdmissionChain
from kubetrio.admission.classes import DefaultIngressClass, DefaultStorageClass
from kubetrio.admission.lifecycle import NamespaceLifecycle
from kubetrio.admission.limitranger import LimitRanger
from kubetrio.admission.lookup import Lookup
from kubetrio.admission.noderesources import (
    NodeDeclaredFeatureValidator,
    PodResizeValidator,
)
from kubetrio.admission.objectcache import ObjectCache
from kubetrio.admission.podsecurity import PodSecurity
from kubetrio.admission.policyplugins import (
    MutatingAdmissionPolicy,
    Surroundings,
    ValidatingAdmissionPolicy,
)
from kubetrio.admission.priority import Priority
from kubetrio.admission.protection import StorageObjectInUseProtection
from kubetrio.admission.quota import ResourceQuota
from kubetrio.admission.resizing import PersistentVolumeClaimResize
from kubetrio.admission.runtimeclass import RuntimeClass
from kubetrio.admission.tolerations import DefaultTolerationSeconds, TaintNodesByCondition
from kubetrio.admission.topology import PodTopologyLabels
from kubetrio.api.documents import GIT_VERSION, Documents
from kubetrio.api.flowcontrol import FlowControl, MaxInFlight, PriorityAndFairness
from kubetrio.api.flowpages import FlowPages
from kubetrio.api.health import Health
from kubetrio.api.offloop import OffLoop
from kubetrio.api.pages import Pages
from kubetrio.api.pipeline import Api, ApiConfig, AuditIds
from kubetrio.auth import authorize as authorization
from kubetrio.auth.authenticate import Authenticator
from kubetrio.auth.tokens import StaticTokens, TokenFileError, parse_token_file
from kubetrio.backend.backends import Backends, KubeletConfig
from kubetrio.backend.guard import Guard
from kubetrio.bootstrap.objects import service_ip
from kubetrio.config import Config
from kubetrio.env import Env
from kubetrio.flow.dispatcher import Dispatcher
from kubetrio.flow.exposition import families
from kubetrio.logs import Log
from kubetrio.machinery.remember import Fill, fills
from kubetrio.metrics import Metrics, cache_families, gauge, object_families
from kubetrio.resources.allocation import ServiceAllocator
from kubetrio.resources.defaults import apply_defaults
from kubetrio.resources.lifecycle import Lifecycle
from kubetrio.resources.listing import Listing
from kubetrio.resources.namespaces import Namespaces
from kubetrio.resources.quotas import StoredQuotas
from kubetrio.resources.writes import Allocator
from kubetrio.schema import builtin
from kubetrio.schema.registry import Registry
from kubetrio.store.errors import StoreError
from kubetrio.store.model import Store
from kubetrio.store.revisions import StoreConfig
from kubetrio.watch.hub import Hub

log = Log("kubetrio.server")
SERVICE_PORT = 443  # of the Service ``kubernetes``
LOOKED_UP = (
    "ingressclasses",
    "limitranges",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "priorityclasses",
    "resourcequotas",
    "runtimeclasses",
    "storageclasses",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
)


class StartError(Exception):
    """The server cannot start; the text is one line for the terminal."""


@dataclass(slots=True)
class State:
    """What health checks look at."""

    bootstrapped: bool = False
    stopping: bool = False
    unwritten: Callable[[], Awaitable[None]] | None = None  # waits for room on the disk


def _flow_control(config: Config, env: Env, registry: Registry, hub: Hub) -> FlowControl:
    reading, writing = config.max_requests_inflight, config.max_mutating_requests_inflight
    if not config.priority_and_fairness:
        return MaxInFlight(reading, writing)
    dispatcher = Dispatcher(trio.current_time(), reading + writing, held=True)
    return PriorityAndFairness(dispatcher, registry, hub, env.now, config.request_timeout_s)


def _backends(config: Config, env: Env, port: int) -> Backends:
    certificate, key = config.kubelet_client_certificate, config.kubelet_client_key
    for flag, file in (
        ("--kubelet-client-certificate", certificate),
        ("--kubelet-client-key", key),
        ("--kubelet-certificate-authority", config.kubelet_certificate_authority),
    ):
        if file is not None and not file.is_file():
            raise StartError(f"cannot read {flag}: {file} is not a file")
    kubelets = KubeletConfig(
        certificate=certificate,
        key=key,
        authority=config.kubelet_certificate_authority,
        address_types=config.kubelet_preferred_address_types,
        timeout_s=config.kubelet_timeout_s,
    )
    return Backends(
        kubelets,
        env,
        lambda: pki.ensure_kubelet_client(config.pki_dir, now=env.utcnow()),
        guard=_guard(config, port),
    )


def _guard(config: Config, port: int) -> Guard:
    """Where users must not lead the server: to itself, under any of its addresses."""
    places = {(ipaddress.ip_address(service_ip(config.service_ranges[0])), SERVICE_PORT)}
    for host in (config.public_address, config.bind_address, *config.extra_hosts):
        with suppress(ValueError):  # a name: what it resolves to is judged
            places.add((ipaddress.ip_address(host), port))
    return Guard(port=port, places=frozenset(places))


def _number(read: Callable[[], tuple[int, int]], at: int) -> int:
    return read()[at]


def _observe_flow(api: Api) -> None:
    """Pages and metrics of flow control."""
    flow = api.flow
    inflight, inqueue = api.metrics.inflight, api.metrics.inqueue
    for at, kind in enumerate(("readOnly", "mutating")):
        inflight.labels(kind).set_function(partial(_number, flow.executing, at))
        inqueue.labels(kind).set_function(partial(_number, flow.queued, at))
    if isinstance(flow, PriorityAndFairness):
        gate = flow.gate
        api.documents.flow_pages = FlowPages(gate, api.streams)
        api.metrics.gathered.add(lambda: families(gate.snapshot()))
        api.metrics.gathered.add(lambda: object_families(flow.stored_objects()))


def _admission(
    store: Store, authorizer: authorization.Chain, quotas: StoredQuotas
) -> AdmissionChain:
    namespaces = Namespaces(store)
    lookup = Lookup(store, LOOKED_UP)
    objects = ObjectCache(store)
    surroundings = Surroundings(
        lookup=lookup,
        cache=objects,
        authorize=authorizer.authorize,
        default=apply_defaults,
    )
    return AdmissionChain(
        [
            NamespaceLifecycle(namespaces.phase),
            LimitRanger(lookup),
            TaintNodesByCondition(),
            PodSecurity(namespaces.policy, objects),
            Priority(lookup),
            DefaultTolerationSeconds(),
            DefaultStorageClass(lookup),
            StorageObjectInUseProtection(),
            PersistentVolumeClaimResize(lookup),
            RuntimeClass(lookup),
            CertificateSubjectRestriction(),
            DefaultIngressClass(lookup),
            PodTopologyLabels(lookup),
            NodeDeclaredFeatureValidator(lookup),
            PodResizeValidator(lookup),
            MutatingAdmissionPolicy(surroundings),
            ValidatingAdmissionPolicy(surroundings),
            ResourceQuota(lookup, quotas),
        ]
    )


def _allocators(config: Config, store: Store, env: Env) -> dict[tuple[str, str], Allocator]:
    return {("", "services"): ServiceAllocator(store, env, config.service_ranges)}


def store_config(config: Config) -> StoreConfig:
    """The store's part of a configuration."""
    return StoreConfig(
        durability=config.durability,
        history_window_s=config.history_window_s,
        compact_interval_s=config.compact_interval_s,
        accept_data_loss=config.accept_data_loss,
    )


def build_api(config: Config, env: Env, store: Store, state: State, port: int) -> Api:
    """The pipeline of a server on an open store; nothing listens yet.

    Args:
        config: how.
        env: clocks, randomness and threads.
        store: where objects live.
        state: what health checks look at.
        port: port that clients reach, for documents that name it.

    Raises:
        StartError: the token file cannot be used.
    """
    hub = Hub(store)
    metrics = Metrics()
    registry = builtin.registry()
    address = f"{bracketed(config.public_address)}:{port}"
    health = health_checks(state, store)
    pages = Pages(
        issuer=config.service_account_issuer,
        public_key=config.pki_dir / "sa.pub",
        flags={f.name: getattr(config, f.name) for f in fields(config)},
        started=env.now(),
        git_version=GIT_VERSION,
        health=health,
    )
    authorizer = authorization.Chain(
        [
            authorization.Masters(),
            authorization.bootstrap_paths(builtin.load("bootstrap")),
            authorization.basic_user(builtin.load("bootstrap")),
            authorization.kubelet_admins(builtin.load("bootstrap")),
        ]
    )
    quotas = StoredQuotas(store, registry, env)
    api = Api(
        config=ApiConfig(
            min_request_timeout_s=config.min_request_timeout_s,
            request_timeout_s=config.request_timeout_s,
            audiences=config.audiences,
            cbor=config.feature_gates.get("CBORServingAndStorage", False),
            split_logs=config.feature_gates.get("PodLogsQuerySplitStreams", False),
        ),
        env=env,
        registry=registry,
        store=store,
        hub=hub,
        listing=Listing(store, hub),
        lifecycle=Lifecycle(
            store,
            _admission(store, authorizer, quotas),
            env,
            _allocators(config, store, env),
            allow_privileged=config.allow_privileged,
        ),
        authenticator=Authenticator(_tokens(config), anonymous=config.anonymous_auth),
        authorizer=authorizer,
        quotas=quotas,
        documents=Documents(registry, health, metrics, address, pages, env.now),
        metrics=metrics,
        audit_ids=AuditIds(env),
        off_loop=OffLoop(env.run_bodies),
        flow=_flow_control(config, env, registry, hub),
        backends=_backends(config, env, port),
    )
    _gather(metrics, store, hub)
    metrics.gathered.add(api.authenticator.attempts.families)
    metrics.gathered.add(lambda: cache_families(_fills(api)))
    _observe_flow(api)
    return api


def health_checks(state: State, store: Store) -> Health:
    """The checks of kube-apiserver, and what is behind each of them here."""
    health = Health()

    def bootstrapped() -> str | None:
        return None if state.bootstrapped else "not finished"

    def stopping() -> str | None:
        return "process is shutting down" if state.stopping else None

    def storage() -> str | None:
        try:
            store.probe()
        except StoreError as error:
            return f"error getting data from etcd: {error}"
        return None

    def space() -> str | None:
        return "the disk is full: only deletions are taken" if store.statistics().full else None

    health.add("ping", lambda: None)
    health.add("log", lambda: None)
    # This server talks to itself without a connection, so no certificate of one can expire.
    health.add("loopback-serving-certificate", lambda: None, ["healthz", "livez"])
    health.add("etcd", storage)
    health.add("etcd-readiness", storage, ["readyz"])
    health.add("informer-sync", bootstrapped, ["readyz"])
    health.add_hooks(bootstrapped, {"storage-readiness": storage})
    health.add("storage-space", space, ["readyz"])
    health.add("shutdown", stopping, ["readyz"])
    return health


def _fills(api: Api) -> Iterable[Fill]:
    """How full the caches of a server are, and those that the process has for all of them."""
    yield from fills()
    yield Fill("auth/authenticate", *api.authenticator.remembered())
    if isinstance(api.flow, PriorityAndFairness):
        requests, classes = api.flow.gate.remembered()
        yield Fill("flow/gate", requests, None)
        yield Fill("flow/classify", classes, None)
    yield Fill("api/cache", len(api.cache), api.cache.bytes)
    numbers, watching = api.store.statistics(), api.hub.statistics()
    yield Fill("store/recent", numbers.recent, numbers.recent_bytes)
    yield Fill("watch/window", watching.window_events, watching.window_bytes)


def _gather(metrics: Metrics, store: Store, hub: Hub) -> None:
    def collect() -> list[object]:
        numbers, watching = store.statistics(), hub.statistics()
        rows = (
            ("apiserver_storage_size_bytes", "Bytes of the database file.", numbers.file_bytes),
            ("kubetrio_storage_wal_bytes", "Bytes of the write-ahead log.", numbers.wal_bytes),
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
        return [gauge(name, text, float(value)) for name, text, value in rows]

    metrics.gathered.add(collect)  # type: ignore[arg-type]


def _tokens(config: Config) -> StaticTokens:
    if config.token_auth_file is None:
        return StaticTokens({})
    try:
        tokens = parse_token_file(config.token_auth_file.read_bytes(), str(config.token_auth_file))
    except OSError as error:
        file = config.token_auth_file
        raise StartError(f"cannot read --token-auth-file {file}: {error.strerror}") from error
    except TokenFileError as error:
        raise StartError(f"--token-auth-file: {error}") from error
    for warning in tokens.warnings:
        log.warning(warning)
    return tokens


def bracketed(address: str) -> str:
    """An address as it stands before a port."""
    return f"[{address}]" if ":" in address else address
