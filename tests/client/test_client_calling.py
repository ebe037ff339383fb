"""What a request is answered with: an object, or the failure that others get."""

from __future__ import annotations

import pytest

from kubetrio.api.request import Request
from kubetrio.api.response import Response, text_response
from kubetrio.client.calling import Caller, path_of
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.status import ApiError
from kubetrio.schema.kind import Kind

DEPLOYMENTS: Kind = Kind(
    group="apps",
    version="v1",
    resource="deployments",
    kind="Deployment",
    singular="deployment",
    namespaced=True,
    verbs=frozenset(),
)


def caller(answer: Response, told: list[Request]) -> Caller:
    async def handle(request: Request) -> Response:
        told.append(request)
        return answer

    return Caller(handle, UserInfo("alice"), "me/1", None)


@pytest.mark.parametrize(
    ("answer", "code", "reason", "message"),
    [
        (text_response("404 page not found\n", 404), 404, "NotFound", "404 page not found"),
        (text_response("dial tcp: refused", 502), 502, "InternalError", "dial tcp: refused"),
        (text_response("no \ufffd", 418), 418, "", "no \ufffd"),
        (Response(503, b"", b"text/html"), 503, "ServiceUnavailable", ""),
    ],
)
async def test_text_is_told_as_it_is(
    answer: Response, code: int, reason: str, message: str
) -> None:
    """With the reason that client-go makes of the status code."""
    with pytest.raises(ApiError) as caught:
        await caller(answer, []).call("GET", "/x", {})
    error = caught.value
    assert (error.code, error.reason, error.message) == (code, reason, message)
    assert error.retry_after is None


async def test_text_that_is_no_failure_is_no_object() -> None:
    """Such as the log of a pod."""
    with pytest.raises(TypeError, match="/log answers with something that is no object"):
        await caller(text_response("ok"), []).call("GET", "/log", {})


async def test_what_is_sent() -> None:
    """As the user, with the parameters that have a value, and a type where there is a body."""
    told: list[Request] = []
    sends = caller(Response(200, b"{}", b"application/json"), told)
    assert await sends.call("GET", "/x", {"limit": "5", "continue": ""}) == {}
    await sends.call("POST", "/x", {}, {"a": 1})
    assert [request.raw_query for request in told] == ["limit=5", ""]
    assert [request.given for request in told] == [None, {"a": 1}]
    assert [len(request.raw_headers) for request in told] == [2, 3]
    assert {request.certificate for request in told} == {UserInfo("alice")}


@pytest.mark.parametrize(
    ("where", "path"),
    [
        (("",), "/apis/apps/v1/deployments"),
        (("a/b", "c d", "scale"), "/apis/apps/v1/namespaces/a%2Fb/deployments/c%20d/scale"),
    ],
)
def test_paths(where: tuple[str, ...], path: str) -> None:
    """Names go into them quoted."""
    assert path_of(DEPLOYMENTS, *where) == path
