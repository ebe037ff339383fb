"""What the stages and verbs of one server work with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import trio

from kubetrio.aggregation.aggregation import Aggregation
from kubetrio.aggregation.routes import Route
from kubetrio.api.arriving import Arrivals
from kubetrio.api.encoding.cache import ByteCache
from kubetrio.api.encoding.encoders import accept_error
from kubetrio.api.encoding.kindstreams import KindStreams
from kubetrio.api.encoding.serializers import dump
from kubetrio.api.flowcontrol import FlowControl
from kubetrio.api.httplog import RequestLog
from kubetrio.api.longselectors import LongSelectors
from kubetrio.api.offloop import OffLoop
from kubetrio.api.pages.documents import Documents
from kubetrio.api.request import Request
from kubetrio.api.response import Response
from kubetrio.audit.auditor import Auditor
from kubetrio.auth import authorize as authorization
from kubetrio.auth.authenticate import Authenticator
from kubetrio.auth.authorizations import Authorizations
from kubetrio.auth.impersonate import Impersonation
from kubetrio.auth.issuing import DEFAULT_ISSUER, TokenIssuer
from kubetrio.auth.rbac.authorizer import Rbac
from kubetrio.auth.selectors import Selected
from kubetrio.backend.backends import Backends
from kubetrio.env import Env
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.kinds.inert import InertKinds
from kubetrio.machinery.identity import WHOLE, Attributes
from kubetrio.machinery.names import GroupVersion
from kubetrio.machinery.status import ApiError
from kubetrio.observe.metrics import Metrics
from kubetrio.outgoing.client import Outgoing
from kubetrio.quota.stored import StoredQuotas
from kubetrio.reloading import Reloader
from kubetrio.resources.listing import Listing
from kubetrio.resources.operations import Operations
from kubetrio.resources.writes import DeleteOptions, Target, WriteOptions
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.model import Store
from kubetrio.watch.hub import Hub

if TYPE_CHECKING:
    from kubetrio.faults import Injector

ENCODED_BYTES = 16 * 1024 * 1024

Object = dict[str, Any]


class AuditIds:
    """Identities of requests: a random start, then counted; unique and nearly free.

    Args:
        env: source of the random part.
    """

    ENDS = tuple(f"{end:03x}" for end in range(1 << 12))

    def __init__(self, env: Env) -> None:
        self._prefix = env.new_uid()[:24]
        self._count = env.rng.getrandbits(40)
        self._begin = ""  # of those that differ in their ends only

    def next(self) -> str:
        """The next identity, shaped as a UUID."""
        self._count = count = (self._count + 1) & 0xFFFFFFFFFFFF
        end = count & 0xFFF
        if not end or not self._begin:
            self._begin = f"{self._prefix}{count >> 12:09x}"
        return self._begin + self.ENDS[end]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiConfig:
    """Tunables of the pipeline.

    Args:
        max_body_bytes: largest request body.
        min_request_timeout_s: a watch without a time-out gets between this and twice this.
        request_timeout_s: seconds for everything that is not a watch.
        cbor: whether CBOR is spoken (feature gate CBORServingAndStorage).
        audiences: audiences of this API; never empty.
        split_logs: whether kubelets are asked for single streams of logs (feature gate
            PodLogsQuerySplitStreams).
        longest_token_s: bound of the life of service account tokens in seconds, 0 for none.
        extend_tokens: whether tokens that kubelets ask for live longer than that.
        standing: headers of every answer.
        inert: who is warned of new objects that nothing acts on: ``kubectl``, ``all`` or ``none``.
    """

    max_body_bytes: int = 3 * 1024 * 1024
    min_request_timeout_s: float = 1800.0
    request_timeout_s: float = 60.0
    cbor: bool = False
    audiences: tuple[str, ...] = (DEFAULT_ISSUER,)
    split_logs: bool = False
    longest_token_s: int = 0
    extend_tokens: bool = True
    standing: tuple[tuple[bytes, bytes], ...] = ()
    inert: str = "none"


class Shortage(Protocol):
    """Whether there is too little memory for further requests."""

    @property
    def short(self) -> bool:
        """There is."""
        ...


@dataclass(slots=True, kw_only=True)
class Api:
    """What the stages work with: one for each server.

    Args:
        config: tunables.
        env: clocks and randomness.
        registry: what is served.
        store: where objects live.
        hub: where events come from.
        informers: collections in memory, and the dispatcher of commits.
        listing: reads.
        operations: writes.
        authenticator: who asks.
        authorizer: who may.
        rbac: roles and bindings, whether the authorizers ask them or not.
        inert: what nobody acts on.
        quotas: charged by admission, counted again beside it.
        documents: paths that are not resources.
        metrics: counters.
        audit_ids: identities of requests.
        flow: seats.
        aggregation: what other servers serve.
        backends: connections to kubelets, pods and endpoints.
        off_loop: works over large bodies.
        outgoing: calls webhooks and issuers.
        reloader: reads files again when they change.
        authorizers: reads what authorizers have to know, at the start.
        issuer: signs service account tokens; None when there is no key.
        request_log: a line for each request; None for no such log.
        auditor: takes events of the audit log; None for no such log.
        cache: encoded objects in other representations than the stored one.
        streams: cancel scopes of open watches, logs and tunnels.
        clock: Trio's, asked without the way through its current run.
        arrivals: bodies that come while their requests have no seat.
        under_way: requests that have no answer yet, but for those.
        long_selectors: selectors of open watches.
        kind_streams: watches by what they are about.
        routes: versions that other servers serve, as they are now.
        authorizations: how often requests were allowed and refused.
        impersonation: who may be somebody else.
        memory: says when there is too little of it; None where there is no limit.
        faults: what goes wrong on demand; None as long as nobody has asked for it.
        stages: of the pipeline, where they are others than usual.
    """

    config: ApiConfig
    env: Env
    registry: LiveRegistry
    store: Store
    hub: Hub
    informers: SharedInformerFactory
    listing: Listing
    operations: Operations
    inert: InertKinds
    authenticator: Authenticator
    authorizer: authorization.Chain
    rbac: Rbac
    quotas: StoredQuotas
    documents: Documents
    metrics: Metrics
    audit_ids: AuditIds
    flow: FlowControl
    aggregation: Aggregation
    backends: Backends
    off_loop: OffLoop
    outgoing: Outgoing
    reloader: Reloader
    authorizers: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint
    issuer: TokenIssuer | None = None
    request_log: RequestLog | None = None
    auditor: Auditor | None = None
    cache: ByteCache = field(default_factory=lambda: ByteCache(ENCODED_BYTES))
    streams: set[trio.CancelScope] = field(default_factory=set)
    clock: trio.abc.Clock = field(default_factory=trio.lowlevel.current_clock)
    arrivals: Arrivals = field(default_factory=Arrivals)
    under_way: int = 0
    memory: Shortage | None = None
    faults: Injector | None = None
    stages: tuple[Callable[..., Any], ...] = ()
    long_selectors: LongSelectors = field(default_factory=LongSelectors)
    authorizations: Authorizations = field(default_factory=Authorizations)
    kind_streams: KindStreams = field(init=False)
    impersonation: Impersonation = field(init=False)

    routes: Mapping[GroupVersion, Route] = field(init=False)

    def __post_init__(self) -> None:
        self.routes = self.aggregation.routes.by_version
        self.impersonation = Impersonation(self.authorizer.authorize)
        self.kind_streams = KindStreams(self.registry, self.streams, self.cache)

    def end_streams(self) -> None:
        """End open streams cleanly, as if their time were up (shutdown)."""
        for scope in tuple(self.streams):
            scope.cancel()

    def default_watch_timeout(self) -> float:
        """Seconds of a watch that names no time-out: spread, so that clients come back apart."""
        return self.config.min_request_timeout_s * (1.0 + self.env.rng.random())

    def release_seat(self, request: Request) -> Callable[[], None]:
        """Gives a watch's seat back once its initial state is sent."""

        def release() -> None:
            if request.seat is not None:  # collected after the loop, there is no time to ask for
                self.flow.leave(request, trio.current_time())

        return release

    def returns_deleted(self, resource: Kind) -> bool:
        """Whether DELETE answers with the object."""
        return resource.strategy.returns_deleted

    def status_response(self, request: Request, status: Object, code: int) -> Response:
        """A `Status` in the representation the client takes; it is never shown as a table."""
        accepted = request.accepted[1] if request.accepted else accept_error(request)
        return Response(code, dump(status, accepted), accepted.media_type.encode())

    async def delete_if_there(
        self, target: Target, chosen: DeleteOptions, who: WriteOptions
    ) -> bool:
        """Delete; False when somebody else was faster."""
        try:
            await self.operations.delete(target, chosen, who)
        except ApiError as error:
            if error.code == 404:
                return False
            raise
        return True


SELECTING = frozenset({"list", "watch", "deletecollection"})
"""Verbs of which selectors are read."""


def attributes_of(request: Request) -> Attributes:
    """The question put to authorizers."""
    info = request.info
    narrowing = WHOLE
    query = request.query
    if (
        query
        and info.is_resource
        and info.verb in SELECTING
        and ("fieldSelector" in query or "labelSelector" in query)
    ):
        narrowing = Selected(request.selectors)
    return Attributes(
        user=request.user,
        verb=info.verb,
        namespace=info.namespace,
        api_group=info.group,
        api_version=info.version,
        resource=info.resource,
        subresource=info.subresource,
        name=info.name,
        resource_request=info.is_resource,
        path=info.path,
        narrowing=narrowing,
    )
