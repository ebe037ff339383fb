"""Logs of containers, from the kubelet that keeps them.

Source: API reference of PodLogOptions; the kubelet's ``/containerLogs`` endpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlencode, urljoin

from kubetrio.api import options
from kubetrio.api.containers import container_of
from kubetrio.api.encoders import accept
from kubetrio.api.proxying import Relay, closing_on_error, stoppable, unknown_error
from kubetrio.api.request import Request, truthy
from kubetrio.api.response import AnyResponse, Channel, Response, StreamResponse
from kubetrio.api.targets import Location, kubelet_of
from kubetrio.backend.backends import Trust
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
from kubetrio.resources import revising
from kubetrio.schema.registry import ResourceType
from kubetrio.wire.negotiate import LOG, metadata_shape_mismatch

if TYPE_CHECKING:
    from kubetrio.api.pipeline import Api

STREAMS = ("All", "Stdout", "Stderr")
NUMBERS = ("tailLines", "limitBytes", "sinceSeconds")
SWITCHES = ("follow", "previous", "timestamps")
POD_LOGS = GroupResource("", "pods/log")
MAX_ERROR_BYTES = 50_000
PLAIN = b"text/plain"
ZERO_TIME = "0001-01-01T00:00:00Z"
OK, PARTIAL, MULTIPLE, BAD, INTERNAL = 200, 206, 300, 400, 500


def check_log_options(query: Mapping[str, str], name: str) -> None:
    """Check the query of a log request.

    Args:
        query: first value of each parameter.
        name: name of the pod.

    Raises:
        ApiError: 400 or 422.
    """
    numbers = {key: options.integer(query[key]) for key in NUMBERS if key in query}
    causes: list[Cause] = []
    tail = numbers.get("tailLines", 0)
    if tail < 0:
        causes.append(invalid_value("tailLines", tail, "must be greater than or equal to 0"))
    limit = numbers.get("limitBytes", 1)
    if limit < 1:
        causes.append(invalid_value("limitBytes", limit, "must be greater than 0"))
    since = numbers.get("sinceSeconds")
    if since is not None and query.get("sinceTime"):
        detail = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        causes.append(forbidden("", detail))
    elif since is not None and since < 1:
        causes.append(invalid_value("sinceSeconds", since, "must be greater than 0"))
    stream = query.get("stream")
    if stream is not None:
        if stream not in STREAMS:
            causes.append(not_supported("stream", stream, STREAMS))
        elif stream != "All" and "tailLines" in numbers:
            detail = "`tailLines` and specific `stream` are mutually exclusive for now"
            causes.append(forbidden("tailLines", detail))
    if causes:
        raise invalid(GroupKind("", "PodLogOptions"), name, causes)


def kubelet_query(query: Mapping[str, str], *, split: bool) -> str:
    """The query for a kubelet: what was asked for, in kube-apiserver's spelling.

    Args:
        query: first value of each parameter, checked.
        split: whether the streams can be asked for one by one (gate PodLogsQuerySplitStreams).

    Raises:
        ApiError: 400 for a time that is none.
    """
    asked = {key: "true" for key in SWITCHES if truthy(query.get(key, "0"))}
    asked |= {key: str(options.integer(query[key])) for key in NUMBERS if key in query}
    since = query.get("sinceTime")
    if since:
        try:
            asked["sinceTime"] = normalise_time(since) or ZERO_TIME
        except ValueError as error:
            raise bad_request(str(error)) from None
    if split:
        asked["stream"] = query.get("stream", "All")
    return urlencode(sorted(asked.items()))


async def log(api: Api, request: Request, resource: ResourceType) -> AnyResponse:
    """Output of a container; nothing from a pod that has no node.

    Raises:
        ApiError: 400, 404, 406, 422 or 500.
    """
    info, query = request.info, request.query
    accepted = accept(request, LOG)
    check_log_options(query, info.name)
    asked = kubelet_query(query, split=api.config.split_logs)
    pod = await revising.read(api.store, resource, info.namespace, info.name)
    container = container_of(pod, query.get("container", ""))
    if accepted.as_kind.endswith("List"):
        raise metadata_shape_mismatch(accepted.as_kind, "*rest.LocationStreamer", is_list=False)
    if accepted.as_kind:
        raise unknown_error("object does not implement the Object interfaces")
    node = pod["spec"].get("nodeName")
    if not node:
        return Response(204, b"", b"")
    kubelet = await kubelet_of(api, node)
    path = f"/containerLogs/{info.namespace}/{info.name}/{container}"
    insecure = truthy(query.get("insecureSkipTLSVerifyBackend", "0"))
    trust = Trust.KUBELET_UNVERIFIED if insecure else Trust.KUBELET
    request.take_time()
    return await _read(api, request, kubelet.location(path, asked, trust))


async def _read(api: Api, request: Request, where: Location) -> AnyResponse:
    head = encode_head("GET", where.target, [(b"host", where.authority.encode("latin-1"))])
    try:
        transport = await api.backends.connect(where.host, where.dial_port, where.trust)
        with closing_on_error(transport):
            exchange = Exchange(transport, "GET", head)
            answer = await exchange.head(request.gone)
            if not OK <= answer.status <= PARTIAL:
                await _refused(exchange, answer, where, request.info.name)
    except (DialError, BackendError) as error:
        raise unknown_error(f'Get "{where.url}": {error}') from None
    relay = Relay(exchange)

    async def run(channel: Channel) -> None:
        with stoppable(api):
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
    said = b""
    try:
        while len(said) < MAX_ERROR_BYTES:
            piece = await exchange.read()
            if not piece:
                break
            said += piece
    except BackendError as error:
        raise internal_error(str(error)) from None
    text = said[:MAX_ERROR_BYTES].decode("utf-8", "replace")
    if status == INTERNAL:
        raise internal_error(text)
    if status == BAD:
        raise bad_request(text)
    raise server_response(status, text, POD_LOGS, name)
