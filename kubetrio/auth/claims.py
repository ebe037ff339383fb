"""What a service account token says: a JWS is verified, its claims are read, times are compared.

Source: RFC 7515 (JWS), RFC 7519 (JWT); KEP-1205 (bound tokens), KEP-4193 (node and ``jti``); docs
"Managing Service Accounts".  Claims are read as strictly as kube-apiserver reads them: names are
compared with their case, and a member that comes twice makes a token invalid.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from kubetrio.auth.keys import KeySet, VerifyingKey
from kubetrio.auth.signed import MOST_DEPTH
from kubetrio.machinery.jsonvalues import is_deeper

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, RSAKey

LEEWAY_S = 60
"""Clocks may differ by so much."""

MOST_BYTES = 1 << 20
"""Size of the largest token that is looked at, in bytes: that of the largest header."""

LEGACY_ISSUER = "kubernetes/serviceaccount"
"""The ``iss`` claim of tokens in Secrets."""

LEGACY = "kubernetes.io/serviceaccount/"
_COMPACT = re.compile(rb"[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
_FURTHEST = 1 << 53  # whole numbers of JSON beyond are not exact


class BadClaims(ValueError):
    """A token is signed as it should be and cannot be taken; the text says why."""


class BadSignature(ValueError):
    """A token is not signed by a key of the server; the text says why."""


class Ref(NamedTuple):
    """An object that a token ends with."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What a verified token says.

    Args:
        issuer: who made it.
        subject: name of the user.
        audiences: who may take it; empty for those of the server.
        expires: seconds since the epoch, None for never; so are the next two.
        not_before: when it begins to be valid.
        issued: when it was made.
        id: of the token.
        namespace: of the account and of what else it is bound to.
        account: the account.
        pod: the pod that it is bound to.
        secret: the same for a Secret.
        node: the same for a node, or the node of the pod.
        warn_after: its use is noted from then on.
        legacy: whether it is one of those that are in Secrets; `secret` has no uid then.
    """

    issuer: str
    subject: str
    audiences: tuple[str, ...]
    expires: int | None
    not_before: int | None
    issued: int | None
    id: str
    namespace: str
    account: Ref
    pod: Ref | None = None
    secret: Ref | None = None
    node: Ref | None = None
    warn_after: int | None = None
    legacy: bool = False

    def check_times(self, now: float) -> None:
        """Compare the token's times with the clock.

        Args:
            now: seconds since the epoch.

        Raises:
            BadClaims: it is not valid yet, or no longer.
        """
        if self.not_before is not None and now + LEEWAY_S < self.not_before:
            raise BadClaims("service account token is not valid yet")
        if self.expires is not None and now - LEEWAY_S > self.expires:
            raise BadClaims("service account token has expired")
        if self.issued is not None and now + LEEWAY_S < self.issued:
            raise BadClaims("service account token is issued in the future")


# ---------------------------------------------------------------------- the envelope


def issuer_of(token: bytes) -> str | None:
    """The issuer that a token names, not verified; None where it is no JWT.

    Args:
        token: as it was sent.
    """
    if len(token) > MOST_BYTES or not _COMPACT.fullmatch(token):
        return None
    try:
        payload = orjson.loads(_decoded(token.split(b".", 2)[1]))
    except ValueError:
        return None
    issuer = payload.get("iss") if isinstance(payload, dict) else None
    return issuer if isinstance(issuer, str) else None


def _decoded(part: bytes) -> bytes:
    return urlsafe_b64decode(part + b"=" * (-len(part) % 4))


def verified(token: bytes, keys: KeySet) -> dict[str, Any]:
    """The payload of a token that one of the keys has signed.

    Args:
        token: a compact JWS, as `issuer_of` finds it in order.
        keys: loaded; those with the token's ``kid``, or all when it has none.

    Raises:
        BadSignature: none of the keys has signed it.
        BadClaims: the payload is no JSON object, or has a member twice.
    """
    head, body, _ = token.split(b".")
    try:
        header = _strict(_decoded(head))
    except ValueError:
        raise BadSignature("invalid header") from None
    key_id = header.get("kid", "")
    if not isinstance(key_id, str) or "crit" in header or "b64" in header:
        raise BadSignature("invalid header")
    candidates = keys.of(key_id)
    if not candidates:
        raise BadSignature("invalid signature, no keys found")
    if not any(header.get("alg") in one.algorithms and _signed(token, one) for one in candidates):
        raise BadSignature("go-jose/go-jose: error in cryptographic primitive")
    try:
        return _strict(_decoded(body))
    except _Twice as error:
        raise BadClaims(str(error)) from None
    except ValueError:
        raise BadClaims("invalid claims") from None


def _signed(token: bytes, key: VerifyingKey) -> bool:
    from joserfc import jws
    from joserfc.errors import JoseError

    try:
        jws.deserialize_compact(token, _imported(key), registry=_registry(key.algorithms))
    except (JoseError, ValueError):
        return False
    return True


@lru_cache(64)  # the keys of a few servers
def _imported_pem(pem: bytes, elliptic: bool) -> ECKey | RSAKey:
    from joserfc.jwk import ECKey, RSAKey

    return ECKey.import_key(pem) if elliptic else RSAKey.import_key(pem)


def _imported(key: VerifyingKey) -> ECKey | RSAKey:
    return _imported_pem(key.pem, key.jwk["kty"] == "EC")


@lru_cache(8)
def _registry(algorithms: tuple[str, ...]) -> Any:
    from joserfc.jws import JWSRegistry

    class Registry(JWSRegistry):
        max_header_length = max_payload_length = MOST_BYTES

    # Members of the header that are not known say nothing; ``crit`` is refused before.
    return Registry(algorithms=algorithms, strict_check_header=False)


class _Twice(ValueError):
    """A member comes twice; the text says which."""


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise _Twice(f"json: duplicate key '{twice}' in object")
    return members


def _no_number(text: str) -> Any:
    raise ValueError(f"invalid number {text}")


def _strict(data: bytes) -> dict[str, Any]:
    """A JSON object without members that come twice.

    Raises:
        ValueError: it is none.
    """
    try:
        parsed = json.loads(data.decode(), object_pairs_hook=_unique, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(parsed, dict):
        raise ValueError("no object")
    if is_deeper(parsed, MOST_DEPTH):
        raise ValueError("nested too deep")
    return parsed


# ---------------------------------------------------------------------- claims


def claims_from(payload: Mapping[str, Any]) -> Claims:
    """The claims of a verified payload.

    Args:
        payload: as `verified` returns it.

    Raises:
        BadClaims: one has a type that it may not have, or the account is missing.
    """
    legacy = payload.get("iss") == LEGACY_ISSUER and "kubernetes.io" not in payload
    common: dict[str, Any] = {
        "issuer": _text(payload, "iss"),
        "subject": _text(payload, "sub"),
        "audiences": _audiences(payload),
        "expires": _date(payload, "exp"),
        "not_before": _date(payload, "nbf"),
        "issued": _date(payload, "iat"),
        "id": _text(payload, "jti"),
    }
    if legacy:
        return Claims(
            **common,
            namespace=_text(payload, LEGACY + "namespace"),
            account=Ref(
                _text(payload, LEGACY + "service-account.name"),
                _text(payload, LEGACY + "service-account.uid"),
            ),
            secret=Ref(_text(payload, LEGACY + "secret.name"), ""),
            legacy=True,
        )
    private = payload.get("kubernetes.io")
    if private is None:
        private = {}
    if not isinstance(private, dict):
        raise _mismatch(private, "serviceaccount.kubernetes")
    return Claims(
        **common,
        namespace=_text(private, "namespace"),
        account=_ref(private, "serviceaccount") or Ref("", ""),
        pod=_ref(private, "pod"),
        secret=_ref(private, "secret"),
        node=_ref(private, "node"),
        warn_after=_date(private, "warnafter"),
    )


_NUMBER = "go-jose/go-jose/jwt: expected number value to unmarshal NumericDate"
_AUDIENCE = "go-jose/go-jose/jwt: expected string or array value to unmarshal to Audience"
_GO_NAMES = {bool: "bool", dict: "object", float: "number", int: "number", list: "array"}


def _mismatch(value: Any, wanted: str) -> BadClaims:
    """A claim is of another type, as Go says it."""
    go_name = _GO_NAMES.get(type(value), "string")
    return BadClaims(f"json: cannot unmarshal {go_name} into Go value of type {wanted}")


def _text(holder: Mapping[str, Any], name: str) -> str:
    text = holder.get(name)
    if text is None:
        return ""
    if not isinstance(text, str):
        raise _mismatch(text, "string")
    return text


def _date(holder: Mapping[str, Any], name: str) -> int | None:
    date = holder.get(name)
    if date is None:
        return None
    if isinstance(date, bool) or not isinstance(date, int | float):
        raise BadClaims(_NUMBER)
    if not -_FURTHEST <= date <= _FURTHEST:  # which infinity is not, and what is no number neither
        raise BadClaims(_NUMBER)
    return int(date)


def _audiences(payload: Mapping[str, Any]) -> tuple[str, ...]:
    if "aud" not in payload:
        return ()
    audiences = payload["aud"]
    if isinstance(audiences, str):
        return (audiences,)
    if not isinstance(audiences, list) or not all(isinstance(one, str) for one in audiences):
        raise BadClaims(_AUDIENCE)
    return tuple(audiences)


def _ref(private: Mapping[str, Any], name: str) -> Ref | None:
    reference = private.get(name)
    if reference is None:
        return None
    if not isinstance(reference, dict):
        raise _mismatch(reference, "serviceaccount.ref")
    return Ref(_text(reference, "name"), _text(reference, "uid"))
