"""Flags of authentication."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from kubetrio.config.flag import Section, flag, section
from kubetrio.config.kinds import AUDIENCES, FILE, ISSUERS, MAYBE


@section
class Authentication(Section):
    """Who may be who; see the reference of flags."""

    TITLE: ClassVar[str] = "authentication"

    client_ca_file: Path | None = flag(
        "client-ca-file", FILE, None,
        "authority of client certificates instead of the self-made one",
    )  # fmt: skip
    token_auth_file: Path | None = flag(
        "token-auth-file", FILE, None, 'static tokens, a line each: token,user,uid,"group1,group2"'
    )
    service_account_issuers: tuple[str, ...] = flag(
        "service-account-issuer", ISSUERS, ("https://kubernetes.default.svc",),
        "issuer of service account tokens; may be given several times: the first is named in new "
        "tokens and in the discovery document, tokens of the others are still accepted",
    )  # fmt: skip
    api_audiences: tuple[str, ...] = flag(
        "api-audiences", AUDIENCES, (),
        "audiences of this API, with commas between them: tokens that name none are for them, "
        "and a TokenReview for others is refused",
        unset="the issuers of service account tokens",
    )  # fmt: skip
    anonymous_auth: bool | None = flag(
        "anonymous-auth", MAYBE, None, "serve requests without credentials as system:anonymous",
        unset="what --authentication-config says, else true",
    )  # fmt: skip

    @property
    def audiences(self) -> tuple[str, ...]:
        """Audiences of this server's API."""
        return self.api_audiences or self.service_account_issuers
