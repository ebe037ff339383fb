"""Pages around the API: service account issuer discovery, status, flags, health metrics.

Source: docs "Configure Service Accounts for Pods" (issuer discovery), KEP-4827 (statusz),
KEP-4828 (flagz), KEP-3466 (SLI metrics).
"""

from __future__ import annotations

import base64
import hashlib
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client import generate_latest
from prometheus_client.core import GaugeMetricFamily

from kubetrio import __version__
from kubetrio.api.health import Health, result_of
from kubetrio.api.response import JSON, Response, text_response
from kubetrio.machinery.timestamps import format_time
from kubetrio.metrics import OneFamily
from kubetrio.wire.jsonwire import encode

METRICS_TYPE = b"text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
JWKS_TYPE = b"application/jwk-set+json"
MINUTE_S, HOUR_S = 60, 3600
NOT_FOR_MACHINES = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting "
    "compatibility guarantees and is for debugging purposes only.\n"
)


def jwks(public_key: Path) -> dict[str, Any]:
    """The key set that service account tokens are verified with (RFC 7517, RFC 7518).

    Args:
        public_key: PEM file of a P-256 key.

    A server without such a key signs no tokens and has an empty set.
    """
    if not public_key.exists():
        return {"keys": []}
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = serialization.load_pem_public_key(public_key.read_bytes())
    if not isinstance(key, ec.EllipticCurvePublicKey):
        return {"keys": []}
    numbers, size = key.public_numbers(), (key.key_size + 7) // 8
    der = key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    entry = {
        "use": "sig",
        "kty": "EC",
        "kid": _b64(hashlib.sha256(der).digest()),
        "crv": "P-256",
        "alg": "ES256",
        "x": _b64(numbers.x.to_bytes(size, "big")),
        "y": _b64(numbers.y.to_bytes(size, "big")),
    }
    return {"keys": [entry]}


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


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
        issuer: issuer of service account tokens.
        public_key: PEM file of the key that verifies them.
        flags: the configuration, as ``/flagz`` shows it.
        started: wall clock of the start, seconds since the epoch.
        git_version: what ``/version`` says.
        health: named checks, for ``/metrics/slis``.
    """

    issuer: str
    public_key: Path
    flags: Mapping[str, object]
    started: float
    git_version: str
    health: Health

    async def answer(self, path: str, now: float) -> Response | None:
        """The page of a path, None when there is none."""
        match path.rstrip("/"):
            case "/.well-known/openid-configuration":
                return Response(200, encode(self._openid()), JSON)
            case "/openid/v1/jwks":
                return Response(200, encode(jwks(self.public_key)), JWKS_TYPE)
            case "/statusz":
                return text_response(self._status(now))
            case "/flagz":
                return text_response(self._flags())
            case "/metrics/slis":
                return Response(200, await self._slis(), METRICS_TYPE)
        return None

    def _openid(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "jwks_uri": f"{self.issuer}/openid/v1/jwks",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
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

    def _flags(self) -> str:
        lines = "".join(f"{name}={value}\n" for name, value in sorted(self.flags.items()))
        return f"\nkubetrio flagz\n{NOT_FOR_MACHINES}\n{lines}"

    async def _slis(self) -> bytes:
        family = GaugeMetricFamily(
            "kubernetes_healthcheck", "Result of a health check.", labels=("name", "type")
        )
        for endpoint, checks in self.health.checks.items():
            for name, check in checks.items():
                well = await result_of(check) is None
                family.add_metric((name, endpoint), 1.0 if well else 0.0)
        return generate_latest(OneFamily(family))
