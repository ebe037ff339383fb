"""Keys of a token issuer: discovered, fetched, kept, and fetched again when they change.

What issuers and the holders of bad tokens can do is bounded: documents and redirects, the number
and size of keys, and how often a token with an unknown key makes this server ask.

Source: OpenID Connect Discovery 1.0; RFC 7517; go-oidc v2 (``remoteKeySet``) for what
kube-apiserver does: kept keys count as long as they verify, whatever their age.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import orjson
import trio

from kubetrio.auth.background import Background, Flight, NotRunning
from kubetrio.env import Env
from kubetrio.gotext.text import quote
from kubetrio.observe.logs import Log
from kubetrio.outgoing.client import CallError
from kubetrio.outgoing.target import Target

if TYPE_CHECKING:
    from kubetrio.auth.signed import Signed
    from kubetrio.outgoing.client import Answer, Outgoing

log = Log("kubetrio.auth.oidc")
WELL_KNOWN = "/.well-known/openid-configuration"
TIMEOUT_S = 30.0
MOST_DOCUMENT_BYTES = 1024 * 1024
MOST_KEYS = 256
MOST_MODULUS = 2732  # characters of base64url: 16,384 bits
MOST_REDIRECTS = 10
FIRST_RETRY_S, LAST_RETRY_S = 1.0, 10.0
REFRESH_BURST, REFRESH_EVERY_S = 4, 10.0
"""How often tokens that no key verifies make the server ask for keys: so many times at once, and
one more after each so many seconds."""
EXPIRY_DELTA_S = 30.0
_max_age = re.compile(r"(?:^|[\s,])(s-maxage|max-age)\s*=\s*\"?(\d{1,9})")
_uncached = re.compile(r"(?:^|[\s,])(no-store|no-cache|private)")


class FetchError(Exception):
    """Something could not be had from an issuer."""


class Fetcher:
    """GETs from an issuer.

    Args:
        outgoing: the server's client.
        url: of the issuer.
        ca: its authorities, PEM; those of the system when empty.
    """

    def __init__(self, outgoing: Outgoing, url: str, ca: str) -> None:
        self._outgoing = outgoing
        self._target = Target(url=url, ca=ca.encode() if ca else None)

    async def get(self, url: str, token: str = "") -> Answer:
        """An answer, behind as many redirects as Go follows, over TLS only.

        Args:
            url: where.
            token: shown to that host.

        Raises:
            FetchError: there is none.
        """
        host = urlsplit(url).netloc
        for _ in range(MOST_REDIRECTS):
            if not url.startswith("https://"):
                raise FetchError(f"Get {quote(url)}: only https is asked")
            sent = [("Authorization", f"Bearer {token}")] if token else []
            if urlsplit(url).netloc != host:
                sent = []
            try:
                answer = await self._outgoing.call(
                    self._target,
                    method="GET",
                    url=url,
                    headers=sent,
                    timeout_s=TIMEOUT_S,
                    most_bytes=MOST_DOCUMENT_BYTES,
                )
            except CallError as error:
                raise FetchError(str(error)) from None
            where = answer.headers.get("location", "")
            if answer.status not in (301, 302, 303, 307, 308) or not where:
                return answer
            url = urljoin(url, where)
        raise FetchError(f"Get {quote(url)}: stopped after {MOST_REDIRECTS} redirects")


def document(answer: Answer) -> dict[str, Any]:
    """The JSON object in an answer.

    Raises:
        FetchError: there is none.
    """
    if answer.status != 200:
        shown = answer.body[:200].decode(errors="replace")
        raise FetchError(f"{answer.status}: {shown}")
    try:
        value = orjson.loads(answer.body)
    except ValueError:
        kind = answer.headers.get("content-type", "")
        raise FetchError(
            f"expected Content-Type = application/json, got {quote(kind)}: no JSON"
        ) from None
    if not isinstance(value, dict):
        raise FetchError("a document that is no object")
    return value


@dataclass(slots=True)
class Key:
    """A public key of an issuer."""

    kid: str
    kind: str
    values: dict[str, Any]
    _made: Any = field(default=None)

    def key(self) -> Any:
        """The key as joserfc has it; None when it is not good."""
        if self._made is None:
            from joserfc.errors import JoseError
            from joserfc.jwk import ECKey, RSAKey

            kinds: dict[str, Any] = {"RSA": RSAKey, "EC": ECKey}
            try:
                self._made = kinds[self.kind].import_key(self.values)
            except (JoseError, ValueError, TypeError, KeyError):
                self._made = False
        return self._made or None


def keys_of(value: dict[str, Any]) -> tuple[Key, ...]:
    """The keys in a key set that can verify signatures.

    Args:
        value: a JSON Web Key Set.

    Raises:
        FetchError: it is none.
    """
    found = value.get("keys")
    if found is None:
        found = []
    if not isinstance(found, list):
        raise FetchError("a key set whose keys are no list")
    keys: list[Key] = []
    for one in found[:MOST_KEYS]:
        if not isinstance(one, dict):
            raise FetchError("a key set with a key that is no object")
        # Symmetric keys are left out: each reader of them could sign.
        public = {
            name: text
            for name in ("kty", "n", "e", "crv", "x", "y")
            if isinstance(text := one.get(name), str)
        }
        kind, kid = public.get("kty", ""), one.get("kid")
        sizes = len(public.get("n", "")) <= MOST_MODULUS and len(public.get("e", "")) <= 8
        if kind in ("RSA", "EC") and sizes and one.get("use") != "enc":
            keys.append(Key(kid if isinstance(kid, str) else "", kind, public))
    return tuple(keys)


class Provider:
    """An issuer as it was discovered, and its keys.

    Args:
        issuer: its URL, as tokens have it.
        discovery_url: where its document is; empty for the usual place.
        fetcher: asks it.
        env: wall clock.
        background: where it is asked.
        fetched: told of each key set, or of none (False).

    Attributes:
        jwks_url: where its keys are; empty until it is known.
        error: what is wrong as long as that is not known.
    """

    def __init__(
        self,
        issuer: str,
        discovery_url: str,
        fetcher: Fetcher,
        env: Env,
        background: Background,
        fetched: Callable[[bytes | None], None] = lambda _: None,
    ) -> None:
        self.issuer = issuer
        self._discovery_url = discovery_url or issuer.removesuffix("/") + WELL_KNOWN
        self._fetcher = fetcher
        self._env = env
        self._flight = Flight(background)
        self._fetched = fetched
        self._keys: tuple[Key, ...] = ()
        self._expiry = 0.0
        self._refreshes = float(REFRESH_BURST)
        self._refreshed_at: float | None = None
        self._failure = ""
        self.jwks_url = ""
        self.error = f"oidc: authenticator for issuer {quote(issuer)} is not initialized"
        self.changed = trio.Event()

    async def discover(self) -> None:
        """Ask the issuer what it is until it says so; waits longer each time."""
        delay = FIRST_RETRY_S
        while not self.jwks_url:
            try:
                self.jwks_url = await self._discovered()
            except FetchError as error:
                log.warning(
                    "issuer of tokens cannot be used yet", issuer=self.issuer, reason=str(error)
                )
                self.error = str(error)
                self.changed.set()
                self.changed = trio.Event()
                await trio.sleep(delay)
                delay = min(delay * 2, LAST_RETRY_S)
        self.error = ""
        self.changed.set()

    async def _discovered(self) -> str:
        discovery = document(await self._fetcher.get(self._discovery_url))
        if discovery.get("issuer") != self.issuer:
            named = discovery.get("issuer")
            shown = quote(named if isinstance(named, str) else "")
            raise FetchError(
                "oidc: issuer did not match the issuer returned by provider, "
                f"expected {quote(self.issuer)} got {shown}"
            )
        url = discovery.get("jwks_uri")
        if not isinstance(url, str) or not url:
            raise FetchError("provider did not return JWKS URL")
        return url

    async def verify(self, token: Signed) -> bool:
        """Whether a key of the issuer signed a token.

        Raises:
            FetchError: its keys could not be had.
        """
        if token.signed_by(self._keys):
            return True
        if self._env.now() + EXPIRY_DELTA_S < self._expiry or not self._may_refresh():
            return False
        try:
            await self._flight.join(self._refresh, "keys of a token issuer")
        except NotRunning as error:
            raise FetchError(f"fetching keys {error}") from None
        if self._failure:
            raise FetchError(f"fetching keys {self._failure}")
        return token.signed_by(self._keys)

    def _may_refresh(self) -> bool:
        """Whether the issuer may be asked now; who comes while it is asked is not counted."""
        if self._flight.under_way:
            return True
        now = trio.current_time()
        if self._refreshed_at is not None:
            gained = (now - self._refreshed_at) / REFRESH_EVERY_S
            self._refreshes = min(REFRESH_BURST, self._refreshes + gained)
        self._refreshed_at = now
        if self._refreshes < 1.0:
            return False
        self._refreshes -= 1.0
        return True

    async def _refresh(self) -> None:
        try:
            answer = await self._fetcher.get(self.jwks_url)
            keys = keys_of(document(answer))
        except FetchError as error:
            self._failure = f"oidc: get keys failed {error}"
            self._fetched(None)
            return
        self._failure = ""
        self._keys = keys
        self._expiry = self._env.now() + _fresh_s(answer.headers.get("cache-control", ""))
        self._fetched(answer.body)


def _fresh_s(control: str) -> float:
    """How long a key set counts as new, by its ``Cache-Control``; seconds."""
    control = control.lower()
    if _uncached.search(control):
        return 0.0
    ages = dict(_max_age.findall(control))
    return float(ages.get("s-maxage") or ages.get("max-age") or 0)


def hash_of(text: str | bytes) -> str:
    """A hash as upstream's metrics show one; empty for nothing."""
    data = text.encode() if isinstance(text, str) else text
    return f"sha256:{sha256(data).hexdigest()}" if data else ""
