"""Pages around the API: service account issuer discovery, status, flags, health metrics.

Source: docs "Configure Service Accounts for Pods" (issuer discovery), KEP-4827 (statusz),
KEP-4828 (flagz), KEP-3466 (SLI metrics).
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from kubetrio import __version__
from kubetrio.api.pages import zpages
from kubetrio.api.pages.health import Health, result_of
from kubetrio.api.request import Request
from kubetrio.api.response import JSON, Response
from kubetrio.auth.keys import KeySet
from kubetrio.env import RunBlocking
from kubetrio.machinery.status import method_not_allowed
from kubetrio.machinery.timestamps import format_time
from kubetrio.observe import prometheus
from kubetrio.observe.metrics import Gathered, exposition, text_of
from kubetrio.wire import negotiate
from kubetrio.wire.jsonwire import encode

METRICS_TYPE = b"text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
JWKS_TYPE = b"application/jwk-set+json"
KEYS = negotiate.Offer(
    serializers=(), plain=(), transforms=False, others=("application/jwk-set+json",)
)
"""What a router lets pass to the key set."""
PATHS = ("/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/statusz", "/version")
"""Pages about the server itself, as ``/statusz`` lists them."""
CACHED = ((b"Cache-Control", b"public, max-age=3600"),)
"""What is said of keys may be remembered for an hour."""
MINUTE_S, HOUR_S = 60, 3600
NOT_FOR_MACHINES = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting "
    "compatibility guarantees and is for debugging purposes only.\n"
)


def only_get(request: Request) -> None:
    """Refuse what changes something.

    Raises:
        ApiError: 405.
    """
    if request.method not in ("GET", "HEAD"):
        raise method_not_allowed()


def duration(seconds: float) -> str:
    """Hours, minutes and seconds as Go prints a duration."""
    whole = int(seconds)
    hours, rest = divmod(whole, HOUR_S)
    minutes, rest = divmod(rest, MINUTE_S)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """The pages of one server.

    Args:
        issuer: issuer of service account tokens; there is no discovery for one that is no URL
            of scheme https.
        jwks_uri: where others find the key set.
        keys: what verifies tokens.
        run_blocking: has them read.
        flags: the configuration, as ``/flagz`` shows it.
        started: wall clock of the start, seconds since the epoch.
        git_version: what ``/version`` says.
        health: named checks, for ``/metrics/slis``.
    """

    issuer: str
    jwks_uri: str
    keys: KeySet
    run_blocking: RunBlocking
    flags: Mapping[str, object]
    started: float
    git_version: str
    health: Health

    async def answer(self, request: Request, now: float) -> Response | None:
        """The page that is asked for, None when there is none.

        Raises:
            ApiError: 405 or 406.
        """
        match request.info.path.rstrip("/"):
            case "/.well-known/openid-configuration" if self._discovered():
                only_get(request)
                negotiate.pass_router(request.header(b"accept"), negotiate.PLAIN_JSON)
                await self._read_keys()
                return Response(200, encode(self._openid()), JSON, CACHED)
            case "/openid/v1/jwks" if self._discovered():
                only_get(request)
                negotiate.pass_router(request.header(b"accept"), KEYS)
                await self._read_keys()
                return Response(200, encode(self.keys.jwks()), JWKS_TYPE, CACHED)
            case "/statusz":
                return zpages.answer(request, "Statusz", self._status(now), self._statusz(now))
            case "/flagz":
                return zpages.answer(request, "Flagz", self._flags(), self._flagz())
            case "/metrics/slis":
                only_get(request)
                return Response(200, await self._slis(), METRICS_TYPE)
        return None

    async def _read_keys(self) -> None:
        if not self.keys.loaded:
            await self.run_blocking(self.keys.load)

    def _discovered(self) -> bool:
        url = urlsplit(self.issuer)
        return url.scheme == "https" and not url.query and not url.fragment

    def _openid(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "jwks_uri": self.jwks_uri,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": self.keys.algorithms(),
        }

    def _status(self, now: float) -> str:
        return (
            f"\nkubetrio statusz\n{NOT_FOR_MACHINES}\n"
            f"Started: {format_time(self.started)}\n"
            f"Up: {duration(now - self.started)}\n"
            f"Python version: {platform.python_version()}\n"
            f"Binary version: {__version__}\n"
            f"Emulation version: {self.git_version}\n"
        )

    def _statusz(self, now: float) -> dict[str, Any]:
        return {
            "startTime": format_time(self.started),
            "uptimeSeconds": max(int(now - self.started), 0),
            "goVersion": f"python{platform.python_version()}",
            "binaryVersion": __version__,
            "emulationVersion": ".".join(self.git_version.removeprefix("v").split(".")[:2]),
            "paths": list(PATHS),
        }

    def _flagz(self) -> dict[str, Any]:
        return {"flags": {name: str(value) for name, value in sorted(self.flags.items())}}

    def _flags(self) -> str:
        lines = "".join(f"{name}={value}\n" for name, value in sorted(self.flags.items()))
        return f"\nkubetrio flagz\n{NOT_FOR_MACHINES}\n{lines}"

    async def metrics(self, source: Gathered) -> bytes:
        """What is measured, in the text format of Prometheus."""
        await self._library()
        return await exposition(source)

    async def _library(self) -> None:
        if not prometheus.is_loaded():
            await self.run_blocking(prometheus.load)

    async def _slis(self) -> bytes:
        await self._library()
        family = prometheus.GaugeMetricFamily(
            "kubernetes_healthcheck", "Result of a health check.", labels=("name", "type")
        )
        for endpoint, checks in self.health.checks.items():
            for name, check in checks.items():
                well = await result_of(check) is None
                family.add_metric((name, endpoint), 1.0 if well else 0.0)
        return text_of(family)
