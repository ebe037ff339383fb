"""Continue tokens of lists: base64url of a revision and a key.

Source: docs "API concepts", retrieving large results sets in chunks.
"""

from __future__ import annotations

import base64
import posixpath
import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from kubetrio.gotext import numbers as gonumbers
from kubetrio.machinery.status import ApiError, bad_request, expired
from kubetrio.store.model import Revision

TOKEN_VERSION = "meta.k8s.io/v1"  # noqa: S105  (not a secret)


@dataclass(frozen=True, slots=True)
class Position:
    """Where a list goes on.

    Args:
        revision: snapshot to read, None for the newest.
        start: key behind which to begin, relative to the collection's prefix.
    """

    revision: Revision | None
    start: str


def encode_token(revision: Revision, key: str, prefix: str) -> str:
    """A continue token: base64url of ``{v, rv, start}``."""
    start = key.removeprefix(prefix) + "\0"
    text = orjson.dumps({"v": TOKEN_VERSION, "rv": revision, "start": start})
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def decode_token(token: str) -> Position:
    """Read a continue token.

    Raises:
        ApiError: 400, in kube-apiserver's words.
    """
    from kubetrio.wire import gojson

    try:
        data = gojson.parse(_unpacked(token)).value
    except (ValueError, gojson.GoJsonError) as error:
        raise _bad_token(str(error)) from None
    if data is None:
        data = {}
    if not isinstance(data, dict):
        word = gojson.type_word(data)
        raise _bad_token(
            f"json: cannot unmarshal {word} into Go value of type storage.continueToken"
        )
    members = _token_members(data)
    token_version = members.get("v", "")
    if token_version != TOKEN_VERSION:
        raise _bad_token(f"server does not recognize this encoded version {token_version}")
    revision, start = members.get("rv", 0), members.get("start", "")
    if revision == 0:
        raise _bad_token("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not start:
        raise _bad_token("encoded start key empty (version meta.k8s.io/v1)")
    key = start if start.startswith("/") else f"/{start}"
    if key.startswith("//") or posixpath.normpath(key) != key:
        raise _bad_token(start)
    return Position(None if revision < 0 else revision, start)


TOKEN_MEMBERS: Mapping[str, tuple[type, str]] = {
    "v": (str, "string"),
    "rv": (int, "int64"),
    "start": (str, "string"),
}


def _token_members(data: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a token; the case of their names does not matter, as in any JSON for Go.

    Raises:
        ApiError: 400 for a value of another type.
    """
    from kubetrio.schema.structural_values import number_text
    from kubetrio.wire import gojson

    members = {}
    for given, value in data.items():
        name = given.casefold()
        if name not in TOKEN_MEMBERS or value is None:
            continue
        type_, go_type = TOKEN_MEMBERS[name]
        if type(value) is not type_ or (isinstance(value, int) and not gonumbers.is_int64(value)):
            word = gojson.type_word(value)
            if word == "number" and type_ is int:
                word = f"number {number_text(value)}"
            raise _bad_token(
                f"json: cannot unmarshal {word} into Go struct field continueToken.{name} "
                f"of type {go_type}"
            )
        members[name] = value
    return members


BASE64_URL = frozenset(string.ascii_letters + string.digits + "-_")


def _unpacked(token: str) -> bytes:
    """Base64url without padding, read as Go's ``RawURLEncoding`` does: line breaks are skipped.

    Raises:
        ValueError: an illegal character, or a lone one at the end; Go's message.
    """
    kept = []
    for position, char in enumerate(token):
        if char in BASE64_URL:
            kept.append(position)
        elif char not in "\r\n":
            raise ValueError(f"illegal base64 data at input byte {position}")
    if len(kept) % 4 == 1:
        raise ValueError(f"illegal base64 data at input byte {kept[-1]}")
    text = "".join(token[position] for position in kept)
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _bad_token(why: str) -> ApiError:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")


def expired_token(position: Position) -> ApiError:
    """410 with a token that goes on at the newest revision, inconsistently."""
    text = orjson.dumps({"v": TOKEN_VERSION, "rv": -1, "start": position.start})
    token = base64.urlsafe_b64encode(text).rstrip(b"=").decode()
    error = expired(
        "The provided continue parameter is too old to display a consistent list result. You "
        "can start a new list without the continue parameter, or use the continue token in "
        "this response to retrieve the remainder of the results. Continuing with the provided "
        "token results in an inconsistent list - objects that were created, modified, or "
        "deleted between the time the first chunk was returned and now may show up in the list."
    )
    error.continue_token = token
    return error
