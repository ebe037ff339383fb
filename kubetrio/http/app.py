"""The Quart-Trio application: the whole surface, for HTTP/2, WebSocket and embedding in ASGI.

One catch-all route; the work is the pipeline's.  Served by Hypercorn for every connection that the
fast loop (`http.h1`) does not take.
"""

from __future__ import annotations

from typing import Any

from quart import Response as QuartResponse
from quart import request as current_request
from quart_trio import QuartTrio

from kubetrio.api.pipeline import Handle
from kubetrio.api.response import TEXT, StreamResponse
from kubetrio.http.asgi import METHODS, request_from_scope, to_quart
from kubetrio.http.h2streams import PLACE, Place
from kubetrio.http.messages import BadRequest
from kubetrio.http.websocket import add_websocket


def make_app(handle: Handle) -> QuartTrio:
    """The application.

    Args:
        handle: the pipeline.
    """
    app = QuartTrio(__name__, static_folder=None)
    # Streams own their deadlines; Quart would cut them after a minute.
    app.config.update(
        RESPONSE_TIMEOUT=None,
        BODY_TIMEOUT=30,
        MAX_CONTENT_LENGTH=None,
        PROVIDE_AUTOMATIC_OPTIONS=False,
    )
    app.url_map.merge_slashes = False

    async def catch_all(path: str) -> QuartResponse:
        del path
        quart = current_request
        request = request_from_scope(quart.scope, quart.method, quart.body)
        scope: Any = quart.scope
        place: Place | None = (scope.get("state") or {}).get(PLACE)
        if place is not None:
            place.follow(request)
        response = await handle(request)
        if place is not None:
            place.answered()
            if isinstance(response, StreamResponse) and response.long_running:
                place.settle()
        return to_quart(request, response, head_only=current_request.method == "HEAD")

    app.add_url_rule(
        "/",
        "root",
        catch_all,
        methods=list(METHODS),
        defaults={"path": ""},
        provide_automatic_options=False,
    )
    app.add_url_rule(
        "/<path:path>",
        "any",
        catch_all,
        methods=list(METHODS),
        provide_automatic_options=False,
        strict_slashes=False,
    )

    async def any_method(_: Exception) -> QuartResponse:
        return await catch_all("")  # who serves which method is said by the pipeline

    async def refuse(refused: BadRequest) -> QuartResponse:
        return QuartResponse(refused.text(), refused.status, content_type=TEXT.decode())

    app.register_error_handler(BadRequest, refuse)
    app.register_error_handler(405, any_method)
    add_websocket(app, handle)
    return app
