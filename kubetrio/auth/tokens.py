"""Bearer tokens: the ``Authorization`` header, WebSockets, and the static token file.

The file is CSV as RFC 4180 has it, read with the strictness of kube-apiserver's reader: fields
are not trimmed, a quote may only stand at both ends of a field, empty lines are skipped, and
lines may have different numbers of columns (at least three).  The standard library's reader
accepts stray quotes, which would turn a typing error into a different secret, hence the small
reader below.

Source: Kubernetes documentation "Authenticating", section "Static token file".
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar, NamedTuple

from kubetrio.machinery.identity import UserInfo

EXTRA_SPACE_WARNING = (
    "the provided Authorization header contains extra space before the bearer token, and is ignored"
)

TOKEN_PROTOCOL = "base64url.bearer.authorization.k8s.io."  # noqa: S105  (a prefix of tokens)
_BASE64URL = re.compile("[A-Za-z0-9_-]*")

_QUOTE = b'"'
_COMMA = b","


class Found(NamedTuple):
    """Whose a good token is.

    Args:
        user: without ``system:authenticated``.
        audiences: of those that were asked for, the ones it is for.
        expires: wall clock time from which on it is not good, seconds; None for no such time.
        lasting: whether it is good for as long as the server runs.
        annotations: what the audit log says of its use, by key.
        warnings: what the answer says of it.
    """

    user: UserInfo
    audiences: tuple[str, ...] = ()
    expires: float | None = None
    lasting: bool = False
    annotations: Mapping[str, str] = {}
    warnings: tuple[str, ...] = ()


class TokenFileError(ValueError):
    """The token file cannot be used; the text is for the terminal."""


class Bearer(NamedTuple):
    """What an ``Authorization`` header says about bearer tokens.

    ``token`` is None when the header holds no bearer credentials, which makes the request
    anonymous; ``warning`` is the text of a ``Warning: 299`` response header, or empty.
    """

    token: bytes | None
    warning: str = ""


_NO_BEARER = Bearer(None)


def parse_bearer(header: bytes) -> Bearer:
    """Read the value of an ``Authorization`` header.

    The scheme is compared without regard to case, other schemes are ignored, and words after the
    token too.  A token that is present but unknown is the caller's 401.

    Args:
        header: the field value; empty when the header is absent.
    """
    parts = header.strip().split(b" ", 2)
    if len(parts) < 2 or parts[0].lower() != b"bearer":
        return _NO_BEARER
    if not parts[1]:
        return Bearer(None, EXTRA_SPACE_WARNING)
    return Bearer(parts[1])


class BadProtocol(ValueError):
    """A subprotocol is meant to be a token and is none."""


def is_token_protocol(name: str) -> bool:
    """Whether the name of a subprotocol of WebSockets carries a token."""
    return name.startswith(TOKEN_PROTOCOL)


def protocol_token(protocols: bytes) -> bytes:
    """The token among the subprotocols of a WebSocket; empty when there is none.

    Args:
        protocols: value of ``Sec-WebSocket-Protocol``.

    Raises:
        BadProtocol: the token is not base64url without padding of UTF-8, there are several, or
            there is no other subprotocol that could be agreed on.
    """
    names = [name.strip() for name in protocols.decode("latin-1").split(",")]
    tokens = [name for name in names if is_token_protocol(name)]
    if not tokens:
        return b""
    if len(tokens) > 1:
        raise BadProtocol("several tokens")
    text = tokens[0].removeprefix(TOKEN_PROTOCOL)
    if not _BASE64URL.fullmatch(text) or len(text) % 4 == 1:
        raise BadProtocol("not base64url")
    token = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    try:
        token.decode()
    except UnicodeDecodeError:
        raise BadProtocol("not UTF-8") from None
    if token and len(names) == 1:
        raise BadProtocol("no other subprotocol")
    return token


@dataclass(frozen=True, slots=True)
class StaticTokens:
    """The users of a static token file.

    Tokens are kept and looked up as SHA-256 digests: how long a look-up takes depends on the
    digest of what was sent, which tells nothing about the tokens that exist.

    Args:
        users: SHA-256 digest of a token -> its user.
        warnings: oddities of the file that do not stop the server, for the log.
        audiences: of this server's API, for which they all are; empty for whatever is asked for.
    """

    users: Mapping[bytes, UserInfo]
    warnings: tuple[str, ...] = ()
    audiences: tuple[str, ...] = ()
    name: ClassVar[str] = "token file"

    def authenticate_token(self, token: bytes, audiences: tuple[str, ...]) -> Found | None:
        """Whose token it is, if that is asked for an audience of this API."""
        user = self.users.get(sha256(token).digest())
        if user is None:
            return None
        common = audiences
        if self.audiences:
            common = tuple(one for one in audiences if one in self.audiences)
            if not common:
                return None
        return Found(user, common, lasting=True)


def parse_token_file(data: bytes, path: str) -> StaticTokens:
    """Read a static token file: ``token,user,uid`` and optionally ``"group1,group2"``.

    Lines with an empty token are skipped with a warning; of equal tokens the last counts, with a
    warning.  Columns after the fourth are ignored.  Bytes that are not UTF-8 become U+FFFD in
    names, while tokens are compared as bytes.

    Args:
        data: content of the file.
        path: its name, for messages only.

    Raises:
        TokenFileError: fewer than three columns, or not CSV; the text names file and line.
    """
    users: dict[bytes, UserInfo] = {}
    warnings: list[str] = []
    for number, (line, record) in enumerate(_records(data, path), start=1):
        if len(record) < 3:
            raise TokenFileError(
                f"token file '{path}' must have at least 3 columns (token, user name, user uid), "
                f"found {len(record)} on line {line}"
            )
        where = f"token file '{path}', record number '{number}'"
        if not record[0]:
            warnings.append(f"empty token has been found in {where}")
            continue
        key = sha256(record[0]).digest()
        if key in users:
            warnings.append(f"duplicate token has been found in {where}")
        name, uid, *rest = (column.decode(errors="replace") for column in record[1:4])
        users[key] = UserInfo(name, uid, tuple(rest[0].split(",")) if rest else ())
    return StaticTokens(users, tuple(warnings))


def _records(data: bytes, path: str) -> Iterator[tuple[int, list[bytes]]]:
    """The records of a CSV text, each with the number of its first line, counted from 1."""
    # A lone CR is data, also at the end of a line; only CRLF and LF end one, and a CR may end
    # the file.
    lines = data.replace(b"\r\n", b"\n").removesuffix(b"\r").split(b"\n")
    if not lines[-1]:
        lines.pop()
    at = 0
    while at < len(lines):
        if lines[at]:
            start = at
            record, at = _record(lines, start, path)
            yield start + 1, record
        at += 1


def _record(lines: list[bytes], start: int, path: str) -> tuple[list[bytes], int]:
    """One record beginning at ``lines[start]`` and the index of the line it ends on."""
    record: list[bytes] = []
    at, column = start, 0
    while True:
        line = lines[at]
        if not line.startswith(_QUOTE, column):
            end = line.find(_COMMA, column)
            value = line[column:] if end < 0 else line[column:end]
            if (stray := value.find(_QUOTE)) >= 0:
                raise _syntax(path, start, at, column + stray, 'bare " in non-quoted field')
            record.append(value)
            if end < 0:
                return record, at
            column = end + 1
            continue
        value, at, column = _quoted(lines, start, at, column + 1, path)
        record.append(value)
        if column == len(lines[at]):
            return record, at
        column += 1


def _quoted(
    lines: list[bytes], start: int, at: int, column: int, path: str
) -> tuple[bytes, int, int]:
    """A quoted field's value, and the line and column just after its closing quote."""
    value = b""
    while True:
        line = lines[at]
        end = line.find(_QUOTE, column)
        if end < 0:
            value += line[column:] + b"\n"
            if at + 1 == len(lines):
                raise _syntax(path, start, at, len(line), 'extraneous or missing " in quoted-field')
            at, column = at + 1, 0
            continue
        value += line[column:end]
        column = end + 1
        if line.startswith(_QUOTE, column):
            value += _QUOTE
            column += 1
        elif column == len(line) or line.startswith(_COMMA, column):
            return value, at, column
        else:
            raise _syntax(path, start, at, end, 'extraneous or missing " in quoted-field')


def _syntax(path: str, start: int, at: int, column: int, what: str) -> TokenFileError:
    """A CSV error; ``column`` is counted from 0 here and from 1 in the text, in bytes."""
    record = "" if start == at else f"record on line {start + 1}; "
    return TokenFileError(
        f"token file '{path}': {record}parse error on line {at + 1}, column {column + 1}: {what}"
    )
