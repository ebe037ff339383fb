"""Tokens of service accounts: whose they are, as long as what they are bound to is there.

A token is verified once: that one of the server's keys has signed it, and what it says, are
remembered by its digest for as long as it is good, in bounded memory.  Tokens that are not good
leave nothing behind.  Whether the account, pod, secret or node is still there is looked at with
each request, in memory that the commit of their deletion changes.

Source: docs "Managing Service Accounts", "Authenticating" (service account tokens); KEP-1205,
KEP-2799 (tokens in Secrets), KEP-4193; ``pkg/serviceaccount/metrics.go`` for names of metrics.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from hmac import compare_digest
from typing import NamedTuple

from kubetrio.auth.authenticate import BadCredentials
from kubetrio.auth.boundobjects import Seen
from kubetrio.auth.claims import (
    LEEWAY_S,
    LEGACY_ISSUER,
    BadClaims,
    BadSignature,
    Claims,
    claims_from,
    issuer_of,
    verified,
)
from kubetrio.auth.keys import KeySet
from kubetrio.auth.tokens import Found
from kubetrio.env import Env
from kubetrio.gotext.text import quote
from kubetrio.informers.remembered import Remembered
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.names_validation import dns1123_label, dns1123_subdomain
from kubetrio.machinery.waiting import Walk, run
from kubetrio.observe import prometheus
from kubetrio.observe.logs import Log
from kubetrio.schema.registry import LiveRegistry
from kubetrio.schema.wellknown import NODES, PODS, SECRETS, SERVICE_ACCOUNTS
from kubetrio.store.errors import StoreError

log = Log("kubetrio.auth")

USER_PREFIX = "system:serviceaccount:"
GROUP = "system:serviceaccounts"
EXTRA = "authentication.kubernetes.io/"
CREDENTIAL_ID = EXTRA + "credential-id"
NOTES = "authentication.k8s.io/"

MOST_TOKENS = 10_000
MOST_TOKEN_BYTES = 8 << 20
"""Tokens that are remembered at a time, and their length in all."""
LARGE = 64 << 10
"""From so many bytes on, a token is verified in a thread."""
INVALIDATED = "service account token has been invalidated"
LEGACY_INVALIDATED = "Token has been invalidated"
AUTOMATIC_WARNING = (
    "Use tokens from the TokenRequest API or manually created secret-based tokens instead of "
    "auto-generated secret-based tokens."
)

LabelUsed = Callable[[str, str, str, str], Awaitable[None]]
"""Labels a Secret with the day on which its token was used: namespace, name, uid, day."""


def user_of(claims: Claims) -> UserInfo:
    """User of a token.

    Args:
        claims: of the token.
    """
    extra: dict[str, tuple[str, ...]] = {}
    if claims.pod is not None and claims.pod.name and claims.pod.uid:
        extra[EXTRA + "pod-name"] = (claims.pod.name,)
        extra[EXTRA + "pod-uid"] = (claims.pod.uid,)
    if claims.id:
        extra[CREDENTIAL_ID] = (credential_id(claims.id),)
    if claims.node is not None and claims.node.name:
        extra[EXTRA + "node-name"] = (claims.node.name,)
        if claims.node.uid:
            extra[EXTRA + "node-uid"] = (claims.node.uid,)
    return UserInfo(
        f"{USER_PREFIX}{claims.namespace}:{claims.account.name}",
        claims.account.uid,
        (GROUP, f"{GROUP}:{claims.namespace}"),
        extra,
    )


def credential_id(token_id: str) -> str:
    """What the audit log and users' extras call a token."""
    return f"JTI={token_id}"


def _listed(audiences: Sequence[str]) -> str:
    return f"[{' '.join(map(quote, audiences))}]"


class TokenUse(StrEnum):
    """Sorts of uses of tokens that are counted."""

    VALID = "valid_tokens"
    STALE = "stale_tokens"
    LEGACY = "legacy_tokens"
    MANUAL = "legacy_manual_token_uses"
    AUTOMATIC = "legacy_auto_token_uses"
    INVALID = "invalid_legacy_auto_token_uses"


USES = {
    TokenUse.VALID: "Valid projected tokens of service accounts that were used.",
    TokenUse.STALE: "Projected tokens of service accounts that their clients should have replaced.",
    TokenUse.LEGACY: "Tokens of service accounts without audiences that were used.",
    TokenUse.MANUAL: "Tokens in Secrets made by hand that were used.",
    TokenUse.AUTOMATIC: "Tokens in Secrets made by a controller that were used.",
    TokenUse.INVALID: "Uses of tokens in Secrets that are marked as invalid.",
}


class TokenCounts:
    """Counts of the uses of tokens, of one server."""

    def __init__(self) -> None:
        self._uses: Counter[TokenUse] = Counter()

    def used(self, sort: TokenUse) -> None:
        """Count the use of a token."""
        self._uses[sort] += 1

    def families(self) -> Iterable[prometheus.Metric]:
        """Return the counts as metrics."""
        return [
            prometheus.CounterMetricFamily(f"serviceaccount_{use}", text, value=self._uses[use])
            for use, text in USES.items()
        ]


class _Known(NamedTuple):
    """A token that was verified.

    Args:
        claims: what it says.
        user: of the token.
        size: its length.
    """

    claims: Claims
    user: UserInfo
    size: int


@dataclass(slots=True)
class _Notes:
    """What is told beside the answer: annotations of the audit log, and warnings."""

    annotations: dict[str, str]
    warnings: tuple[str, ...] = ()


class ServiceAccountTokens:
    """Knows tokens of service accounts, projected ones and those in Secrets.

    Args:
        keys: one of them has signed a token.
        issuers: whose tokens are accepted.
        audiences: of this server's API, for tokens that name none.
        objects: what is known of objects, by their storage key.
        registry: knows storage keys.
        env: the clock, and threads.
        label_used: labels Secrets.
        lookup: whether Secrets and accounts are looked at for tokens in Secrets.

    Attributes:
        counts: how often tokens were used.
    """

    name = "service account tokens"

    def __init__(
        self,
        keys: KeySet,
        issuers: Sequence[str],
        audiences: tuple[str, ...],
        objects: Remembered[Seen],
        registry: LiveRegistry,
        env: Env,
        *,
        label_used: LabelUsed,
        lookup: bool = True,
    ) -> None:
        self.counts = TokenCounts()
        self._keys = keys
        self._issuers = frozenset(issuers)
        self._recognised = self._issuers | {LEGACY_ISSUER}
        self._audiences = audiences
        self._objects = objects
        self._registry = registry
        self._env = env
        self._label_used = label_used
        self._lookup = lookup
        self._ready = False
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._bytes = 0
        self._labelling: set[str] = set()

    def remembered(self) -> tuple[int, int]:
        """How many tokens are remembered, and their bytes."""
        return len(self._known), self._bytes

    def authenticate_token(
        self, token: bytes, audiences: tuple[str, ...]
    ) -> Found | Awaitable[Found | None] | None:
        """Whose token it is; see `TokenAuthenticator`.

        Args:
            token: as it was sent.
            audiences: for one of which it must be.

        Raises:
            BadCredentials: it is a service account's, and not good.
        """
        digest = sha256(token).digest()
        known = self._known.get(digest)
        if known is not None:
            return run(self._again(digest, known, audiences))
        if len(token) < LARGE and issuer_of(token) not in self._recognised:
            return None
        return run(self._first(token, digest, audiences))

    def _again(self, digest: bytes, known: _Known, audiences: tuple[str, ...]) -> Walk[Found]:
        try:
            return (yield from self._judge(known, digest, audiences))
        except BadCredentials:
            self._forget(digest)
            raise

    def _first(self, token: bytes, digest: bytes, audiences: tuple[str, ...]) -> Walk[Found | None]:
        if not self._ready or len(token) >= LARGE:
            claims = yield self._env.run_blocking(self._verify, token)
            self._ready = True
        else:
            claims = self._verify(token)
        if claims is None:
            return None
        known = _Known(claims, user_of(claims), len(token))
        answer = yield from self._judge(known, digest, audiences)
        self._remember(digest, known)
        return answer

    def _verify(self, token: bytes) -> Claims | None:
        if issuer_of(token) not in self._recognised:
            return None
        try:
            self._keys.load()
            claims = claims_from(verified(token, self._keys))
        except (BadSignature, BadClaims, ValueError, OSError) as error:
            raise BadCredentials(str(error)) from None
        if not claims.legacy and claims.issuer not in self._issuers:
            raise BadCredentials(f"token issuer {quote(claims.issuer)} is invalid")
        return claims

    def _remember(self, digest: bytes, known: _Known) -> None:
        if known.size >= LARGE:
            return
        self._forget(digest)
        while len(self._known) >= MOST_TOKENS or self._bytes + known.size > MOST_TOKEN_BYTES:
            self._forget(next(iter(self._known)))
        self._known[digest] = known
        self._bytes += known.size

    def _forget(self, digest: bytes) -> None:
        known = self._known.pop(digest, None)
        if known is not None:
            self._bytes -= known.size

    # ------------------------------------------------------------------ judgement

    def _judge(self, known: _Known, digest: bytes, audiences: tuple[str, ...]) -> Walk[Found]:
        """Return whether a verified token is good now, and its user.

        Raises:
            BadCredentials: it is not.
        """
        claims, notes = known.claims, _Notes({})
        own = claims.audiences
        if not own:
            notes.annotations[NOTES + "legacy-token"] = claims.subject
            self.counts.used(TokenUse.LEGACY)
            own = self._audiences
        common = tuple(one for one in audiences if one in own)
        if not common and self._audiences:
            raise BadCredentials(
                f"token audiences {_listed(own)} is invalid for the target audiences "
                f"{_listed(audiences)}",
                notes.annotations,
            )
        if claims.legacy:
            yield from self._judge_legacy(claims, digest, notes)
        else:
            yield from self._judge_bound(claims, notes)
        expires = None if claims.expires is None else float(claims.expires + LEEWAY_S)
        return Found(
            known.user, common, expires, annotations=notes.annotations, warnings=notes.warnings
        )

    def _seen(self, plural: str, namespace: str, name: str) -> Walk[Seen | None]:
        kind = self._registry.resources["", "v1", plural]
        key = kind.key(namespace if kind.namespaced else "", name)
        seen = self._objects.known(key)
        if seen is None and name:
            try:
                seen = yield self._objects.get(key)
            except StoreError as error:
                raise BadCredentials(str(error)) from None
        return seen

    def _judge_bound(self, claims: Claims, notes: _Notes) -> Walk[None]:
        now = self._env.now()
        try:
            claims.check_times(now)
        except BadClaims as error:
            raise BadCredentials(str(error), notes.annotations) from None
        too_old = now - LEEWAY_S
        namespace, ref = claims.namespace, claims.account
        if not ref.name:
            raise BadCredentials("resource name may not be empty")
        account = yield from self._seen(SERVICE_ACCOUNTS, namespace, ref.name)
        if account is None:
            raise BadCredentials(f"{SERVICE_ACCOUNTS} {quote(ref.name)} not found")
        if account.uid != ref.uid:
            raise BadCredentials(
                f"service account UID ({account.uid}) does not match claim ({ref.uid})"
            )
        if account.deleted is not None and account.deleted < too_old:
            raise BadCredentials(f"service account {namespace}/{ref.name} has been deleted")
        bound = [("secret", SECRETS, claims.secret), ("pod", PODS, claims.pod)]
        if claims.pod is None:
            bound.append(("node", NODES, claims.node))
        for role, plural, other in bound:
            if other is None:
                continue
            seen = yield from self._seen(plural, namespace, other.name)
            if seen is None:
                raise BadCredentials(INVALIDATED)
            if seen.uid != other.uid:
                raise BadCredentials(
                    f"{role} UID ({seen.uid}) does not match service account {role} ref claim "
                    f"({other.uid})"
                )
            if seen.deleted is not None and seen.deleted < too_old:
                raise BadCredentials(INVALIDATED)
        if claims.warn_after:
            if now > claims.warn_after:
                notes.annotations[NOTES + "stale-token"] = (
                    f"subject: {claims.subject}, seconds after warning threshold: "
                    f"{int(now) - claims.warn_after}"
                )
                self.counts.used(TokenUse.STALE)
            else:
                self.counts.used(TokenUse.VALID)

    def _judge_legacy(self, claims: Claims, digest: bytes, notes: _Notes) -> Walk[None]:
        namespace, ref = claims.namespace, claims.account
        secret_name = "" if claims.secret is None else claims.secret.name
        needed = {
            "sub": claims.subject,
            "namespace": namespace,
            "secretName": secret_name,
            "serviceAccountName": ref.name,
            "serviceAccountUID": ref.uid,
        }
        for name, value in needed.items():
            if not value:
                raise BadCredentials(f"{name} claim is missing", notes.annotations)
        if (
            claims.subject != f"{USER_PREFIX}{namespace}:{ref.name}"
            or dns1123_label(namespace)
            or dns1123_subdomain(ref.name)
        ):
            raise BadCredentials("sub claim is invalid", notes.annotations)
        if not self._lookup:
            return
        secret = yield from self._seen(SECRETS, namespace, secret_name)
        if secret is None or secret.deleted is not None:
            raise BadCredentials(LEGACY_INVALIDATED, notes.annotations)
        if not compare_digest(secret.token, digest):
            raise BadCredentials("Token does not match server's copy", notes.annotations)
        account = yield from self._seen(SERVICE_ACCOUNTS, namespace, ref.name)
        if account is None:
            why = f"{SERVICE_ACCOUNTS} {quote(ref.name)} not found"
            raise BadCredentials(why, notes.annotations)
        if account.deleted is not None:
            why = f"ServiceAccount {namespace}/{ref.name} has been deleted"
            raise BadCredentials(why, notes.annotations)
        if account.uid != ref.uid:
            why = f"ServiceAccount UID ({account.uid}) does not match claim ({ref.uid})"
            raise BadCredentials(why, notes.annotations)
        if secret.invalid:
            note = f"{secret_name}/{namespace}"
            notes.annotations[NOTES + "legacy-token-invalidated"] = note
            self.counts.used(TokenUse.INVALID)
            yield from self._label(namespace, secret_name, secret)
            raise BadCredentials(
                f"the token in secret {namespace}/{secret_name} for service account "
                f"{namespace}/{ref.name} has been marked invalid. Use tokens from the "
                "TokenRequest API or manually created secret-based tokens, or remove the "
                "'kubernetes.io/legacy-token-invalid-since' label from the secret to temporarily "
                "allow use of this token",
                notes.annotations,
            )
        if secret_name in account.refs:
            notes.warnings = (AUTOMATIC_WARNING,)
            notes.annotations[NOTES + "legacy-token-autogenerated-secret"] = secret_name
            self.counts.used(TokenUse.AUTOMATIC)
        else:
            notes.annotations[NOTES + "legacy-token-manual-secret"] = secret_name
            self.counts.used(TokenUse.MANUAL)
        yield from self._label(namespace, secret_name, secret)

    def _label(self, namespace: str, name: str, secret: Seen) -> Walk[None]:
        """Note on a Secret that its token was used today, unless another task does it."""
        today = datetime.fromtimestamp(self._env.now(), UTC)
        days = [(today + timedelta(days=more)).strftime("%Y-%m-%d") for more in (0, 1)]
        if secret.last_used in days or secret.uid in self._labelling:
            return
        self._labelling.add(secret.uid)
        try:
            yield self._label_used(namespace, name, secret.uid, days[0])
        except Exception as error:  # noqa: BLE001  (a label is no reason to refuse a token)
            log.warning(
                "a Secret was not labelled with the day of its token's last use",
                secret=f"{namespace}/{name}",
                error=str(error),
            )
        finally:
            self._labelling.discard(secret.uid)
