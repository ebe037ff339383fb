"""EventRateLimit: events come no faster than is configured.

Each limit has token buckets: one for the server, or one for each namespace, user, or source and
object of events; of those the least recently used are forgotten.

Source: docs "Admission Control in Kubernetes" (EventRateLimit), "Event Rate Limit Configuration
(v1alpha1)".
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.chain import Plugin
from kubetrio.admission.configuration import (
    INT32,
    ConfigurationError,
    declared,
    decode,
    listed,
    of_type_meta,
)
from kubetrio.admission.plugin import Base
from kubetrio.gotext.text import aggregate
from kubetrio.machinery import fielderrors
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError, Cause
from kubetrio.schema.structural_shapes import Shape, ShapeKind

if TYPE_CHECKING:
    from kubetrio.plugins.context import PluginContext

Object = dict[str, Any]
EVENTS = frozenset({GroupResource("", "events"), GroupResource("events.k8s.io", "events")})
REMEMBERED = 4096  # buckets of a limit that says nothing of it
LONG = 256  # characters; longer keys are remembered by their hash
_GROUP = "eventratelimit.admission.k8s.io"


def _namespace(attributes: Attributes) -> str:
    return attributes.namespace


def _user(attributes: Attributes) -> str:
    return attributes.user.name


def _source_and_object(attributes: Attributes) -> str:
    event = attributes.obj or {}
    source = event.get("source") or event.get("deprecatedSource") or {}
    involved = event.get("involvedObject") or event.get("regarding") or {}
    parts = [source.get(name) for name in ("component", "host")] + [
        involved.get(name) for name in ("kind", "namespace", "name", "uid", "apiVersion")
    ]
    return "".join(part or "" for part in parts)


KEYS: dict[str, Callable[[Attributes], str]] = {
    "Server": lambda _: "",
    "Namespace": _namespace,
    "User": _user,
    "SourceAndObject": _source_and_object,
}
"""Types of limits, and what tells the buckets of each apart."""


class Limit(NamedTuple):
    """A limit.

    Args:
        type: one of `KEYS`.
        qps: events in a second, of each bucket.
        burst: that a full bucket has room for.
        cache_size: how many buckets are remembered.
    """

    type: str
    qps: int
    burst: int
    cache_size: int = REMEMBERED


_LIMIT = declared(
    "v1alpha1.Limit",
    type=Shape(ShapeKind.STRING, "v1alpha1.LimitType"),
    qps=INT32,
    burst=INT32,
    cacheSize=INT32,
)
_CONFIGURATION = of_type_meta("v1alpha1.Configuration", limits=listed(_LIMIT))


def configured(data: bytes | None) -> tuple[Limit, ...]:
    """Read the plugin's configuration, without which it cannot be on.

    Raises:
        ConfigurationError: it is none.
    """
    limits: Any = None
    if data is not None:
        value = decode(
            data,
            {(f"{_GROUP}/v1alpha1", "Configuration"): _CONFIGURATION},
            location="k8s.io/kubernetes/plugin/pkg/admission/eventratelimit/config.go:33",
            strict=False,
        )
        limits = value.get("limits")
    causes: list[Cause] = []
    if not limits:
        causes.append(fielderrors.invalid("limits", limits, "must not be empty"))
    for index, limit in enumerate(limits or ()):
        _check(limit or {}, f"limits[{index}]", causes)
    if causes:
        raise ConfigurationError(aggregate(map(str, causes)))
    return tuple(
        Limit(one["type"], one["qps"], one["burst"], one.get("cacheSize") or REMEMBERED)
        for one in limits
    )


def _check(limit: Object, path: str, causes: list[Cause]) -> None:
    kind = limit.get("type") or ""
    if kind not in KEYS:
        causes.append(fielderrors.not_supported(f"{path}.type", kind, list(KEYS)))
    for name in ("burst", "qps"):
        number = limit.get(name) or 0
        if number <= 0:
            causes.append(fielderrors.invalid(f"{path}.{name}", number, "must be positive"))
    size = limit.get("cacheSize") or 0
    if kind != "Server" and size < 0:
        causes.append(fielderrors.invalid(f"{path}.cacheSize", size, "must not be negative"))


class Buckets:
    """The buckets of one limit; full at first.

    Args:
        limit: how fast they fill, and how many there are.
        now: clock, seconds.
    """

    def __init__(self, limit: Limit, now: Callable[[], float]) -> None:
        self._limit = limit
        self._now = now
        self._known: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def take(self, key: str) -> bool:
        """Take a token, if there is one."""
        limit, now = self._limit, self._now()
        if len(key) > LONG:  # clients write parts of keys, and many of them are remembered
            key = sha256(key.encode("utf-8", "replace")).hexdigest()
        tokens, at = self._known.pop(key, (float(limit.burst), now))
        tokens = min(float(limit.burst), tokens + max(0.0, now - at) * limit.qps)
        enough = tokens >= 1.0
        self._known[key] = (tokens - 1.0 if enough else tokens, now)
        if len(self._known) > limit.cache_size:
            self._known.popitem(last=False)
        return enough


class EventRateLimit(Base):
    """The plugin.

    Args:
        limits: what is configured.
        now: clock, seconds.
    """

    name = "EventRateLimit"
    resources = EVENTS
    operations = frozenset({Operation.CREATE, Operation.UPDATE})

    def __init__(self, limits: Sequence[Limit], now: Callable[[], float]) -> None:
        self._limits = [(limit.type, KEYS[limit.type], Buckets(limit, now)) for limit in limits]

    async def validate(self, attributes: Attributes) -> None:
        """Refuse what comes too fast; each limit is charged, whatever the others say.

        Raises:
            ApiError: 429.
        """
        if attributes.dry_run:
            return
        refused = []
        for kind, key_of, buckets in self._limits:
            key = key_of(attributes)
            if not buckets.take(key):
                refused.append(f"limit reached on type {kind} for key {key}")
        if refused:
            raise ApiError(429, "TooManyRequests", f"Too many requests: {aggregate(refused)}")


def event_limits(context: PluginContext) -> Plugin:
    """Make the plugin EventRateLimit."""
    limits = context.configurations["EventRateLimit"]
    return EventRateLimit(limits, context.server.env.now)
