"""Who asks: client certificate first, then bearer tokens, else anonymous.

A token comes in the ``Authorization`` header, or among the subprotocols of a WebSocket: browsers
let scripts set nothing else.

Source: docs "Authenticating"; the order of methods is kube-apiserver's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Protocol

from kubetrio.auth.attempts import Attempts
from kubetrio.auth.tokens import BadProtocol, StaticTokens, parse_bearer, protocol_token
from kubetrio.machinery.identity import ANONYMOUS, UNUSABLE, UserInfo, authenticated
from kubetrio.machinery.status import unauthorized

KNOWN_HEADERS = 1024
KNOWN_BYTES = 4096  # of one header: blanks count, and a client may send many


class Presented(Protocol):
    """What is seen of a request.

    Attributes:
        certificate: user of a verified client certificate, `UNUSABLE`, or None without one.
        headers: lower-case name to value.
        peer: address of the client.
    """

    certificate: UserInfo | None
    headers: Mapping[bytes, bytes]
    peer: str

    def warn(self, texts: Iterable[str]) -> None:
        """Add ``Warning`` headers to the answer."""
        ...


def is_websocket(headers: Mapping[bytes, bytes]) -> bool:
    """Whether headers ask for a WebSocket in place of HTTP/1.1."""
    options = map(bytes.strip, headers.get(b"connection", b"").lower().split(b","))
    return headers.get(b"upgrade", b"").lower() == b"websocket" and b"upgrade" in options


class Authenticator:
    """The authentication methods of one server.

    Args:
        tokens: static tokens.
        anonymous: whether requests without credentials get a user.

    Attributes:
        attempts: how often credentials were good or bad.
    """

    def __init__(self, tokens: StaticTokens, *, anonymous: bool = True) -> None:
        self._users = {digest: authenticated(user) for digest, user in tokens.users.items()}
        self._anonymous = anonymous
        self.attempts = Attempts()
        # Headers that were good, by their bytes: at most as many as there are tokens and schemes.
        self._known: dict[bytes, UserInfo] = {}

    def remembered(self) -> tuple[int, int]:
        """How many headers are remembered, and their bytes."""
        return len(self._known), sum(map(len, self._known))

    def authenticate(self, request: Presented) -> UserInfo:
        """The user of a request.

        Args:
            request: with its credentials.

        Raises:
            ApiError: 401, credentials were given and none is good.
        """
        user = self._user(request)
        self.attempts.succeeded(user.name)
        return user

    def _user(self, request: Presented) -> UserInfo:
        certificate = request.certificate
        if certificate is not None and certificate is not UNUSABLE:
            return authenticated(certificate)
        headers = request.headers
        authorization = headers.get(b"authorization", b"")
        known = self._known.get(authorization)
        if known is not None:
            return known
        given = certificate is UNUSABLE  # a token may still be good
        if authorization:
            token, warning = parse_bearer(authorization)
            if warning:
                request.warn([warning])
            if token is not None:
                given = True
                user = self.user_of(token)
                if user is not None:
                    if len(self._known) < KNOWN_HEADERS and len(authorization) <= KNOWN_BYTES:
                        self._known[authorization] = user
                    return user
        if b"sec-websocket-protocol" in headers and is_websocket(headers):
            try:
                token = protocol_token(headers[b"sec-websocket-protocol"])
            except BadProtocol:
                self.attempts.failed(request.peer)
                raise unauthorized() from None
            if token:
                given = True
                user = self.user_of(token)
                if user is not None:
                    return user
        if given:
            self.attempts.failed(request.peer)
            raise unauthorized()
        if not self._anonymous:
            self.attempts.missing()
            raise unauthorized()
        return ANONYMOUS

    def user_of(self, token: bytes) -> UserInfo | None:
        """The user of a token, None when it is unknown."""
        return self._users.get(sha256(token).digest())
