"""What is between the clients of a server and its objects, made from a configuration."""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import trio

from kubetrio.aggregation.aggregation import Aggregation
from kubetrio.aggregation.frontproxy import FrontProxy
from kubetrio.api.api import (
    ApiConfig,
    AuditIds,
    Edge,
    InFlight,
)
from kubetrio.api.delegation import Delegation
from kubetrio.api.encoding.cache import ByteCache
from kubetrio.api.encoding.kindstreams import KindStreams
from kubetrio.api.flowcontrol import MaxInFlight, PriorityAndFairness
from kubetrio.api.longselectors import LongSelectors
from kubetrio.api.offloop import OffLoop
from kubetrio.api.pages.aggregated import document_of_others
from kubetrio.api.pages.documents import GIT_VERSION, Documents
from kubetrio.api.pages.flowpages import FlowPages
from kubetrio.api.pages.health import Health
from kubetrio.api.pages.pages import Pages
from kubetrio.api.pendingbodies import PendingBodies
from kubetrio.audit.auditor import Auditor
from kubetrio.backend.backends import Backends, KubeletConfig
from kubetrio.backend.guard import Guard
from kubetrio.bootstrap.objects import service_ip
from kubetrio.config import Config
from kubetrio.config.flag import values
from kubetrio.env import Env
from kubetrio.http.shortage import MemoryLimit
from kubetrio.machinery.identity import Attributes, Verdict
from kubetrio.resources.operations import Operations
from kubetrio.schema.wellknown import CORE_PODS
from kubetrio.server.base import Base
from kubetrio.server.files import Files
from kubetrio.server.uipages import UiPages
from kubetrio.tls import pki

if TYPE_CHECKING:
    from kubetrio.faults import Injector

Authorize = Callable[[Attributes], Verdict | Awaitable[Verdict]]
SERVICE_PORT = 443  # of the Service ``kubernetes``


def make_edge(
    base: Base,
    operations: Operations,
    health: Health,
    *,
    fairness: PriorityAndFairness | None,
    auditor: Auditor | None,
    memory: MemoryLimit | None,
    cache: ByteCache,
    faults: Injector | None,
    authorize: Authorize,
) -> Edge:
    """Return what is between clients and objects.

    Args:
        base: what it stands on.
        operations: writes conditions of APIServices.
        health: the health checks.
        fairness: API Priority and Fairness, None without it.
        auditor: takes events of the audit log; None for no such log.
        memory: says when there is too little of it; None where there is no limit.
        cache: encoded objects.
        faults: what goes wrong on demand, None where clients may not say so.
        authorize: who may see what the pages for people show.
    """
    config, env, registry = base.config, base.env, base.storage.registry
    streams: set[trio.CancelScope] = set()
    backends = _backends(base, operations)
    delegation = _delegation(base, operations, backends, streams)
    reading, writing = (
        config.flowcontrol.max_requests_inflight, config.flowcontrol.max_mutating_requests_inflight,
    )  # fmt: skip
    return Edge(
        config=_api_config(config, base.files),
        env=env,
        clock=trio.lowlevel.current_clock(),
        documents=_documents(
            base, health, delegation, fairness, streams, faults, UiPages(base, authorize)
        ),
        metrics=base.metrics,
        flow=MaxInFlight(reading, writing) if fairness is None else fairness,
        memory=memory,
        audit_ids=AuditIds(env),
        auditor=auditor,
        off_loop=OffLoop(env.run_bodies, config.requests.request_timeout_s),
        cache=cache,
        streams=streams,
        kind_streams=KindStreams(registry, streams, cache),
        long_selectors=LongSelectors(),
        pending_bodies=PendingBodies(),
        in_flight=InFlight(),
        delegation=delegation,
        backends=backends,
    )


def _api_config(config: Config, files: Files) -> ApiConfig:
    return ApiConfig(
        min_request_timeout_s=config.requests.min_request_timeout_s,
        request_timeout_s=config.requests.request_timeout_s,
        audiences=config.auth.audiences,
        cbor=files.cbor,
        split_logs=config.feature_gates.get("PodLogsQuerySplitStreams", False),
        longest_token_s=int(config.service_accounts.max_expiration_s),
        extend_tokens=config.service_accounts.extend_expiration,
        standing=config.serving.standing_headers,
        inert=config.requests.inert_warnings,
    )


def _documents(
    base: Base,
    health: Health,
    delegation: Delegation,
    fairness: PriorityAndFairness | None,
    streams: set[trio.CancelScope],
    faults: Injector | None,
    ui: UiPages,
) -> Documents:
    """The paths that are not resources."""
    config, env = base.config, base.env
    address = f"{bracketed(config.serving.public_address)}:{base.port}"
    fault_pages = None
    if faults is not None:
        from kubetrio.api.pages.faultpages import FaultPages

        fault_pages = FaultPages(faults)
    pages = Pages(
        issuer=config.auth.service_account_issuers[0],
        jwks_uri=config.service_accounts.jwks_uri or f"https://{address}/openid/v1/jwks",
        keys=base.files.keys,
        run_blocking=env.run_blocking,
        flags={
            row.flag.name or row.path: row.flag.kind.show(value) for row, value in values(config)
        },
        started=env.now(),
        git_version=GIT_VERSION,
        health=health,
    )
    return Documents(
        base.storage.registry,
        health,
        base.metrics,
        address,
        pages,
        env.now,
        others=delegation.aggregation.documents,
        ask_others=partial(document_of_others, delegation),
        ui=ui,
        flow_pages=None if fairness is None else FlowPages(fairness.gate, streams),
        fault_pages=fault_pages,
    )


def _delegation(
    base: Base, operations: Operations, backends: Backends, streams: set[trio.CancelScope]
) -> Delegation:
    """What other servers serve, and how requests come to them."""
    config, env = base.config, base.env
    proxy = FrontProxy(env, backends.dial, base.resolve_service, partial(_front_proxy, config, env))
    aggregation = Aggregation(
        registry=base.storage.registry,
        operations=operations,
        informers=base.storage.informers,
        proxy=proxy,
        env=env,
        reject_redirects=config.aggregation.reject_redirects,
    )
    return Delegation(
        aggregation=aggregation,
        routes=aggregation.routes.by_version,
        env=env,
        streams=streams,
        request_timeout_s=config.requests.request_timeout_s,
    )


def _backends(base: Base, operations: Operations) -> Backends:
    config, env = base.config, base.env
    chosen = config.kubelet
    kubelets = KubeletConfig(
        certificate=chosen.client_certificate,
        key=chosen.client_key,
        authority=chosen.certificate_authority,
        address_types=chosen.preferred_address_types,
        timeout_s=chosen.timeout_s,
    )
    backends = Backends(
        kubelets,
        env,
        lambda: pki.ensure_kubelet_client(config.pki_dir, now=env.utcnow()),
        guard=_guard(config, base.port),
    )
    if config.simulation.nodes:
        from kubetrio.simulation.dialling import SimulatedDial
        from kubetrio.simulation.ending import Endings
        from kubetrio.simulation.nodeobjects import is_kubelet
        from kubetrio.simulation.podports import PodPorts, Targets

        ports = PodPorts(Targets(*config.simulation.allowed), base.parts.pod_server)
        end = Endings(operations, base.storage.registry.resources[CORE_PODS], env)
        informers = base.storage.informers
        simulated = SimulatedDial(backends.dial, informers, ports, end, env.now)
        return replace(backends, dial=simulated, in_memory=is_kubelet)
    return backends


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


def bracketed(address: str) -> str:
    """An address as it stands before a port."""
    return f"[{address}]" if ":" in address else address
