"""Defaults of authentication.k8s.io."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import Default, Rules, within

TABLES: dict[str, Rules] = {
    "io.k8s.api.authentication.v1.TokenRequest": (
        within("spec", Default("expirationSeconds", 3600)),
    ),
}
