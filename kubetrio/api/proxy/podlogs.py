"""Logs of containers, from the kubelet that keeps them.

Source: API reference of PodLogOptions; the kubelet's ``/containerLogs`` endpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NoReturn
from urllib.parse import urlencode, urljoin

from kubetrio.api import options
from kubetrio.api.api import Edge, Storage
from kubetrio.api.encoding.accepting import accept
from kubetrio.api.proxy.containers import container_of
from kubetrio.api.proxy.locations import Location, connected, kubelet_of
from kubetrio.api.proxy.proxying import Relay, closing_on_error, stoppable, unknown_error
from kubetrio.api.request import Request, truthy
from kubetrio.api.response import AnyResponse, Channel, Response, StreamResponse
from kubetrio.backend.backends import PeerVerification
from kubetrio.backend.dial import DialError
from kubetrio.backend.exchange import AnswerHead, BackendError, Exchange, encode_head
from kubetrio.machinery.fielderrors import forbidden, not_supported
from kubetrio.machinery.fielderrors import invalid as invalid_value
from kubetrio.machinery.names import GroupKind, GroupResource
from kubetrio.machinery.serverstatus import server_response
from kubetrio.machinery.status import (
    Cause,
    bad_request,
    internal_error,
    invalid,
)
from kubetrio.machinery.timestamps import normalise_time
from kubetrio.resources import reading
from kubetrio.schema.kind import Kind
from kubetrio.wire.negotiate import LOG, metadata_shape_mismatch

ALL = "All"
STREAMS = (ALL, "Stdout", "Stderr")
SWITCHES = ("follow", "previous", "timestamps")
POD_LOGS = GroupResource("", "pods/log")
MAX_ERROR_BYTES = 50_000
PLAIN = b"text/plain"
NAMELESS = "[]"
"""How Go prints the path of a field without a name."""
ZERO_TIME = "0001-01-01T00:00:00Z"
OK, PARTIAL, MULTIPLE, BAD, INTERNAL = 200, 206, 300, 400, 500


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """Which part of a log is asked for.

    Args:
        switches: what is wanted of ``SWITCHES``.
        tail_lines: how many lines from the end.
        limit_bytes: how many bytes.
        since_seconds: how old a line may be.
        since_time: from when on.
        stream: standard output, standard error or both.
    """

    switches: tuple[str, ...] = ()
    tail_lines: int | None = None
    limit_bytes: int | None = None
    since_seconds: int | None = None
    since_time: str | None = None
    stream: str | None = None

    @property
    def query(self) -> str:
        """The query for a kubelet, in kube-apiserver's spelling."""
        named = {
            "limitBytes": self.limit_bytes,
            "sinceSeconds": self.since_seconds,
            "sinceTime": self.since_time,
            "stream": self.stream,
            "tailLines": self.tail_lines,
            **dict.fromkeys(self.switches, "true"),
        }
        return urlencode(sorted((key, str(v)) for key, v in named.items() if v is not None))


def log_options(query: Mapping[str, str]) -> LogOptions:
    """What the query of a log request asks for.

    Args:
        query: first value of each parameter.

    Raises:
        ApiError: 400 for a number or a time that is none.
    """

    def number(name: str) -> int | None:
        return options.integer(query[name]) if name in query else None

    # The first one that is wrong is told, in this order.
    seconds = number("sinceSeconds")
    time = query.get("sinceTime")
    if time is not None:
        try:
            time = (normalise_time(time) if time else None) or ZERO_TIME
        except ValueError as error:
            raise bad_request(str(error)) from None
    return LogOptions(
        switches=tuple(key for key in SWITCHES if truthy(query.get(key, "0"))),
        since_seconds=seconds,
        since_time=time,
        tail_lines=number("tailLines"),
        limit_bytes=number("limitBytes"),
        stream=query.get("stream"),
    )


def check_log_options(asked: LogOptions, name: str, *, split: bool) -> None:
    """Check the options of a log request.

    Args:
        asked: the options.
        name: name of the pod.
        split: whether a stream may be chosen (gate PodLogsQuerySplitStreams).

    Raises:
        ApiError: 422.
    """
    causes: list[Cause] = []
    tail = asked.tail_lines
    if tail is not None and tail < 0:
        causes.append(invalid_value("tailLines", tail, "must be greater than or equal to 0"))
    limit = asked.limit_bytes
    if limit is not None and limit < 1:
        causes.append(invalid_value("limitBytes", limit, "must be greater than 0"))
    since = asked.since_seconds
    if since is not None and asked.since_time is not None:
        detail = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        causes.append(forbidden(NAMELESS, detail))
    elif since is not None and since < 1:
        causes.append(invalid_value("sinceSeconds", since, "must be greater than 0"))
    stream = asked.stream
    if not split:
        if stream is not None:
            causes.append(forbidden("stream", "may not be specified"))
    elif stream is not None:
        if stream not in STREAMS:
            causes.append(not_supported("stream", stream, STREAMS, named=False))
        if stream != ALL and tail is not None:
            detail = "`tailLines` and specific `stream` are mutually exclusive for now"
            causes.append(forbidden(NAMELESS, detail))
    if causes:
        raise invalid(GroupKind("", "PodLogOptions"), name, causes)


async def log(storage: Storage, edge: Edge, request: Request, resource: Kind) -> AnyResponse:
    """Output of a container; nothing from a pod that has no node.

    Raises:
        ApiError: 400, 404, 406, 422 or 500.
    """
    info, query = request.info, request.query
    accepted = accept(request, LOG)
    split = edge.config.split_logs
    asked = log_options(query)
    if split and asked.stream is None:
        asked = replace(asked, stream=ALL)
    check_log_options(asked, info.name, split=split)
    pod = await reading.read(storage.store, resource, info.namespace, info.name)
    container = container_of(pod, query.get("container", ""))
    if accepted.as_kind.endswith("List"):
        raise metadata_shape_mismatch(accepted.as_kind, "*rest.LocationStreamer", is_list=False)
    if accepted.as_kind:
        raise unknown_error("object does not implement the Object interfaces")
    node = pod["spec"].get("nodeName")
    if not node:
        return Response(204, b"", b"")
    kubelet = await kubelet_of(storage, edge, node, resource.group_resource)
    path = f"/containerLogs/{info.namespace}/{info.name}/{container}"
    insecure = truthy(query.get("insecureSkipTLSVerifyBackend", "0"))
    trust = PeerVerification.KUBELET_UNVERIFIED if insecure else PeerVerification.KUBELET
    request.take_time()
    return await _read(edge, request, kubelet.location(path, asked.query, trust))


async def _read(edge: Edge, request: Request, where: Location) -> AnyResponse:
    head = encode_head("GET", where.target, [(b"host", where.authority.encode("latin-1"))])
    try:
        transport = await connected(edge, where)
        with closing_on_error(transport):
            exchange = Exchange(transport, "GET", head)
            answer = await exchange.head(request.gone)
            if not OK <= answer.status <= PARTIAL:
                await _refused(exchange, answer, where, request.info.name)
    except (DialError, BackendError) as error:
        raise unknown_error(f'Get "{where.url}": {error}') from None
    relay = Relay(exchange)

    async def run(channel: Channel) -> None:
        with stoppable(edge.streams):
            await relay(channel)

    return StreamResponse(200, run, PLAIN, long_running=True, patient=True)


async def _refused(exchange: Exchange, answer: AnswerHead, where: Location, name: str) -> NoReturn:
    """Say what a kubelet said, as an API error.

    Raises:
        ApiError: always.
    """
    status = answer.status
    if MULTIPLE <= status < BAD and answer.get(b"location"):
        moved = urljoin(where.url, answer.get(b"location").decode("latin-1"))
        raise unknown_error(f'Get "{moved}": redirects forbidden')
    body = b""
    try:
        while len(body) < MAX_ERROR_BYTES:
            piece = await exchange.read()
            if not piece:
                break
            body += piece
    except BackendError as error:
        raise internal_error(str(error)) from None
    text = body[:MAX_ERROR_BYTES].decode("utf-8", "replace")
    if status == INTERNAL:
        raise internal_error(text)
    if status == BAD:
        raise bad_request(text)
    raise server_response(status, text, POD_LOGS, name)
