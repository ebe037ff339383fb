"""What another server answered, as an API error: its status code translated.

Source: apimachinery's generic server response, as documented in the API conventions ("Response
Status Kind", reasons by HTTP status code).
"""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError, resource_details

SERVER_RESPONSES: Mapping[int, tuple[str, str]] = {
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    403: ("Forbidden", ""),
    404: ("NotFound", "the server could not find the requested resource"),
    405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
    406: ("NotAcceptable", ""),
    409: ("Conflict", "the server reported a conflict"),
    415: ("UnsupportedMediaType", ""),
    422: ("Invalid", "the server rejected our request due to an error in our request"),
    429: (
        "TooManyRequests",
        "the server has received too many requests and has asked us to try again later",
    ),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: (
        "Timeout",
        (
            "the server was unable to return a response in the time allotted, but may still be "
            "processing the request"
        ),
    ),
}
"""Reason and text of a status code; without a text the server's own is passed on."""


def server_response(code: int, said: str, resource: GroupResource, name: str) -> ApiError:
    """What another server answered, where nothing better than its status code is known.

    Args:
        code: HTTP status code.
        said: text of the answer.
        resource: what was asked for.
        name: name of the object.
    """
    if code in SERVER_RESPONSES:
        reason, message = SERVER_RESPONSES[code]
        message = message or said
    elif code >= 500:
        reason = "InternalError"
        message = (
            f"an error on the server ({quote(said)}) has prevented the request from succeeding"
        )
    else:
        reason = ""
        message = (
            f"the server responded with the status code {code} but did not return more information"
        )
    # Two spaces, for kube-apiserver leaves room for a verb that it does not name here.
    message = f"{message} ( {resource} {name})"
    return ApiError(code, reason, message, resource_details(resource, name))
