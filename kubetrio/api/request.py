"""A request without a web framework, and what its path and method mean.

The rules of `resolve` are those of kube-apiserver's RequestInfo (docs: "API concepts", resource
URIs): which paths are about resources, which verb a method stands for, where the namespace is.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import unquote, unquote_plus

from kubetrio.api.warningheaders import Warnings
from kubetrio.machinery.identity import ANONYMOUS, UserInfo, Verdict
from kubetrio.machinery.remember import counted
from kubetrio.machinery.selectors import Selectors
from kubetrio.schema.wellknown import NAMESPACES
from kubetrio.wire.report import Empties

if TYPE_CHECKING:
    from trio import CancelScope

    from kubetrio.api.response import AnyResponse
    from kubetrio.auth.authenticate import Shown
    from kubetrio.resources.writes import WriteOptions
    from kubetrio.schema.kind import Kind
    from kubetrio.wire.negotiate import Accepted, Offer

NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
VERBS = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}


CONNECTED = frozenset({"attach", "exec", "log", "portforward", "proxy"})
"""Subresources that lead to a node: no objects of the API, and as long as their clients like."""
_REMEMBERED_CHARS = 256
_ANY = "-"  # no name of anything
METRIC_VERBS = {
    "create": "POST",
    "get": "GET",
    "list": "LIST",
    "watch": "WATCH",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETECOLLECTION",
}
KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT"})


class RequestInfo(NamedTuple):
    """What a request is about (a tuple: every request makes one).

    Args:
        is_resource: False for paths outside the resource trees.
        verb: API verb (get, list, watch, create, update, patch, delete, deletecollection, proxy),
            the method in lower case for other paths, empty for unknown methods on resources.
        path: the decoded path.
        prefix: ``api`` or ``apis``.
        group: API group.
        version: API version.
        namespace: namespace in the path.
        resource: plural name.
        subresource: path element behind the name.
        name: object name, from the path or pinned by a field selector.
        parts: path elements from the resource on.
        unfinished: whether the path ends with ``watch`` or ``proxy`` in place of a resource.
    """

    is_resource: bool
    verb: str
    path: str
    prefix: str = ""
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    parts: tuple[str, ...] = ()
    unfinished: bool = False


UNREAD = RequestInfo(is_resource=False, verb="", path="")
"""Of a request that ended before its path was read."""


def _path_parts(path: str) -> list[str]:
    stripped = path.strip("/")
    return stripped.split("/") if stripped else []


def truthy(value: str) -> bool:
    """Query booleans as kube-apiserver reads them: anything but ``0`` and ``false`` is true."""
    return value != "0" and value.lower() != "false"


def resolve(method: str, raw_path: str, query: Mapping[str, str]) -> RequestInfo:
    """What a method and a raw (percent-encoded) path mean.

    Args:
        method: HTTP method.
        raw_path: path as sent, without the query.
        query: first value of each query parameter.
    """
    if query or len(raw_path) > _REMEMBERED_CHARS:
        return _resolve(method, raw_path, query)
    return _resolved(method, raw_path)


@counted
@lru_cache(2048)
def _resolved(method: str, raw_path: str) -> RequestInfo:
    # Clients ask for the same things again and again, or for others beside them.
    folder, _, name = raw_path.rpartition("/")
    if name and "%" not in raw_path:
        beside = _resolved_beside(method, folder)
        if beside is not None:
            verb, prefix, group, version, namespace, resource = beside
            return RequestInfo(
                True, verb, raw_path, prefix, group, version, namespace, resource, "", name,
                (resource, name),
            )  # fmt: skip
    return _resolve(method, raw_path, {})


@counted
@lru_cache(256)
def _resolved_beside(method: str, folder: str) -> tuple[str, str, str, str, str, str] | None:
    """What the objects of a folder have in common, None if it is no folder of objects."""
    info = _resolve(method, f"{folder}/{_ANY}", {})
    if info.parts != (info.resource, _ANY) or info.namespace == _ANY:
        return None
    return info.verb, info.prefix, info.group, info.version, info.namespace, info.resource


def _resolve(method: str, raw_path: str, query: Mapping[str, str]) -> RequestInfo:
    path = unquote(raw_path) if "%" in raw_path else raw_path
    parts = _path_parts(path)
    other = RequestInfo(is_resource=False, verb=method.lower(), path=path)
    if len(parts) < 3 or parts[0] not in ("api", "apis"):
        return other
    prefix, group = parts[0], ""
    if prefix == "apis":
        if len(parts) < 4:
            return other
        group, version, parts = parts[1], parts[2], parts[3:]
    else:
        version, parts = parts[1], parts[2:]
    verb = VERBS.get(method, "")
    special = parts[0] in ("watch", "proxy")
    if special:
        if len(parts) < 2:
            return other._replace(unfinished=True)
        verb, parts = parts[0], parts[1:]
    namespace = ""
    if parts[0] == NAMESPACES and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in NAMESPACE_SUBRESOURCES:
            parts = parts[2:]
    name = parts[1] if len(parts) > 1 else ""
    subresource = parts[2] if len(parts) > 2 and not special else ""
    if not name:
        if verb == "get":
            verb = "watch" if truthy(query.get("watch", "0")) else "list"
        elif verb == "delete":
            verb = "deletecollection"
        if verb in ("list", "watch") and "fieldSelector" in query:
            name = _pinned_name(query["fieldSelector"])
    return RequestInfo(
        True, verb, path, prefix, group, version, namespace, parts[0], subresource, name,
        tuple(parts),
    )  # fmt: skip


def _pinned_name(selector: str) -> str:
    """Name that a field selector requires, for authorization and messages.

    Only if an object can have it: with another one the request is about all of them.
    """
    from kubetrio.machinery import fields
    from kubetrio.machinery.names_validation import path_segment

    try:
        name = fields.parse(selector).exact("metadata.name") or ""
    except ValueError:
        return ""
    return "" if path_segment(name) else name


LISTS = frozenset(
    {b"connection", b"expect", b"sec-websocket-protocol", b"te", b"trailer", b"transfer-encoding"}
)
"""Headers of which all lines count.  They are about the connection; none says who asks for what."""


def by_name(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """The value of each header.

    Of several with a name the first counts, an empty one too, as ``Header.Get`` of Go's net/http
    has it: two that are read as one would be neither of them.  Those of `LISTS` are one list.

    Args:
        headers: lower-case names and values, in order.
    """
    first: dict[bytes, bytes] = {}
    several: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        if name not in first:
            first[name] = value
        elif name in LISTS:
            several.setdefault(name, [first[name]]).append(value)
    for name, values in several.items():
        first[name] = b", ".join(values)
    return first


ReadBody = Callable[[int], Awaitable[bytes]]


async def no_body(_limit: int) -> bytes:
    """The body of a request that has none."""
    return b""


PullBody = Callable[[], Awaitable[bytes]]


async def nothing() -> bytes:
    """The one piece of a body that there is not."""
    return b""


class Heard(Protocol):
    """What is told of a request when it ends (`api.httplog`)."""

    def refused(self, request: Request, entry: object) -> None:
        """Note that a request got no seat.

        Args:
            request: the request.
            entry: what flow control knows of requests like it.
        """
        ...

    def answered(self, request: Request, response: AnyResponse) -> None:
        """Note the answer of a request; the stream of it may be changed."""
        ...


@dataclass(slots=True, eq=False)
class Request:
    """One request on its way through the pipeline; each stage fills in its part.

    Args:
        method: HTTP method.
        raw_path: path as sent, without the query.
        raw_query: text behind the question mark.
        headers: lower-case name to value, as `by_name` has them.
        raw_headers: all headers in order, for those that may repeat.
        read_body: reads the whole body, at most so many bytes, else raises 413.
        peer: address of the client.
        certificate: identity from a verified client certificate, or None.
        ready: whether the whole body is here already, or there is none.
        given: the object of a create or update as a value, in place of a body (in-process clients).

    Attributes:
        pull_body: reads the next piece of the body, empty at its end, instead of `read_body`; may
            be cancelled and called again.
        shown: the certificate that the connection's client showed, good or not.
        identified: told who showed credentials, where the connection wants to know.
        unsized: whether there may be a body that no header tells of (HTTP/2).
        upgrade: whether another protocol is asked for, and the connection can become that one's.
        arrived: when it came, by Trio's clock, in seconds.
        started: when it came for its seat: the same, or when its body had come.
        waited: seconds for which it waited for a seat.
        log: writes a line when its answer is over, None where no such log is kept.
        passage: what flow control did with it, where the log of requests wants to know.
        timer: bounds the request until its answer begins.
        paused: whether it gave its seat back while its body came.
        body_bytes: size of the body that was read.
        empties: members of the object in the body that were given and are empty.
        write_options: of a write, when they were read from the query.
        heavy: whether work over the body takes long (see `offloop`).
        outlined: whether its path and query are still to be read (see `outlines`).
        accepted: what the client accepts of an offer, for the last offer that was asked about.
        verdict: what authorizers thought of it.
        annotations: what stages note for the audit log, by key.
        body_annotations: the same of what shows parts of objects.
        record: what the audit log knows of it, None if that does not want it.
    """

    method: str
    raw_path: str
    raw_query: str
    headers: Mapping[bytes, bytes]
    raw_headers: list[tuple[bytes, bytes]]
    read_body: ReadBody = no_body
    peer: str = ""
    certificate: UserInfo | None = None
    ready: bool = False
    given: Any = None
    # filled in by the stages
    info: RequestInfo = field(init=False, default=UNREAD)
    query: Mapping[str, str] = field(init=False, default_factory=dict)
    resource: Kind | None = field(init=False, default=None)
    user: UserInfo = field(init=False, default=ANONYMOUS)
    audit_id: str = field(init=False, default="")
    response_headers: list[tuple[bytes, bytes]] = field(init=False, default_factory=list)
    seat: Any = field(init=False, default=None)
    paused: bool = field(init=False, default=False)
    width: Any = field(init=False, default=None)
    pull_body: PullBody = field(init=False, default=nothing)
    unsized: bool = field(init=False, default=False)
    upgrade: bool = field(init=False, default=False)
    timer: CancelScope | None = field(init=False, default=None)
    gone: Callable[[], bool] | None = field(init=False, default=None)
    shown: Shown | None = field(init=False, default=None)
    identified: Callable[[UserInfo], None] | None = field(init=False, default=None)
    body: Any = field(init=False, default=None)
    body_bytes: int = field(init=False, default=0)
    empties: Empties | None = field(init=False, default=None)
    write_options: WriteOptions | None = field(init=False, default=None)
    heavy: bool = field(init=False, default=False)
    outlined: bool = field(init=False, default=False)
    _selectors: Selectors | None = field(init=False, default=None)
    patch_type: str = field(init=False, default="")
    arrived: float = field(init=False, default=0.0)
    started: float = field(init=False, default=0.0)
    waited: float = field(init=False, default=0.0)
    log: Heard | None = field(init=False, default=None)
    passage: Any = field(init=False, default=None)
    warnings: Warnings | None = field(init=False, default=None)
    accepted: tuple[Offer, Accepted] | None = field(init=False, default=None)
    verdict: Verdict | None = field(init=False, default=None)
    annotations: dict[str, str] = field(init=False, default_factory=dict)
    body_annotations: dict[str, str] = field(init=False, default_factory=dict)
    record: Any = field(init=False, default=None)

    @property
    def selectors(self) -> Selectors:
        """Label and field selector, parsed when first asked for."""
        if self._selectors is None:
            query = self.query
            texts = query.get("labelSelector", ""), query.get("fieldSelector", "")
            self._selectors = Selectors(*texts)
        return self._selectors

    def forget_selectors(self) -> None:
        """Let parsed selectors go, which a watch would keep as long as its request."""
        self._selectors = None

    def forget_query(self) -> None:
        """Let a query go that is long, when nothing but the stream of its answer is left to do."""
        if len(self.raw_query) > _REMEMBERED_CHARS:
            self.raw_query, self.query = "", {}

    @property
    def path(self) -> str:
        """The decoded path."""
        return self.info.path

    def take_headers(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Have other headers in place of those that were sent.

        Args:
            headers: in order, with lower-case names.
        """
        # What was sent may be shared with other requests of the connection.
        self.headers, self.raw_headers = by_name(headers), headers

    def warn(self, texts: Iterable[str]) -> None:
        """Add ``Warning`` headers (RFC 7234) to the answer, each text once.

        Args:
            texts: the warnings.
        """
        if self.warnings is None:
            self.warnings = Warnings(self.response_headers)
        self.warnings.add(texts)

    def take_time(self) -> None:
        """Lift the bound: this request takes as long as its client likes."""
        if self.timer is not None:
            self.timer.deadline = inf

    def query_list(self, name: str) -> list[str]:
        """All values of a query parameter, in order."""
        return [value for key, value in query_pairs(self.raw_query) if key == name]

    def header_list(self, name: bytes) -> list[str]:
        """All values of a header, in order."""
        return [value.decode("latin-1") for key, value in self.raw_headers if key == name]

    def header(self, name: bytes) -> str:
        """A header's text, empty when absent."""
        value = self.headers.get(name)
        return value.decode("latin-1") if value else ""


MOST_PARAMETERS = 10_000
undecodable = re.compile("%(?![0-9A-Fa-f]{2})|;").search
"""Finds what makes Go drop a pair of a query."""


def query_pairs(raw: str) -> list[tuple[str, str]]:
    """Names and values of a query, in order.

    Pairs that Go does not decode are as good as absent: a semicolon separates nothing for it, and a
    percent sign has two digits after it.  Nor does it read a query of more than so many
    (``urlmaxqueryparams`` of net/url): then there is none.

    Args:
        raw: text behind the question mark.
    """
    pairs: list[tuple[str, str]] = []
    if raw.count("&") >= MOST_PARAMETERS:
        return pairs
    for pair in raw.split("&"):
        name, _, value = pair.partition("=")
        if "%" in pair or "+" in pair or ";" in pair:
            if undecodable(pair):
                continue
            name = unquote_plus(name) if "%" in name or "+" in name else name
            value = unquote_plus(value) if "%" in value or "+" in value else value
        if pair:
            pairs.append((name, value))
    return pairs


def parse_query(raw: str) -> Mapping[str, str]:
    """First value of each query parameter."""
    query: dict[str, str] = {}
    if raw:
        for key, value in query_pairs(raw):
            query.setdefault(key, value)
    return query
