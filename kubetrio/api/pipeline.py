"""The pipeline: every request, whatever the transport, goes through the stages of its server.

Errors are `ApiError` and become responses in one place; anything else is a bug, answered with 500
and logged with its traceback.  Every answer has an identity, also that of a request which ends
before the stage that gives it one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from kubetrio.api import deadlines, outlines
from kubetrio.api.api import Api, Named
from kubetrio.api.audit import auditing
from kubetrio.api.encoding.accepting import accept_error
from kubetrio.api.encoding.compress import compress, compresses
from kubetrio.api.flowcontrol import held_by_stream, keep_seat
from kubetrio.api.request import Request
from kubetrio.api.response import ANSWERS, AnyResponse, Response, TunnelResponse, error_response
from kubetrio.api.stages import identify, request_key
from kubetrio.faults.injector import Injector
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import TOO_LATE, ApiError, internal_error, timeout
from kubetrio.observe.logs import Log
from kubetrio.resources.translate import translate
from kubetrio.store.errors import StoreUnavailable, Unreadable

log = Log("kubetrio.api")
NO_CACHE = (b"Cache-Control", b"no-cache, private")

Handle = Callable[[Request], Awaitable[AnyResponse]]
"""A pipeline as transports and clients see it."""


class Pipeline:
    """The walk of a request through the stages of one server.

    Args:
        api: the parts of the server.
        stages: by name and in order.
        faults: rules of what goes wrong on demand, which stages among these look at.

    Attributes:
        parts: see above.
        storage: one of them.
        security: one of them.
        writes: one of them.
        edge: one of them.
        faults: see above.
    """

    __slots__ = (
        "_clock", "_flow", "_in_flight", "_metrics", "_named", "_stages", "_standing", "edge",
        "faults", "parts", "security", "storage", "writes",
    )  # fmt: skip

    def __init__(self, api: Api, stages: Named, faults: Injector) -> None:
        self.parts = api
        self.storage, self.security = api.storage, api.security
        self.writes, self.edge = api.writes, api.edge
        self.faults = faults
        self._clock = api.edge.clock
        self._flow = api.edge.flow
        self._in_flight = api.edge.in_flight
        self._metrics = api.edge.metrics
        self._standing = api.edge.config.standing
        self._named = stages
        self._stages = tuple(stage for _, stage in stages)

    @property
    def stages(self) -> tuple[str, ...]:
        """Names of the stages that requests go through."""
        return tuple(name for name, _ in self._named)

    def end_streams(self) -> None:
        """End open streams cleanly, as if their time were up (shutdown)."""
        for scope in tuple(self.edge.streams):
            scope.cancel()

    async def handle(self, request: Request) -> AnyResponse:
        """Answer a request; never raises but for cancellation."""
        in_flight = self._in_flight
        request.arrived = request.started = self._clock.current_time()
        in_flight.requests += 1
        response: AnyResponse
        streams = False
        try:
            named, long = None, False
            if query := request.raw_query:
                long = len(query) > outlines.SHORT_CHARS
                named = None if long else deadlines.named_limit(query)
            if request.ready and named is None and not long:
                # It waits for nothing that has no bound of its own: no timer to pay for.
                response = await self._walk(request)
            else:
                response = await self._within_time(request, named)
            if request.seat is not None and held_by_stream(response, request.method):
                keep_seat(response, self.edge.release_seat(request))
                streams = True
        except Exception as error:  # noqa: BLE001  (a bug must cost one request, not the server)
            response = await self._failed(request, error)
        except BaseException:  # cancelled: the client has left
            self._flow.leave(request, self._clock.current_time())
            await auditing.gone(self.edge, request)
            raise
        finally:
            in_flight.requests -= 1
            if request.heavy:
                self.edge.off_loop.end(request)
        now = self._clock.current_time()
        if not streams:
            self._flow.leave(request, now)
        headers = response.headers
        if headers and any(name == b"Cache-Control" for name, _ in headers):
            response.headers = (*headers, *request.response_headers, *self._standing)
        else:
            response.headers = (
                NO_CACHE, *headers, *request.response_headers, *self._standing,
            )  # fmt: skip
        self._finish(request, response, now)
        if request.record is not None:
            await auditing.answered(self.edge, request, response)
        return response

    async def _failed(self, request: Request, error: Exception) -> AnyResponse:
        """Answer a request that an exception ended; one that is a bug is logged."""
        identified = bool(request.audit_id)
        if not identified:  # it ended before its stage
            identify(self.edge, request)
        if isinstance(error, ApiError):
            if not identified:
                auditing.refused_early(self.edge, request)
            return error_response(error, accept_error(request))
        if isinstance(error, Unreadable):
            log.error(error, "a stored value cannot be read", path=request.raw_path)
            told = translate(error, GroupResource("", ""), "")
            return error_response(told, accept_error(request))
        if isinstance(error, StoreUnavailable):  # said of all resources in the same words
            log.warning("the store does not answer", path=request.raw_path, error=str(error))
            told = translate(error, GroupResource("", ""), "")
            return error_response(told, accept_error(request))
        # Of the request nothing but its line: queries, headers and bodies may be secrets.
        log.error(
            error,
            "request failed",
            stack=True,
            method=request.method,
            path=request.raw_path,
            audit=request.audit_id,
        )
        await auditing.panicked(self.edge, request, error)
        return error_response(internal_error(f"{type(error).__name__}: {error}"))

    async def _within_time(self, request: Request, named: float | None) -> AnyResponse:
        """Walk the stages within the time limit, and that which the client named."""
        limit = self.edge.config.request_timeout_s
        with trio.move_on_after(limit if named is None else min(named, limit)) as request.timer:
            return await self._walk(request)
        self._metrics.terminated(request_key(request, 504))
        raise timeout(TOO_LATE)

    async def _walk(self, request: Request) -> AnyResponse:
        for stage in self._stages:
            answer = stage(request)
            if answer is None:
                continue
            if not isinstance(answer, ANSWERS):
                answer = await answer
                if answer is None:
                    continue
            if request.record is not None:
                auditing.answer_made(request, answer)
            return await compress(request, answer, self.edge.env) if compresses(answer) else answer
        raise AssertionError("the last stage answers")

    def _finish(self, request: Request, response: AnyResponse, now: float) -> None:
        key, size = request_key(request, response.status), -1
        if isinstance(response, Response):
            size = len(response.body)
        elif isinstance(response, TunnelResponse):  # noqa: SIM114  (they run otherwise)
            response.run = self._metrics.counted(key, response.run)
        elif response.long_running:
            response.run = self._metrics.counted(key, response.run)
        self._metrics.observe(key, now - request.arrived, size, request.body_bytes)
        if request.waited:
            self._metrics.waited(key, now - request.arrived, request.waited)
        if request.log is not None:
            request.log.answered(request, response)
