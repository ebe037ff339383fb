"""Who asks: client certificate first, then bearer tokens, else anonymous.

A token comes in the ``Authorization`` header, or among the subprotocols of a WebSocket: browsers
let scripts set nothing else.

Source: docs "Authenticating"; the order of methods is kube-apiserver's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256

from kubetrio.auth.identity import ANONYMOUS, UserInfo, authenticated
from kubetrio.auth.tokens import BadProtocol, StaticTokens, parse_bearer, protocol_token
from kubetrio.machinery.status import unauthorized

KNOWN_HEADERS = 1024


class Authenticator:
    """The authentication methods of one server.

    Args:
        tokens: static tokens.
        anonymous: whether requests without credentials get a user.
    """

    def __init__(self, tokens: StaticTokens, *, anonymous: bool = True) -> None:
        self._users = {digest: authenticated(user) for digest, user in tokens.users.items()}
        self._anonymous = anonymous
        # Headers that were good, by their bytes: at most as many as there are tokens and schemes.
        self._known: dict[bytes, UserInfo] = {}

    def authenticate(
        self,
        certificate: UserInfo | None,
        authorization: bytes,
        protocols: bytes | None = None,
        warn: Callable[[Iterable[str]], None] | None = None,
    ) -> UserInfo:
        """The user of a request.

        Args:
            certificate: user of a verified client certificate.
            authorization: value of the ``Authorization`` header, or empty.
            protocols: subprotocols that the client of a WebSocket offers, None for other requests.
            warn: takes texts for ``Warning`` headers.

        Raises:
            ApiError: 401, credentials were given and none is good.
        """
        if certificate is not None:
            return authenticated(certificate)
        known = self._known.get(authorization)
        if known is not None:
            return known
        given = False
        if authorization:
            token, warning = parse_bearer(authorization)
            if warning and warn is not None:
                warn([warning])
            if token is not None:
                given = True
                user = self.user_of(token)
                if user is not None:
                    if len(self._known) < KNOWN_HEADERS:
                        self._known[authorization] = user
                    return user
        if protocols is not None:
            try:
                token = protocol_token(protocols)
            except BadProtocol:
                raise unauthorized() from None
            if token:
                given = True
                user = self.user_of(token)
                if user is not None:
                    return user
        if given or not self._anonymous:
            raise unauthorized()
        return ANONYMOUS

    def user_of(self, token: bytes) -> UserInfo | None:
        """The user of a token, None when it is unknown."""
        return self._users.get(sha256(token).digest())
