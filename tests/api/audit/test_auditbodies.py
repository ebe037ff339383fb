"""What requests and answers carry, as the JSON that stands in the audit log."""

from __future__ import annotations

import pytest

from kubetrio.api.audit.auditbodies import code_json, delete_json, document_json, patch_json
from kubetrio.api.response import JSON, Response

MANAGED = b'{"kind":"A","metadata":{"name":"a","managedFields":[{}]}}\n'


def test_a_patch_is_as_it_came() -> None:
    """But for blanks; one that is no JSON cannot stand in an event."""
    assert patch_json(b'{ "a": 1 }')() == b'{"a":1}'
    assert patch_json(b"<a/>")() == b""


def test_options_of_a_deletion_have_the_internal_version() -> None:
    """As kube-apiserver writes them."""
    expected = b'{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/__internal","dryRun":["All"]}'
    assert delete_json({"kind": "x", "apiVersion": "v1", "dryRun": ["All"]})() == expected


def test_an_answer_in_json_is_taken_as_it_is() -> None:
    """Without its newline; managed fields go where the policy says so."""
    answer = Response(200, MANAGED, JSON)
    assert document_json(answer, omit=False) == MANAGED.rstrip(b"\n")
    assert document_json(answer, omit=True) == b'{"kind":"A","metadata":{"name":"a"}}'


@pytest.mark.parametrize(
    ("media", "body"),
    [(b"application/yaml", b"metadata: {name: a}\nkind: A\n"), (JSON, b'{"kind":"A"')],
)
def test_members_are_in_the_order_of_json(media: bytes, body: bytes) -> None:
    """Of an answer in YAML; what cannot be read is as it is, or nothing."""
    shown = document_json(Response(200, body, media), omit=False)
    assert shown in (b'{"kind":"A","metadata":{"name":"a"}}', body)


def test_text_is_no_object() -> None:
    """Nor is what has no kind."""
    assert document_json(Response(200, b"ok", b"text/plain"), omit=False) == b""
    assert document_json(Response(200, b'{"a":1}', JSON), omit=False) == b""


def test_a_code_alone_is_a_status_without_metadata() -> None:
    """Of answers that are no `Status`."""
    assert code_json(201) == b'{"metadata":{},"code":201}'
