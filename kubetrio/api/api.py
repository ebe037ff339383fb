"""What the stages and verbs of one server work with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

import trio

from kubetrio.admission.chain import Chain
from kubetrio.allocation.allocation import ServiceAllocator
from kubetrio.api.delegation import Delegation
from kubetrio.api.encoding.accepting import accept_error
from kubetrio.api.encoding.cache import ByteCache
from kubetrio.api.encoding.kindstreams import KindStreams
from kubetrio.api.encoding.serializers import dump
from kubetrio.api.flowcontrol import FlowControl
from kubetrio.api.longselectors import LongSelectors
from kubetrio.api.offloop import OffLoop
from kubetrio.api.pages.documents import Documents
from kubetrio.api.pendingbodies import PendingBodies
from kubetrio.api.request import Request
from kubetrio.api.response import Answer, Response
from kubetrio.audit.auditor import Auditor
from kubetrio.auth.authenticate import Authenticator
from kubetrio.auth.authorizations import Authorizations
from kubetrio.auth.impersonate import Impersonation
from kubetrio.auth.issuing import DEFAULT_ISSUER, TokenIssuer
from kubetrio.auth.rbac.authorizer import Rbac
from kubetrio.auth.selectors import Selected
from kubetrio.auth.settings.live import LiveChain
from kubetrio.backend.backends import Backends
from kubetrio.env import Env
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.kinds.inert import InertKinds
from kubetrio.machinery.identity import WHOLE, Attributes
from kubetrio.observe.metrics import Metrics
from kubetrio.quota.stored import StoredQuotas
from kubetrio.resources.listing import Listing
from kubetrio.resources.operations import Operations
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.model import Store
from kubetrio.watch.hub import Hub

Object = dict[str, Any]
Stage = Callable[[Request], Answer | Awaitable[Answer]]
Named = tuple[tuple[str, Stage], ...]
"""Stages by name and in order."""


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
        """Whether the process is over its memory limit."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Where objects are, and what is served of them.

    Args:
        registry: what is served.
        store: where objects live.
        hub: where events come from.
        informers: collections in memory, and the dispatcher of commits.
        listing: reads.
    """

    registry: LiveRegistry
    store: Store
    hub: Hub
    informers: SharedInformerFactory
    listing: Listing


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """Who asks, and what they may.

    Args:
        authenticator: who asks.
        authorizer: who may.
        rbac: roles and bindings, whether the authorizers ask them or not.
        impersonation: which users may act as others.
        authorizations: how often requests were allowed and refused.
        issuer: signs service account tokens; None when there is no key.
    """

    authenticator: Authenticator
    authorizer: LiveChain
    rbac: Rbac
    impersonation: Impersonation
    authorizations: Authorizations
    issuer: TokenIssuer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """What writes objects, and what is asked about it.

    Args:
        operations: writes.
        admission: the plugins.
        allocators: give Services their addresses and node ports.
        quotas: charged by admission, counted again beside it.
        inert: new objects that no controller acts on.
    """

    operations: Operations
    admission: Chain
    allocators: ServiceAllocator
    quotas: StoredQuotas
    inert: InertKinds


@dataclass(slots=True)
class InFlight:
    """How many requests have no answer yet, but for those whose body comes without a seat."""

    requests: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """What is between clients and objects: how requests come in and answers go out.

    Args:
        config: tunables.
        env: clocks and randomness.
        clock: Trio's, asked without the way through its current run.
        documents: paths that are not resources.
        metrics: counters.
        flow: seats.
        memory: says when there is too little of it; None where there is no limit.
        audit_ids: identities of requests.
        auditor: takes events of the audit log; None for no such log.
        off_loop: works over large bodies.
        cache: encoded objects in other representations than the stored one.
        streams: cancel scopes of open watches, logs and tunnels.
        kind_streams: watches by what they are about.
        long_selectors: selectors of open watches.
        pending_bodies: bodies that come while their requests have no seat.
        in_flight: requests under way.
        delegation: what other servers answer.
        backends: connections to kubelets, pods and endpoints.
    """

    config: ApiConfig
    env: Env
    clock: trio.abc.Clock
    documents: Documents
    metrics: Metrics
    flow: FlowControl
    memory: Shortage | None
    audit_ids: AuditIds
    auditor: Auditor | None
    off_loop: OffLoop
    cache: ByteCache
    streams: set[trio.CancelScope]
    kind_streams: KindStreams
    long_selectors: LongSelectors
    pending_bodies: PendingBodies
    in_flight: InFlight
    delegation: Delegation
    backends: Backends

    def default_watch_timeout(self) -> float:
        """Seconds of a watch that names no time-out: spread, so that clients come back apart."""
        return self.config.min_request_timeout_s * (1.0 + self.env.rng.random())

    def release_seat(self, request: Request) -> Callable[[], None]:
        """Return what gives a watch's seat back once its initial state is sent."""

        def release() -> None:
            if request.seat is not None:  # collected after the loop, there is no time to ask for
                self.flow.leave(request, trio.current_time())

        return release


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """The parts that the stages and verbs of one server work with.

    Args:
        storage: objects.
        security: users.
        writes: changes of objects.
        edge: requests and answers.
    """

    storage: Storage
    security: Security
    writes: Writes
    edge: Edge


def status_response(request: Request, status: Object, code: int) -> Response:
    """Return a `Status` in the representation the client takes, which is never a table."""
    accepted = request.accepted[1] if request.accepted else accept_error(request)
    return Response(code, dump(status, accepted), accepted.media_type.encode())


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
