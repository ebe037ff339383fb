"""Flags of controllers, as kube-controller-manager has them."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from kubetrio.config.flag import Rule, Section, both_or_none, flag, section
from kubetrio.config.kinds import FILE, SOME_TIME

YEAR_S = 365 * 24 * 3600.0


@section
class Certificates(Section):
    """What controllers sign and clean up; see the reference of flags."""

    TITLE: ClassVar[str] = "controllers"
    RULES: ClassVar[tuple[Rule, ...]] = (both_or_none("signing_cert_file", "signing_key_file"),)

    signing_cert_file: Path | None = flag(
        "cluster-signing-cert-file", FILE, None,
        "PEM file of the authority that signs certificate requests",
        unset="the server's own, unless --client-ca-file names others",
    )  # fmt: skip
    signing_key_file: Path | None = flag(
        "cluster-signing-key-file", FILE, None, "its key; the two go together"
    )
    signing_duration_s: float = flag(
        "cluster-signing-duration", SOME_TIME, YEAR_S,
        "longest life of the certificates that are signed; requests may ask for less",
    )  # fmt: skip
    unused_tokens_s: float = flag(
        "legacy-service-account-token-clean-up-period", SOME_TIME, YEAR_S,
        "tokens in Secrets that were not used for so long are made invalid, and deleted after the "
        "same time again",
    )  # fmt: skip
