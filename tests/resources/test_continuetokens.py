"""Continue tokens: what they say, and which are refused."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.machinery.status import ApiError
from kubetrio.resources.continuetokens import decode_token, encode_token

PREFIX = "/registry/configmaps/ns/"


@settings(max_examples=60)
@given(revision=st.integers(1, 2**63 - 1), name=st.from_regex(r"\A[a-z0-9.-]{1,20}\Z"))
def test_a_token_says_where_to_go_on(revision: int, name: str) -> None:
    """Behind the last key, at the same revision."""
    name = name.replace("..", "x")
    position = decode_token(encode_token(revision, PREFIX + name, PREFIX))
    assert (position.revision, position.start) == (revision, name + "\0")


def token(value: Any) -> str:
    raw = value if isinstance(value, bytes) else orjson.dumps(value)
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


INTO, TOKEN = "into Go ", "storage.continueToken"
BROKEN = "invalid continue token: continue key is not valid: "
RV = "struct field continueToken.rv of type int64"
GOOD = {"v": "meta.k8s.io/v1", "rv": 5, "start": "c2\0"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%%%", BROKEN + "illegal base64 data at input byte 0"),
        ("ab%d", BROKEN + "illegal base64 data at input byte 2"),
        ("abcde", BROKEN + "illegal base64 data at input byte 4"),
        ("YQ==", BROKEN + "illegal base64 data at input byte 2"),
        # As a kube-apiserver answered it.
        ("garbage", BROKEN + "invalid character '\\u0081' looking for beginning of value"),
        (token([]), BROKEN + f"json: cannot unmarshal array {INTO}value of type {TOKEN}"),
        (token(None), BROKEN + "server does not recognize this encoded version "),
        (token(b"{"), BROKEN),
        (token({**GOOD, "v": "v9"}), BROKEN + "server does not recognize this encoded version v9"),
        (token({**GOOD, "rv": 0}), BROKEN + "incorrect encoded start resourceVersion"),
        (
            token({**GOOD, "rv": "5"}),
            BROKEN + f"json: cannot unmarshal string {INTO}struct field continueToken.rv of type",
        ),
        (token({**GOOD, "rv": 1.5}), BROKEN + f"json: cannot unmarshal number 1.5 {INTO}{RV}"),
        (
            token(b'{"v":"meta.k8s.io/v1","Rv":5.0,"start":7}'),
            BROKEN + f"json: cannot unmarshal number 5.0 {INTO}{RV}",
        ),
        (
            token({**GOOD, "rv": 2**63}),
            BROKEN + f"json: cannot unmarshal number 9223372036854775808 {INTO}{RV}",
        ),
        (
            token({**GOOD, "start": 7}),
            BROKEN + f"json: cannot unmarshal number {INTO}struct field continueToken.start of ",
        ),
        (token({**GOOD, "start": ""}), BROKEN + "encoded start key empty"),
        (token({**GOOD, "start": "../../secrets/ns/"}), BROKEN + "../../secrets/ns/"),
        (token({**GOOD, "start": "a/.."}), BROKEN + "a/.."),
        (token({**GOOD, "start": "//a"}), BROKEN + "//a"),
    ],
)
def test_a_tampered_token_is_refused(text: str, message: str) -> None:
    """400; it can never lead out of the collection."""
    with pytest.raises(ApiError) as caught:
        decode_token(text)
    assert caught.value.code == 400
    assert caught.value.message.startswith(message)


def test_the_case_of_member_names_does_not_matter() -> None:
    """As for any JSON that Go reads; null leaves a member as it was."""
    text = token({"V": "meta.k8s.io/v1", "RV": 73, "Start": "c3", "start": None, "more": 1.5})
    position = decode_token(text)
    assert (position.revision, position.start) == (73, "c3")


def test_an_inconsistent_token_names_no_revision() -> None:
    """A negative one asks for the newest state."""
    assert decode_token(token({**GOOD, "rv": -1})).revision is None
