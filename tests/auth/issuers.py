"""Issuers of OpenID Connect, and their tokens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kubetrio.auth.authenticate import BadCredentials
from kubetrio.auth.oidc import OidcTokens
from kubetrio.auth.tokens import Found
from kubetrio.env import Env

NOW = 1_800_000_000.0


ENV = Env(now=lambda: NOW)


Start = Callable[..., Awaitable[OidcTokens]]


async def found(tokens: OidcTokens, token: bytes) -> Found | None:
    claims = tokens.claims(token)
    return None if claims is None else await tokens.user_of(token, claims)


async def refused(tokens: OidcTokens, token: bytes) -> str:
    with pytest.raises(BadCredentials) as caught:
        await found(tokens, token)
    return str(caught.value)


def claims_of(peer: Any, **more: Any) -> dict[str, Any]:
    return {"iss": peer.url, "aud": "client", "sub": "jane", "exp": NOW + 60, **more}
