"""Flags of API aggregation."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from kubetrio.config.flag import Rule, Section, both_or_none, flag, section
from kubetrio.config.kinds import BOOLEAN, FILE


@section
class Aggregation(Section):
    """How other API servers are reached that serve groups of this one's; see the flags."""

    TITLE: ClassVar[str] = "aggregation"
    RULES: ClassVar[tuple[Rule, ...]] = (both_or_none("client_cert_file", "client_key_file"),)

    client_cert_file: Path | None = flag(
        "proxy-client-cert-file", FILE, None,
        "client certificate by which aggregated API servers know this server",
        unset="made by the server's authority",
        more="See [aggregated API servers](../how-to/aggregated-apis.md).",
    )  # fmt: skip
    client_key_file: Path | None = flag(
        "proxy-client-key-file", FILE, None, "its key; the two go together"
    )
    endpoint_routing: bool = flag(
        "enable-aggregator-routing", BOOLEAN, False,
        "connect to endpoints of Services only, never to their cluster IPs",
        more="Endpoints are preferred without it, too. It is about webhooks as well.",
    )  # fmt: skip
    reject_redirects: bool = flag(
        "aggregator-reject-forwarding-redirect", BOOLEAN, True,
        "answer 502 when an aggregated API server sends clients elsewhere",
    )  # fmt: skip
