"""What was found out about tokens, kept for seconds so that others need not be asked again.

Tokens are kept as digests under a key of this process, so that no client can make entries meet.
The cache has room for a number of entries and of bytes; the ones not used for longest go first.
Who asks for a token while another request does waits for the same answer.

Source: k8s.io/apiserver/pkg/authentication/token/cache.
"""

from __future__ import annotations

import hmac
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Iterable
from hashlib import sha256
from struct import pack
from typing import NamedTuple

import trio

from kubetrio.auth.authenticate import Authenticator, BadCredentials, TokenAuthenticator
from kubetrio.auth.background import Background
from kubetrio.auth.tokens import Found
from kubetrio.env import Env
from kubetrio.observe import prometheus
from kubetrio.observe.series import DEFAULT_BUCKETS, Histogram

MOST_ENTRIES = 32 * 1024
MOST_BYTES = 16 * 1024 * 1024
LOOKUP_S = 30.0
_ENTRY_BYTES = 256  # of an entry without its texts


class _Kept(NamedTuple):
    """One answer, as long as it counts."""

    found: Found | None
    until: float
    size: int


class _Asked:
    """An answer that is on its way."""

    def __init__(self) -> None:
        self.done = trio.Event()
        self.found: Found | None = None
        self.error: BaseException | None = None


def size_of(found: Found | None) -> int:
    """About how many bytes an answer takes."""
    if found is None:
        return _ENTRY_BYTES
    user = found.user
    texts = [user.name, user.uid, *user.groups, *found.audiences]
    for key, values in user.extra.items():
        texts += [key, *values]
    return _ENTRY_BYTES + sum(64 + len(text) for text in texts)


class CachedTokens:
    """Remembers what another method says of tokens.

    Args:
        method: it.
        env: clocks, and randomness for the key of digests.
        background: where it is asked.
        good_s: how long a user is remembered, 0 for never.
        bad_s: how long it is remembered that there is none.
    """

    def __init__(
        self,
        method: TokenAuthenticator,
        env: Env,
        background: Background,
        *,
        good_s: float,
        bad_s: float,
    ) -> None:
        self._method = method
        self._env = env
        self._background = background
        self._good_s, self._bad_s = good_s, bad_s
        self._key = env.rng.randbytes(32)
        self._entries: OrderedDict[bytes, _Kept] = OrderedDict()
        self._bytes = 0
        self._asked: dict[bytes, _Asked] = {}
        self._generation = 0
        self.stats = CacheStats()

    @property
    def name(self) -> str:
        """What the log calls the method."""
        return self._method.name

    def fill(self) -> tuple[int, int]:
        """How many answers are kept, and their bytes."""
        return len(self._entries), self._bytes

    def forget(self) -> None:
        """Remember nothing of before."""
        self._entries.clear()
        self._bytes = 0
        self._generation += 1  # what is on its way is not kept

    def _digest(self, token: bytes, audiences: tuple[str, ...]) -> bytes:
        parts = [pack(">I", len(token)), token, pack(">I", len(audiences))]
        for audience in audiences:
            text = audience.encode()
            parts += [pack(">I", len(text)), text]
        return hmac.digest(self._key, b"".join(parts), sha256)

    def authenticate_token(
        self, token: bytes, audiences: tuple[str, ...]
    ) -> Found | Awaitable[Found | None] | None:
        """Whose token it is; see `TokenAuthenticator`."""
        digest = self._digest(token, audiences)
        kept = self._entries.get(digest)
        if kept is not None:
            if trio.current_time() < kept.until and not _over(kept.found, self._env.now()):
                self._entries.move_to_end(digest)
                self.stats.requested(hit=True, seconds=0.0)
                return kept.found
            self._drop(digest)
        asked = self._asked.get(digest)
        if asked is None:
            waiting = self._method.authenticate_token(token, audiences)
            if waiting is None or isinstance(waiting, Found):
                return waiting
            return self._lookup(digest, waiting)
        return self._join(asked)

    async def _lookup(self, digest: bytes, waiting: Awaitable[Found | None]) -> Found | None:
        asked = self._asked[digest] = _Asked()
        generation = self._generation

        async def ask() -> None:
            self.stats.fetching += 1
            try:
                with trio.fail_after(LOOKUP_S):
                    asked.found = await waiting
                if generation == self._generation:
                    self._keep(digest, asked.found)
            except (BadCredentials, trio.TooSlowError) as error:
                asked.error = error
            except Exception as error:  # noqa: BLE001  (told to who asks, as a bug)
                asked.error = error
            finally:
                self.stats.fetching -= 1
                self.stats.fetched["error" if asked.error else "ok"] += 1
                del self._asked[digest]
                asked.done.set()

        if self._background.running:
            self._background.start(ask, "token lookup")
        else:
            await ask()
        return await self._join(asked)

    async def _join(self, asked: _Asked) -> Found | None:
        began = trio.current_time()
        self.stats.blocked += 1
        try:
            await asked.done.wait()
        finally:
            self.stats.blocked -= 1
            self.stats.requested(hit=False, seconds=trio.current_time() - began)
        if isinstance(asked.error, BadCredentials):
            raise BadCredentials(str(asked.error))
        if isinstance(asked.error, trio.TooSlowError):
            raise BadCredentials("context deadline exceeded")
        if asked.error is not None:
            raise asked.error
        return asked.found

    def _keep(self, digest: bytes, found: Found | None) -> None:
        life = self._good_s if found is not None else self._bad_s
        if life <= 0:
            return
        kept = _Kept(found, trio.current_time() + life, size_of(found))
        if kept.size > MOST_BYTES // 16:
            return
        if digest in self._entries:
            self._drop(digest)
        self._entries[digest] = kept
        self._bytes += kept.size
        while len(self._entries) > MOST_ENTRIES or self._bytes > MOST_BYTES:
            self._drop(next(iter(self._entries)))

    def _drop(self, digest: bytes) -> None:
        self._bytes -= self._entries.pop(digest).size


def _over(found: Found | None, now: float) -> bool:
    return found is not None and found.expires is not None and found.expires <= now


class CacheStats:
    """How the caches of tokens of one server are used."""

    def __init__(self) -> None:
        self._latency = {True: Histogram(DEFAULT_BUCKETS), False: Histogram(DEFAULT_BUCKETS)}
        self.fetched: Counter[str] = Counter()
        self.fetching = 0
        self.blocked = 0

    def requested(self, *, hit: bool, seconds: float) -> None:
        """Count a token that was asked for."""
        self._latency[hit].observe(seconds)

    def remembered(self, authenticator: Authenticator) -> None:
        """Count what methods were asked that remember nothing themselves, and what needed none."""
        self._latency[True].observe(0.0, authenticator.hits)
        self._latency[False].add(authenticator.lookups)
        looked_up = sum(authenticator.lookups.counts)
        self.fetched["ok"] += looked_up - authenticator.unknown
        self.fetched["error"] += authenticator.unknown

    def add(self, other: CacheStats) -> None:
        """Count what another one counted, too."""
        for hit, histogram in other._latency.items():
            self._latency[hit].add(histogram)
        self.fetched.update(other.fetched)
        self.fetching += other.fetching
        self.blocked += other.blocked

    def families(self) -> Iterable[prometheus.Metric]:
        """The counts as metrics."""
        place = "authentication_token_cache"
        latency = prometheus.HistogramMetricFamily(
            f"{place}_request_duration_seconds", "Time to an answer.", labels=("status",)
        )
        requests = prometheus.CounterMetricFamily(
            f"{place}_request_total", "Tokens that were asked for.", labels=("status",)
        )
        for hit, word in ((True, "hit"), (False, "miss")):
            histogram = self._latency[hit]
            latency.add_metric((word,), histogram.cumulative(), histogram.total)
            requests.add_metric((word,), sum(histogram.counts))
        fetched = prometheus.CounterMetricFamily(
            f"{place}_fetch_total", "Tokens that were looked up.", labels=("status",)
        )
        for word, count in sorted(self.fetched.items()):
            fetched.add_metric((word,), count)
        active = prometheus.GaugeMetricFamily(
            f"{place}_active_fetch_count", "Lookups under way.", labels=("status",)
        )
        active.add_metric(("in_flight",), self.fetching)
        active.add_metric(("blocked",), self.blocked)
        return latency, requests, fetched, active


def families_of(
    authenticator: Authenticator, caches: Iterable[CachedTokens]
) -> Iterable[prometheus.Metric]:
    """The metrics of all that a server remembers of tokens together."""
    total = CacheStats()
    total.remembered(authenticator)
    for cache in caches:
        total.add(cache.stats)
    return total.families()
