"""Users that an authenticating proxy names in headers.

The proxy shows a certificate of an authority of its own.  Headers of other clients are not looked
at.  They are taken off every request, so that nothing behind it believes them.

Source: docs "Authenticating" (authenticating proxy);
k8s.io/apiserver/pkg/authentication/request/headerrequest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from kubetrio.auth.authenticate import BadCredentials, Presented
from kubetrio.machinery.identity import UserInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderNames:
    """What proxies are believed.

    Args:
        allowed: common names of their certificates; any when empty.
        username: headers with the name of the user; the first with a value counts.
        uid: the same for its uid.
        group: headers with groups; all of all of them count.
        extra_prefix: beginnings of the names of headers with further attributes.
    """

    allowed: Sequence[str] = ()
    username: Sequence[str] = ()
    uid: Sequence[str] = ()
    group: Sequence[str] = ()
    extra_prefix: Sequence[str] = ()


class RequestHeaders:
    """Believes proxies.

    Args:
        names: which, and what they say.
    """

    def __init__(self, names: HeaderNames) -> None:
        self._allowed = frozenset(names.allowed)
        self._username, self._uid, self._group, self._prefixes = (
            tuple(one.lower().encode() for one in some)
            for some in (names.username, names.uid, names.group, names.extra_prefix)
        )
        self._single = frozenset((*self._username, *self._uid, *self._group))

    def authenticate_request(self, request: Presented) -> UserInfo | None:
        """The user of a request; see `HeaderAuthenticator`."""
        raw = request.raw_headers
        if any(self._ours(name) for name, _ in raw):
            # Nothing behind this may take them for true.
            request.take_headers([pair for pair in raw if not self._ours(pair[0])])
        shown = request.shown
        if shown is None:
            return None
        if not shown.proxy():
            raise BadCredentials("x509: certificate signed by unknown authority")
        if self._allowed and shown.common_name not in self._allowed:
            raise BadCredentials(
                f"x509: subject with cn={shown.common_name} is not in the allowed list"
            )
        name = _first(raw, self._username)
        if not name:
            return None
        return UserInfo(
            name,
            _first(raw, self._uid),
            tuple(
                _text(value)
                for wanted in self._group
                for header, value in raw
                if header == wanted and value
            ),
            self._extra(raw),
        )

    def _ours(self, name: bytes) -> bool:
        return name in self._single or name.startswith(self._prefixes)

    def _extra(self, raw: Sequence[tuple[bytes, bytes]]) -> Mapping[str, tuple[str, ...]]:
        extra: dict[str, tuple[str, ...]] = {}
        for prefix in self._prefixes:
            for header, value in raw:
                if header.startswith(prefix):
                    key = _key(header[len(prefix) :])
                    extra[key] = (*extra.get(key, ()), _text(value))
        return extra


def _first(raw: Sequence[tuple[bytes, bytes]], names: Sequence[bytes]) -> str:
    """The value of the first of some headers that has one; of several with a name, the first."""
    for name in names:
        for header, value in raw:
            if header == name:
                if value:
                    return _text(value)
                break
    return ""


def _text(value: bytes) -> str:
    return value.decode(errors="replace")


def _key(escaped: bytes) -> str:
    """The key that the rest of a header's name stands for."""
    text = escaped.decode("latin-1")
    at = text.find("%")
    while at >= 0:
        digits = text[at + 1 : at + 3]
        if len(digits) < 2 or not all(one in "0123456789abcdefABCDEF" for one in digits):
            return text  # as upstream: what is not escaped as it should be is the key itself
        at = text.find("%", at + 3)
    return unquote(text, errors="replace")
