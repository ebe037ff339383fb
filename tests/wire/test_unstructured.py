"""Bodies of kinds that have no Go type."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.machinery.names import GroupVersionKind
from kubetrio.machinery.status import ApiError
from kubetrio.wire import gojson
from kubetrio.wire.unstructured import decode_unstructured

WIDGET = GroupVersionKind("example.com", "v1", "Widget")


def as_is(value: dict[str, Any], strict: list[str]) -> dict[str, Any]:
    strict.append("seen")
    return value


def decode(body: bytes) -> Any:
    return decode_unstructured(gojson.parse(body), body, WIDGET, as_is)


def test_identity_comes_first() -> None:
    """Whatever the order in the text; the rest keeps its own."""
    found = decode(b'{"b":1,"apiVersion":"example.com/v1","a":2,"kind":"Widget"}')
    assert list(found.value) == ["kind", "apiVersion", "b", "a"]
    assert found.gvk == WIDGET


def test_another_kind_is_told() -> None:
    """It is for the caller to refuse it."""
    found = decode(b'{"kind":"Gadget","apiVersion":"v2"}')
    assert found.gvk == GroupVersionKind("", "v2", "Gadget")


def test_repeated_keys_come_before_other_messages() -> None:
    """As they are found before the object is looked at."""
    found = decode(b'{"kind":"Widget","a":1,"a":2}')
    assert found.strict == ['duplicate field "a"', "seen"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"kind":1}', "cannot unmarshal number into Go struct field .kind of type string"),
        (b'{"kind":null}', "Object 'Kind' is missing in '{\"kind\":null}'"),
        (b'{"Kind":"Widget"}', "Object 'Kind' is missing"),
        (
            b'{"kind":"Widget","apiVersion":null}',
            ".apiVersion accessor error: <nil> is of the type <nil>, expected string",
        ),
        (b'{"kind":"Widget","apiVersion":"a/b/c"}', "unexpected GroupVersion string: a/b/c"),
    ],
)
def test_bodies_without_an_identity(body: bytes, words: str) -> None:
    """400 in kube-apiserver's words."""
    with pytest.raises(ApiError) as refused:
        decode(body)
    assert refused.value.code == 400
    assert words in refused.value.message
