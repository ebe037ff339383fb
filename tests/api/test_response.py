"""Answers and the one place where errors become bodies."""

from __future__ import annotations

import orjson

from kubetrio.api.response import (
    JSON,
    TEXT,
    error_response,
    json_bytes,
    json_response,
    page_not_found,
    text_response,
)
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import not_found, too_many_requests
from kubetrio.wire.negotiate import Accepted
from kubetrio.wire.protowire import unwrap

NOT_FOUND = not_found(GroupResource("", "pods"), "p")


def test_json_ends_with_a_newline() -> None:
    """Go's encoder writes one."""
    assert json_bytes({"a": 1}) == b'{"a":1}\n'
    assert json_response({}, 201).status == 201


def test_text_is_utf8() -> None:
    """And says so."""
    answer = text_response("é")
    assert (answer.body, answer.content_type) == ("é".encode(), TEXT)


def test_an_error_is_a_status() -> None:
    """In the words and order of kube-apiserver."""
    answer = error_response(NOT_FOUND)
    assert (answer.status, answer.content_type) == (404, JSON)
    assert answer.body == (
        b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
        b'"message":"pods \\"p\\" not found","reason":"NotFound",'
        b'"details":{"name":"p","kind":"pods"},"code":404}\n'
    )


def test_an_error_in_the_representation_of_the_client() -> None:
    """Protobuf clients do not read JSON."""
    media = "application/vnd.kubernetes.protobuf"
    answer = error_response(NOT_FOUND, Accepted(serializer="protobuf", media_type=media))
    envelope = unwrap(answer.body)
    assert (envelope.api_version, envelope.kind) == ("v1", "Status")
    assert answer.content_type == media.encode()


def test_a_pretty_error() -> None:
    """Indented for people, the same for machines."""
    accepted = Accepted(serializer="json", media_type="application/json", pretty=True)
    pretty = error_response(NOT_FOUND, accepted).body
    assert b'\n  "kind": "Status"' in pretty
    assert orjson.loads(pretty) == orjson.loads(error_response(NOT_FOUND).body)


def test_when_to_come_back() -> None:
    """A header beside the detail of the body (RFC 9110, Retry-After)."""
    answer = error_response(too_many_requests("later", 7))
    assert (b"Retry-After", b"7") in answer.headers


def test_a_page_nobody_knows() -> None:
    """As Go's mux writes it."""
    answer = page_not_found()
    assert (answer.status, answer.body) == (404, b"404 page not found\n")
    assert (b"X-Content-Type-Options", b"nosniff") in answer.headers
