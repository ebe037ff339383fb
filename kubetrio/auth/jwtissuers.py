"""The token issuers of one server, exchanged when the file that names them changes.

A new set takes the place of the old one when all of its issuers have been discovered; until then,
and when that takes longer than a minute, the old one stays and the new one is tried again.

Source: KEP-3331 (reload); kube-apiserver's metrics ``apiserver_authentication_*``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NoReturn

import trio

from kubetrio.auth.authenticate import BadCredentials
from kubetrio.auth.background import Background
from kubetrio.auth.claimmapping import Compiled
from kubetrio.auth.jwtconfig import AuthenticationConfig, JwtAuthenticator
from kubetrio.auth.oidc import OidcTokens
from kubetrio.auth.oidckeys import Fetcher, hash_of
from kubetrio.auth.tokens import Found
from kubetrio.env import Env
from kubetrio.observe import prometheus
from kubetrio.observe.logs import Log
from kubetrio.observe.series import Histogram
from kubetrio.outgoing.client import Outgoing
from kubetrio.runtime.groups import call_all

log = Log("kubetrio.auth.oidc")
HEALTHY_WITHIN_S = 60.0
AGAIN_S = 60.0
LINGER_S = 60.0
BUCKETS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

Issuers = tuple[tuple[JwtAuthenticator, Compiled], ...]
Compile = Callable[[AuthenticationConfig], Issuers]
"""Checks a configuration and makes its expressions ready; raises ValueError."""


class _Set:
    """The issuers of one version of a file."""

    def __init__(self, tokens: Sequence[OidcTokens], background: Background) -> None:
        self.tokens = tokens
        self.background = background
        self.scope = trio.CancelScope()

    async def run(self) -> None:
        """Discover all issuers, and fetch what is asked for, until the scope ends."""
        for one in self.tokens:
            self.background.start(one.provider.discover, f"token issuer {one.issuer}")
        with self.scope:
            await self.background.run()

    def problems(self) -> list[str]:
        """What keeps issuers from being used."""
        return [problem for one in self.tokens if (problem := one.problem())]


class JwtIssuers:
    """The token issuers of a server.

    Args:
        issuers: at first.
        algorithms: with which tokens may be signed.
        outgoing: the server's client.
        env: clocks and threads.
        server_id: what names the server in metrics.
    """

    name = "oidc"

    def __init__(
        self,
        issuers: Issuers,
        algorithms: Sequence[str],
        outgoing: Outgoing,
        env: Env,
        server_id: str,
    ) -> None:
        self._algorithms = tuple(algorithms)
        self._outgoing = outgoing
        self._env = env
        self._server = hash_of(server_id)
        self._latency: dict[tuple[str, str], Histogram] = {}
        self._fetched_at: dict[tuple[str, str], float] = {}
        self._key_sets: dict[str, str] = {}
        self._reloads: dict[str, tuple[int, float]] = {}
        self._config_hash = ""
        self._set = self._made(issuers)
        self._nursery: trio.Nursery | None = None
        self._wanted: tuple[AuthenticationConfig, bytes] | None = None
        self._compile: Compile | None = None
        self._asked = trio.Event()
        self._subscribers: list[Callable[[], None]] = []

    def subscribe(self, changed: Callable[[], None]) -> None:
        """Have a function called when what was found out about tokens may no longer hold.

        Then issuers or their keys are others.
        """
        self._subscribers.append(changed)

    def _made(self, issuers: Issuers) -> _Set:
        background = Background()
        return _Set(
            [
                OidcTokens(
                    config,
                    compiled,
                    self._algorithms,
                    Fetcher(self._outgoing, config.issuer.url, config.issuer.certificate_authority),
                    self._env,
                    background,
                    self._watched(config.issuer.url),
                )
                for config, compiled in issuers
            ],
            background,
        )

    def _watched(self, issuer: str) -> Callable[[bytes | None], None]:
        def fetched(body: bytes | None) -> None:
            result = "failure" if body is None else "success"
            self._fetched_at[result, hash_of(issuer)] = self._env.now()
            if body is not None:
                digest = hash_of(body)
                if self._key_sets.get(hash_of(issuer)) not in (None, digest):
                    call_all(self._subscribers)
                self._key_sets[hash_of(issuer)] = digest

        return fetched

    # ------------------------------------------------------------------ tokens

    def authenticate_token(
        self, token: bytes, audiences: tuple[str, ...]
    ) -> Awaitable[Found | None] | None:
        """Whose token it is; see `TokenAuthenticator`."""
        if not audiences:
            return None
        for one in self._set.tokens:
            claims = one.claims(token)
            if claims is not None:
                return self._authenticated(one, token, claims, audiences)
        return None

    async def _authenticated(
        self, one: OidcTokens, token: bytes, claims: dict[str, object], audiences: tuple[str, ...]
    ) -> Found:
        began, result = trio.current_time(), "failure"
        try:
            answer = await one.user_of(token, claims)
            result = "success"
        except BadCredentials as error:
            log.verbose(2, "token of an issuer is not good", issuer=one.issuer, reason=str(error))
            raise
        finally:
            key = (result, hash_of(one.issuer))
            self._latency.setdefault(key, Histogram(BUCKETS)).observe(trio.current_time() - began)
        return answer._replace(audiences=audiences)

    def problems(self) -> list[str]:
        """What keeps issuers from being used, a line each."""
        return self._set.problems()

    # ------------------------------------------------------------------ reload

    def read_from(self, data: bytes, compile_: Compile) -> None:
        """Say which file the issuers were read from.

        Args:
            data: its content.
            compile_: checks a later one; called in a thread.
        """
        self._config_hash = hash_of(data)
        self._compile = compile_

    def exchange(self, config: AuthenticationConfig, data: bytes) -> None:
        """Have other issuers take the place of these, when they can be used.

        Args:
            config: what names them.
            data: content of its file.
        """
        self._wanted = (config, data)
        self._asked.set()

    async def run(self) -> NoReturn:
        """Discover issuers, and exchange them when that is asked for, until cancelled."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(self._set.run, name="token issuers")
            while True:
                if self._wanted is None:
                    await self._asked.wait()
                else:  # what did not work may work later
                    with trio.move_on_after(AGAIN_S):
                        await self._asked.wait()
                self._asked = trio.Event()
                if self._wanted is not None:
                    await self._exchange(nursery, *self._wanted)

    async def _exchange(
        self, nursery: trio.Nursery, config: AuthenticationConfig, data: bytes
    ) -> None:
        if self._compile is None:
            raise AssertionError("only what was read from a file is read again")
        try:
            issuers = await self._env.run_blocking(self._compile, config)
        except ValueError as error:
            log.error(error, "failed to validate authentication config")
            self._reloaded("failure")
            self._settle(data)
            return
        issuer_set = self._made(issuers)
        nursery.start_soon(issuer_set.run, name="new token issuers")
        with trio.move_on_after(HEALTHY_WITHIN_S):
            await _healthy(issuer_set)
        if problems := issuer_set.problems():
            issuer_set.scope.cancel()
            log.warning("failed to update authentication config", reason="; ".join(problems))
            self._reloaded("failure")
            return
        old, self._set = self._set, issuer_set
        call_all(self._subscribers)
        gone = {one.issuer for one in old.tokens} - {one.issuer for one in issuer_set.tokens}
        nursery.start_soon(self._retire, old, gone, name="former token issuers")
        self._config_hash = hash_of(data)
        self._reloaded("success")
        self._settle(data)
        log.info("reloaded authentication config")

    def _settle(self, data: bytes) -> None:
        if self._wanted is not None and self._wanted[1] == data:
            self._wanted = None

    def failed(self) -> None:
        """Count a file that could not be read."""
        self._reloaded("failure")

    def _reloaded(self, status: str) -> None:
        count, _ = self._reloads.get(status, (0, 0.0))
        self._reloads[status] = (count + 1, self._env.now())

    async def _retire(self, old: _Set, gone: Iterable[str]) -> None:
        """End issuers when no request asks them any more."""
        await trio.sleep(LINGER_S)
        old.scope.cancel()
        current = {one.issuer for one in self._set.tokens}
        for issuer in set(gone) - current:
            self._key_sets.pop(hash_of(issuer), None)
            for result in ("success", "failure"):
                self._fetched_at.pop((result, hash_of(issuer)), None)

    # ------------------------------------------------------------------ metrics

    def families(self) -> Iterable[prometheus.Metric]:
        """What upstream counts of issuers and their file."""
        latency = prometheus.HistogramMetricFamily(
            "apiserver_authentication_jwt_authenticator_latency_seconds",
            "Latency of jwt authentication operations in seconds.",
            labels=("result", "jwt_issuer_hash"),
        )
        for key, histogram in sorted(self._latency.items()):
            latency.add_metric(key, histogram.cumulative(), histogram.total)
        fetched = prometheus.GaugeMetricFamily(
            "apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds",
            "Timestamp of the last successful or failed JWKS fetch.",
            labels=("result", "jwt_issuer_hash", "apiserver_id_hash"),
        )
        for (result, issuer), when in sorted(self._fetched_at.items()):
            fetched.add_metric((result, issuer, self._server), when)
        keys = prometheus.GaugeMetricFamily(
            "apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info",
            "Information about the last JWKS fetched by the JWT authenticator.",
            labels=("jwt_issuer_hash", "apiserver_id_hash", "hash"),
        )
        for issuer, digest in sorted(self._key_sets.items()):
            keys.add_metric((issuer, self._server, digest), 1)
        yield from (latency, fetched, keys)
        if self._config_hash:
            yield from self._file_families()

    def _file_families(self) -> Iterable[prometheus.Metric]:
        place = "apiserver_authentication_config_controller"
        reloads = prometheus.CounterMetricFamily(
            f"{place}_automatic_reloads_total",
            "Total number of automatic reloads of authentication configuration.",
            labels=("status", "apiserver_id_hash"),
        )
        last = prometheus.GaugeMetricFamily(
            f"{place}_automatic_reload_last_timestamp_seconds",
            "Timestamp of the last automatic reload of authentication configuration.",
            labels=("status", "apiserver_id_hash"),
        )
        for status, (count, when) in sorted(self._reloads.items()):
            reloads.add_metric((status, self._server), count)
            last.add_metric((status, self._server), when)
        info = prometheus.GaugeMetricFamily(
            f"{place}_last_config_info",
            "Information about the last applied authentication configuration.",
            labels=("apiserver_id_hash", "hash"),
        )
        info.add_metric((self._server, self._config_hash), 1)
        yield from (reloads, last, info)


async def _healthy(made: _Set) -> None:
    """Wait until all issuers can be used."""
    for one in made.tokens:
        while one.problem():
            await one.provider.changed.wait()
