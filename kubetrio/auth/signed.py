"""Tokens that are JSON Web Signatures: taken apart, and verified with joserfc's algorithms.

Only asymmetric algorithms are known here; ``none`` and those with shared secrets are none of them,
whatever a token or a key set says.  The kind of key has to fit the algorithm.

Source: RFC 7515, RFC 7518; go-oidc v2 and go-jose for messages.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from kubetrio.machinery.jsonvalues import is_deeper


class Key(Protocol):
    """A key that may have made a signature."""

    @property
    def kid(self) -> str:
        """Its name, empty for none."""
        ...

    @property
    def kind(self) -> str:
        """``RSA`` or ``EC``."""
        ...

    def key(self) -> Any:
        """It, as the library has it; None for one that cannot be used."""
        ...


ALGORITHMS = (
    "ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512",
)  # fmt: skip
MOST_TOKEN_BYTES = 128 * 1024
MOST_DEPTH = 100
"""Of the JSON in a token: expressions over claims, and the reader of headers, recurse."""
_GOOGLE = "accounts.google.com"


class Malformed(ValueError):
    """A text is no signed token."""


def _decoded(part: bytes) -> bytes:
    if b"=" in part or len(part) % 4 == 1:
        raise Malformed("illegal base64 data")
    try:
        # The standard library ignores what is not in the alphabet.
        decoded = urlsafe_b64decode(part + b"=" * (-len(part) % 4))
    except (binascii.Error, ValueError):
        raise Malformed("illegal base64 data") from None
    if len(decoded) != len(part) * 3 // 4:
        raise Malformed("illegal base64 data")
    return decoded


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(data)
    except ValueError:
        raise Malformed("no JSON") from None
    if is_deeper(value, MOST_DEPTH):
        raise Malformed("nested too deep")
    if not isinstance(value, dict):
        raise Malformed("no JSON object")
    return value


def claims_of(token: bytes) -> dict[str, Any]:
    """What a token says of itself; nothing of it is verified.

    Args:
        token: as it was sent.

    Raises:
        Malformed: it is none.
    """
    if len(token) > MOST_TOKEN_BYTES or token.count(b".") != 2:
        raise Malformed("malformed token")
    return _object(_decoded(token.split(b".")[1]))


def issuer_of(claims: Mapping[str, Any]) -> str:
    """Who issued a token, by its own word."""
    issuer = claims.get("iss")
    if issuer == _GOOGLE:
        return f"https://{_GOOGLE}"
    return issuer if isinstance(issuer, str) else ""


@dataclass(frozen=True, slots=True)
class Signed:
    """A token in parts.

    Args:
        algorithm: that its header names.
        kid: of the key, or empty.
        message: what is signed.
        signature: of that.
        understood: whether its header demands nothing that is not known here (RFC 7515, 4.1.11).
    """

    algorithm: str
    kid: str
    message: bytes
    signature: bytes
    understood: bool = True

    def signed_by(self, keys: Iterable[Key]) -> bool:
        """Whether one of some keys made the signature."""
        from joserfc.errors import JoseError
        from joserfc.jws import JWSRegistry

        if self.algorithm not in ALGORITHMS or not self.understood:
            return False
        method: Any = JWSRegistry.algorithms[self.algorithm]
        for one in keys:
            if (self.kid and one.kid != self.kid) or one.kind != method.key_type:
                continue
            key = one.key()
            if key is None:
                continue
            try:
                method.check_key(key)
                if method.verify(self.message, self.signature, key):
                    return True
            except (JoseError, ValueError):  # another curve, or a number out of its range
                continue
        return False


def parse(token: bytes) -> Signed:
    """A token's parts.

    Raises:
        Malformed: it is none.
    """
    header_part, payload, signature = token.split(b".")
    header = _object(_decoded(header_part))
    algorithm, kid = header.get("alg"), header.get("kid")
    return Signed(
        algorithm if isinstance(algorithm, str) else "",
        kid if isinstance(kid, str) else "",
        header_part + b"." + payload,
        _decoded(signature),
        understood="crit" not in header,
    )
