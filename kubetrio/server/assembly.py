"""A server put together of its parts, from a configuration on an open store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import trio

from kubetrio.admission.chain import Chain
from kubetrio.admission.configuration import ConfigurationError
from kubetrio.aggregation.servicelookup import ResolveService
from kubetrio.allocation.allocation import ServiceAllocator, by_resource
from kubetrio.api.api import (
    Api,
    Edge,
    Security,
    Writes,
)
from kubetrio.api.encoding.cache import ByteCache
from kubetrio.api.flowcontrol import PriorityAndFairness
from kubetrio.api.httplog import RequestLog
from kubetrio.api.pages.health import Health
from kubetrio.api.pipeline import Pipeline
from kubetrio.api.stages import stages_of
from kubetrio.audit.auditor import Auditor
from kubetrio.audit.counting import Counting
from kubetrio.audit.making import AuditError, make_auditor
from kubetrio.auth import authorize as authorization
from kubetrio.auth.authenticate import Authenticator
from kubetrio.auth.authorizations import Authorizations
from kubetrio.auth.impersonate import Impersonation
from kubetrio.auth.issuedtokens import IssuedTokens
from kubetrio.auth.rbac.authorizer import Rbac
from kubetrio.auth.settings.live import LiveChain
from kubetrio.bootstrap.lease import identity
from kubetrio.config import Config
from kubetrio.controllers.serviceaccounts.tokensecrets import last_used_labels
from kubetrio.controllers.table import TABLE, acted_on, wanted
from kubetrio.env import Env
from kubetrio.faults.injector import Injector
from kubetrio.flow.dispatcher import Dispatcher
from kubetrio.http.shortage import MemoryLimit
from kubetrio.kinds.inert import InertKinds
from kubetrio.observe.logs import Log
from kubetrio.outgoing.client import Outgoing
from kubetrio.plugins.context import PluginDependencies
from kubetrio.plugins.existence import NamespaceMaker
from kubetrio.plugins.table import admission
from kubetrio.plugins.webhooks.plugins import WebhookClientConfig
from kubetrio.quota.stored import StoredQuotas
from kubetrio.reloading import Reloader
from kubetrio.resources.operations import Operations
from kubetrio.resources.write import WriteParts
from kubetrio.schema import builtin
from kubetrio.server.authenticators import Methods, methods
from kubetrio.server.authorizers import Authorizers
from kubetrio.server.base import Base, make_base
from kubetrio.server.edge import make_edge
from kubetrio.server.files import Files, StartError
from kubetrio.server.health import State, health_checks
from kubetrio.server.metering import gather
from kubetrio.server.parts import Parts
from kubetrio.store.model import Store

if TYPE_CHECKING:
    from kubetrio.auth.issuing import TokenIssuer
    from kubetrio.encryption.control import Encryption

log = Log("kubetrio.server")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """A server put together: its pipeline, and what runs beside that.

    Args:
        api: the pipeline.
        env: clocks, randomness and threads.
        authorizers: what decides, and what has to be ready for it.
        fairness: API Priority and Fairness, None without it.
        resolve_service: finds the Services of webhooks, of conversions too, and of aggregated API
            servers.
        memory: looks at the memory of the process, None where it has no limit.
        outgoing: calls webhooks and issuers.
        reloader: reads files again when they change.
    """

    api: Pipeline
    env: Env
    authorizers: Authorizers
    fairness: PriorityAndFairness | None
    resolve_service: ResolveService
    memory: MemoryLimit | None
    outgoing: Outgoing
    reloader: Reloader


class _Options(NamedTuple):
    """Parts beside the pipeline that a configuration asks for, None where it does not.

    Args:
        request_log: a line per request.
        fairness: API Priority and Fairness.
        audited: counts of audit events.
        auditor: writes them.
        cache: encoded objects.
        memory: looks at the memory of the process.
        faults: fails requests on demand: by rules of the configuration, and later an embedder's.
    """

    request_log: RequestLog | None
    fairness: PriorityAndFairness | None
    audited: Counting
    auditor: Auditor | None
    cache: ByteCache
    memory: MemoryLimit | None
    faults: Injector


def _options(base: Base) -> _Options:
    """Make them.

    Raises:
        StartError: the audit log cannot be written, or the memory of the process not be measured.
    """
    request_log = RequestLog() if RequestLog.wanted() else None
    fairness = _fairness(base, request_log)
    audited, cache, faults = Counting(), ByteCache(base.config.memory.encoded_bytes), _faults(base)
    memory = _memory_limit(base, cache)
    auditor = _auditor(base, audited)
    return _Options(request_log, fairness, audited, auditor, cache, memory, faults)


def assemble(
    config: Config,
    files: Files,
    env: Env,
    store: Store,
    state: State,
    port: int,
    parts: Parts,
    *,
    encryption: Encryption | None,
    issuer: TokenIssuer | None,
) -> Assembly:
    """Put a server together on an open store; nothing listens yet.

    Args:
        config: how.
        files: what the files of the configuration say.
        env: clocks, randomness and threads.
        store: where objects live.
        state: what health checks look at.
        port: port that clients reach, for documents that name it.
        parts: what an embedder adds.
        encryption: how the store is encrypted, if it is.
        issuer: signs service account tokens, None without a key.

    Raises:
        StartError: the audit log cannot be written, or the memory of the process not be measured.
    """
    base = make_base(config, files, env, store, port, parts)
    rbac = Rbac(base.storage.informers)
    authorizers = _authorizers(base, rbac)
    writes = _writes(base, rbac, authorizers.chain)
    known = _methods(base)
    tokens = _tokens(base, writes.operations)
    options = _options(base)
    checks = health_checks(state, store, config.storage, encryption)
    api = Api(
        storage=base.storage,
        security=_security(base, rbac, authorizers.chain, tokens, known, issuer),
        writes=writes,
        edge=_edge(base, writes.operations, checks, options, authorizers.chain),
    )
    pipeline = Pipeline(api, stages_of(api, options.faults, options.request_log), options.faults)
    gather(
        config,
        pipeline,
        fairness=options.fairness,
        tokens=tokens,
        caches=known.caches,
        audited=options.audited,
        outgoing=base.outgoing,
        reloader=base.reloader,
        encryption=encryption,
    )
    return _assembly(base, pipeline, authorizers, options)


def _assembly(
    base: Base, pipeline: Pipeline, authorizers: Authorizers, options: _Options
) -> Assembly:
    return Assembly(
        api=pipeline,
        env=base.env,
        authorizers=authorizers,
        fairness=options.fairness,
        resolve_service=base.resolve_service,
        memory=options.memory,
        outgoing=base.outgoing,
        reloader=base.reloader,
    )


def _edge(
    base: Base, operations: Operations, checks: Health, options: _Options, authorizer: LiveChain
) -> Edge:
    return make_edge(
        base,
        operations,
        checks,
        fairness=options.fairness,
        auditor=options.auditor,
        memory=options.memory,
        cache=options.cache,
        faults=None if base.files.faults is None else options.faults,
        authorize=authorizer.authorize,
    )


def _methods(base: Base) -> Methods:
    return methods(
        base.config,
        base.files.authentication,
        base.env,
        base.outgoing,
        base.reloader,
        base.metrics,
        lambda: identity(base.env.hostname()),
    )


def _tokens(base: Base, operations: Operations) -> IssuedTokens:
    registry = base.storage.registry
    return IssuedTokens(
        base.config,
        base.files.keys,
        base.storage.informers.dispatcher,
        registry,
        base.env,
        last_used_labels(operations, registry),
    )


def _security(
    base: Base,
    rbac: Rbac,
    chain: LiveChain,
    tokens: IssuedTokens,
    known: Methods,
    issuer: TokenIssuer | None,
) -> Security:
    """Who asks, and what they may."""
    return Security(
        authenticator=Authenticator(
            [base.files.tokens, *tokens.authenticators, *known.caches],
            audiences=base.config.auth.audiences,
            headers=known.headers,
            anonymous=known.anonymous.enabled,
            anonymous_paths=known.anonymous.paths,
            tasks=known.tasks,
            cached=known.caches,
        ),
        authorizer=chain,
        rbac=rbac,
        impersonation=Impersonation(chain.authorize),
        authorizations=Authorizations(),
        issuer=issuer,
    )


def _authorizers(base: Base, rbac: Rbac) -> Authorizers:
    first = [
        authorization.Masters(),
        *base.parts.authorizers,
        authorization.kubelet_admins(builtin.parsed("bootstrap")),
    ]
    return Authorizers(
        base.config.authorization,
        base.files.authorization,
        first,
        rbac=rbac,
        informers=base.storage.informers,
        registry=base.storage.registry,
        outgoing=base.outgoing,
        reloader=base.reloader,
        env=base.env,
    )


def _writes(base: Base, rbac: Rbac, authorizer: LiveChain) -> Writes:
    """What writes objects.

    Raises:
        StartError: an admission plugin cannot be made.
    """
    config, env, storage = base.config, base.env, base.storage
    registry = storage.registry
    quotas = StoredQuotas(storage.store, registry, env)
    allocators = ServiceAllocator(
        storage.informers.dispatcher, registry, env, config.services.ranges
    )

    def operations(chain: Chain) -> Operations:
        return Operations(
            WriteParts(
                store=storage.store,
                registry=registry,
                admission=chain,
                env=env,
                allocators=by_resource(allocators),
                allow_privileged=config.admission.allow_privileged,
                times_to_live={"event-ttl": config.storage.event_ttl_s},
            )
        )

    dependencies = PluginDependencies(
        informers=storage.informers,
        registry=registry,
        authorize=authorizer.authorize,
        quotas=quotas,
        outgoing=base.outgoing,
        client_config=WebhookClientConfig(
            outgoing=base.outgoing, env=env, resolve_service=base.resolve_service
        ),
        providing=lambda chain: NamespaceMaker(registry, operations(chain)).provide,
        env=env,
        config=config.admission,
    )
    try:
        chain = admission(dependencies, rbac, base.files.admission, base.parts.admission)
    except ConfigurationError as error:
        raise StartError(f"failed to apply admission: {error}") from error
    return Writes(
        operations=operations(chain),
        admission=chain,
        allocators=allocators,
        quotas=quotas,
        inert=InertKinds(
            storage.store,
            env.now,
            acted_on(wanted(base.config), {**TABLE, **base.parts.controllers}),
        ),
    )


def _fairness(base: Base, request_log: RequestLog | None) -> PriorityAndFairness | None:
    chosen = base.config.flowcontrol
    if not chosen.priority_and_fairness:
        return None
    seats = chosen.max_requests_inflight + chosen.max_mutating_requests_inflight
    return PriorityAndFairness(
        Dispatcher(trio.current_time(), seats, held=True),
        base.storage.registry,
        base.storage.hub,
        base.env.now,
        base.config.requests.request_timeout_s,
        None if request_log is None else request_log.leaving,
    )


def _auditor(base: Base, audited: Counting) -> Auditor | None:
    try:
        return make_auditor(base.config.audit, base.files.audit, base.env, base.outgoing, audited)
    except AuditError as error:
        raise StartError(str(error)) from error


def _memory_limit(base: Base, cache: ByteCache) -> MemoryLimit | None:
    limit = base.config.memory.limit_bytes
    if not limit:
        return None

    def forget() -> None:
        cache.clear()
        base.storage.listing.segments.cache.clear()
        base.storage.listing.recent.clear()

    try:
        return MemoryLimit(limit, forget, base.env.run_blocking)
    except OSError as error:
        raise StartError(
            f"--memory-limit: this system does not say how much is used: {error}"
        ) from error


def _faults(base: Base) -> Injector:
    """Rules of what goes wrong on demand: those of the configuration, and later an embedder's."""
    rules, hub = base.files.faults, base.storage.hub
    faults = Injector(base.env, lambda: hub.revision)
    if rules is not None:
        faults.stand(rules)
        log.warning("faults are injected on demand", file=str(base.config.faults.file or ""))
    return faults
