"""Tokens of one issuer: verified, their claims completed, and mapped to users.

Source: docs "Authenticating" (OpenID Connect tokens); OpenID Connect Core 1.0, 3.1.3.7 (what is
verified) and 5.6.2 (distributed claims); go-oidc v2 for order and messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

from kubetrio.auth.authenticate import BadCredentials
from kubetrio.auth.background import Background
from kubetrio.auth.claimmapping import ClaimError, Compiled, Mapper
from kubetrio.auth.jwtconfig import JwtAuthenticator
from kubetrio.auth.oidckeys import Fetcher, FetchError, Provider
from kubetrio.auth.signed import Malformed, claims_of, issuer_of, parse
from kubetrio.auth.tokens import Found
from kubetrio.env import Env
from kubetrio.gotext.text import quote
from kubetrio.machinery.timestamps import format_time
from kubetrio.wire.gojson import type_word

LEEWAY_S = 60.0
UNMARSHAL = "oidc: failed to unmarshal claims: "
_number = re.compile(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?")
MOST_CLAIM_ISSUERS = 16
"""Issuers of distributed claims that are remembered for one issuer of tokens."""

Claims = dict[str, Any]


class Verifier:
    """Verifies tokens of one issuer, for some audiences.

    Args:
        provider: the issuer and its keys.
        audiences: at least one of them has to be in a token.
        algorithms: with which tokens may be signed.
        env: wall clock.
    """

    def __init__(
        self, provider: Provider, audiences: Sequence[str], algorithms: Sequence[str], env: Env
    ) -> None:
        self.provider = provider
        self._audiences = audiences
        self._algorithms = algorithms
        self._env = env

    async def verify(self, token: bytes, claims: Claims) -> None:
        """Look whether a token is the issuer's, and good now.

        Args:
            token: as it was sent.
            claims: what it says.

        Raises:
            BadCredentials: it is not.
        """
        try:
            signed = parse(token)
        except Malformed as error:
            raise BadCredentials(f"oidc: malformed jwt: {error}") from None
        if signed.algorithm not in self._algorithms:
            raise BadCredentials(
                "oidc: id token signed with unsupported algorithm, expected "
                f"{_listed(self._algorithms)} got {quote(signed.algorithm)}"
            )
        try:
            good = await self.provider.verify(signed)
        except FetchError as error:
            raise BadCredentials(f"failed to verify signature: {error}") from None
        if not good:
            raise BadCredentials("failed to verify signature: failed to verify id token signature")
        self._check(claims)

    def _check(self, claims: Claims) -> None:
        subject = claims.get("sub")
        if subject is not None and not isinstance(subject, str):
            raise BadCredentials(
                f"{UNMARSHAL}json: cannot unmarshal {type_word(subject)} into Go struct field "
                "idToken.sub of type string"
            )
        issuer = issuer_of(claims)
        if issuer != self.provider.issuer:
            raise BadCredentials(
                "oidc: id token issued by a different provider, expected "
                f"{quote(self.provider.issuer)} got {quote(issuer)}"
            )
        named = claims.get("aud")
        audiences = [named] if isinstance(named, str) else named or []
        if not isinstance(audiences, list) or not all(isinstance(one, str) for one in audiences):
            word = type_word(audiences if not isinstance(audiences, list) else named)
            raise BadCredentials(
                f"{UNMARSHAL}json: cannot unmarshal {word} into Go struct field idToken.aud of "
                "type []string"
            )
        if not set(self._audiences) & set(audiences):
            wanted = (
                quote(self._audiences[0])
                if len(self._audiences) == 1
                else f"in {_listed(sorted(self._audiences))}"
            )
            raise BadCredentials(f"oidc: expected audience {wanted} got {_listed(audiences)}")
        now = self._env.now()
        expires = seconds_of(claims, "exp")
        if expires is None or expires < now:
            shown = "0001-01-01 00:00:00 +0000 UTC" if expires is None else _time(expires)
            raise BadCredentials(f"oidc: token is expired (Token Expiry: {shown})")
        begins = seconds_of(claims, "nbf")
        if begins is not None and now + LEEWAY_S < begins:
            raise BadCredentials(
                f"oidc: current time {_time(now)} before the nbf (not before) time: {_time(begins)}"
            )
        seconds_of(claims, "iat")


def seconds_of(claims: Claims, name: str) -> float | None:
    """A time among claims, seconds since the epoch; None if there is none.

    Raises:
        BadCredentials: it is no time.
    """
    value = claims.get(name)
    if value is None:
        if name in claims and name != "nbf":  # which alone may be null to Go
            raise BadCredentials(f'{UNMARSHAL}strconv.ParseFloat: parsing "": invalid syntax')
        return None
    if isinstance(value, str):
        if not _number.fullmatch(value):
            shown = quote(quote(value))
            raise BadCredentials(
                f"{UNMARSHAL}json: invalid number literal, trying to unmarshal {shown} into Number"
            )
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadCredentials(
            f"{UNMARSHAL}json: cannot unmarshal {type_word(value)} into Go struct field "
            f"idToken.{name} of type json.Number"
        )
    if not isfinite(value):
        raise BadCredentials(f"{UNMARSHAL}{name} is out of range")
    return float(int(value))


def _time(seconds: float) -> str:
    try:
        day, _, clock = format_time(seconds).removesuffix("Z").partition("T")
        return f"{day} {clock} +0000 UTC"
    except (ValueError, OverflowError, OSError):  # beyond the calendar
        return f"{seconds:.0f} s"


def _listed(texts: Sequence[str]) -> str:
    return f"[{' '.join(map(quote, texts))}]"


class OidcTokens:
    """The tokens of one issuer.

    Args:
        config: what is said of it.
        compiled: its expressions.
        algorithms: with which tokens may be signed.
        fetcher: asks it.
        env: wall clock.
        background: where it is asked.
        fetched: told of each key set, or of none.
    """

    name = "oidc"

    def __init__(
        self,
        config: JwtAuthenticator,
        compiled: Compiled,
        algorithms: Sequence[str],
        fetcher: Fetcher,
        env: Env,
        background: Background,
        fetched: Callable[[bytes | None], None] = lambda _: None,
    ) -> None:
        issuer = config.issuer
        self.issuer = issuer.url
        self._mapper = Mapper(config, compiled)
        self._audiences = issuer.audiences
        self._algorithms = algorithms
        self._fetcher = fetcher
        self._env = env
        self._background = background
        self._groups = config.groups.claim
        self._claim_issuers: dict[str, Verifier] = {}
        self._verifier = self._verifier_of(issuer.url, issuer.discovery_url, fetched)

    def _verifier_of(
        self,
        issuer: str,
        discovery_url: str = "",
        fetched: Callable[[bytes | None], None] = lambda _: None,
    ) -> Verifier:
        provider = Provider(
            issuer, discovery_url, self._fetcher, self._env, self._background, fetched
        )
        return Verifier(provider, self._audiences, self._algorithms, self._env)

    @property
    def provider(self) -> Provider:
        """The issuer."""
        return self._verifier.provider

    def problem(self) -> str:
        """What keeps it from being used, empty for nothing."""
        error = self.provider.error
        where = f"oidc: authenticator for issuer {quote(self.issuer)} is not healthy"
        return f"{where}: {error}" if error else ""

    def claims(self, token: bytes) -> Claims | None:
        """What a token says, None if it is not this issuer's by its own word."""
        try:
            claims = claims_of(token)
        except Malformed:
            return None
        return claims if issuer_of(claims) == self.issuer else None

    async def user_of(self, token: bytes, claims: Claims) -> Found:
        """Whose token it is.

        Args:
            token: as it was sent.
            claims: what it says.

        Raises:
            BadCredentials: it is not good.
        """
        if not self.provider.jwks_url:
            raise BadCredentials("oidc: authenticator not initialized")
        try:
            await self._verifier.verify(token, claims)
        except BadCredentials as error:
            raise BadCredentials(f"oidc: verify token: {error}") from None
        try:
            await self._expand(claims)
        except (BadCredentials, FetchError) as error:
            raise BadCredentials(f"oidc: could not expand distributed claims: {error}") from None
        try:
            user = self._mapper.user(claims)
        except ClaimError as error:
            raise BadCredentials(str(error)) from None
        return Found(user, expires=seconds_of(claims, "exp"))

    # ------------------------------------------------------------------ distributed claims

    async def _expand(self, claims: Claims) -> None:
        """Get the groups from where a token says they are."""
        wanted = self._groups
        if not wanted or wanted in claims or "_claim_names" not in claims:
            return
        names = _object_of(claims["_claim_names"], "oidc: error parsing distributed claim names")
        if "_claim_sources" not in claims:
            raise BadCredentials("oidc: no claim sources")
        sources = _object_of(claims["_claim_sources"], "oidc: could not parse claim sources")
        source = names.get(wanted)
        if source is None:
            return
        if not isinstance(source, str) or source not in sources:
            raise BadCredentials(
                f"id token _claim_names contained a source {source} missing in _claims_sources"
            )
        place = _object_of(sources[source], "oidc: could not parse claim sources")
        url, token = place.get("endpoint") or "", place.get("access_token") or ""
        if not isinstance(url, str) or not isinstance(token, str):
            raise BadCredentials("oidc: could not parse claim sources: an endpoint is no text")
        if url:
            claims[wanted] = await self._resolved(url, token, wanted)

    async def _resolved(self, url: str, token: str, wanted: str) -> Any:
        if any(ord(char) < 0x21 or ord(char) > 0x7E for char in token):
            raise BadCredentials("oidc: could not parse claim sources: an access token of no text")
        answer = await self._fetcher.get(url, token)
        if not 200 <= answer.status <= 226:
            raise FetchError(
                f"while getting distributed claim {quote(wanted)}: "
                f"error while getting distributed claim JWT: {answer.status}"
            )
        got = answer.body.strip()
        try:
            claims = claims_of(got)
        except Malformed as error:
            raise BadCredentials(
                f"getting untrusted issuer from endpoint {url} failed "
                f"for claim {quote(wanted)}: {error}"
            ) from None
        issuer = issuer_of(claims)
        verifier = self._claim_verifier(issuer)
        if verifier is None or not verifier.provider.jwks_url:
            raise BadCredentials(
                f"verifying untrusted issuer {issuer} failed: "
                f"verifier not initialized for issuer: {quote(issuer)}"
            )
        await verifier.verify(got, claims)
        if wanted not in claims:
            raise BadCredentials(
                f"jwt returned by distributed claim endpoint {quote(url)} did not contain claim: "
                f"{wanted}"
            )
        return claims[wanted]

    def _claim_verifier(self, issuer: str) -> Verifier | None:
        if issuer == self.issuer:
            return self._verifier
        verifier = self._claim_issuers.get(issuer)
        if verifier is None and len(self._claim_issuers) < MOST_CLAIM_ISSUERS:
            verifier = self._claim_issuers[issuer] = self._verifier_of(issuer)
            self._background.start(verifier.provider.discover, "issuer of distributed claims")
        return verifier


def _object_of(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadCredentials(f"{what}: no object")
    return value
