"""Who asks: client certificate first, then bearer token, else anonymous.

Source: docs "Authenticating"; the order of methods is kube-apiserver's.
"""

from __future__ import annotations

from hashlib import sha256

from kubetrio.auth.identity import ANONYMOUS, UserInfo, authenticated
from kubetrio.auth.tokens import StaticTokens, parse_bearer
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

    def authenticate(self, certificate: UserInfo | None, authorization: bytes) -> UserInfo:
        """The user of a request.

        Args:
            certificate: user of a verified client certificate.
            authorization: value of the ``Authorization`` header, or empty.

        Raises:
            ApiError: 401, credentials were given and none is good.
        """
        if certificate is not None:
            return authenticated(certificate)
        known = self._known.get(authorization)
        if known is not None:
            return known
        token = parse_bearer(authorization).token if authorization else None
        if token is not None:
            user = self._users.get(sha256(token).digest())
            if user is None:
                raise unauthorized()
            if len(self._known) < KNOWN_HEADERS:
                self._known[authorization] = user
            return user
        if not self._anonymous:
            raise unauthorized()
        return ANONYMOUS
