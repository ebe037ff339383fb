"""Flags of the tokens that the server itself gives out: of service accounts, and for bootstrap."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from kubetrio.config.flag import ConfigError, Section, error_of, flag, section
from kubetrio.config.kinds import BOOLEAN, FILE, FILES, HTTPS_URL, TOKEN_LIFE


def _keys_together(chosen: ServiceAccounts) -> ConfigError | None:
    """What is signed must be verified: by keys of one's own, or by the server's."""
    if bool(chosen.key_files) == (chosen.signing_key_file is not None):
        return None
    fields = ("key_files", "signing_key_file")
    return error_of(type(chosen), fields, "go together: give both or none")


@section
class ServiceAccounts(Section):
    """Tokens of service accounts, and bootstrap tokens; see the reference of flags."""

    TITLE: ClassVar[str] = "tokens of service accounts"
    RULES = (_keys_together,)

    key_files: tuple[Path, ...] = flag(
        "service-account-key-file", FILES, (),
        "PEM file with keys that verify tokens of service accounts, public ones, private ones or "
        "certificates; may be given several times, and a file may hold several",
        unset="sa.pub in --cert-dir",
    )  # fmt: skip
    signing_key_file: Path | None = flag(
        "service-account-signing-key-file", FILE, None,
        "PEM file of the private key that signs tokens of service accounts, RSA or ECDSA",
        unset="sa.key in --cert-dir",
    )  # fmt: skip
    lookup: bool = flag(
        "service-account-lookup", BOOLEAN, True,
        "refuse tokens in Secrets when the Secret or the account is gone",
    )  # fmt: skip
    max_expiration_s: float = flag(
        "service-account-max-token-expiration", TOKEN_LIFE, 0.0,
        "longest life of a token; who asks for more gets this, and a warning (0 for no bound)",
    )  # fmt: skip
    extend_expiration: bool = flag(
        "service-account-extend-token-expiration", BOOLEAN, True,
        "tokens that kubelets ask for live for a year, and their use after an hour is noted",
    )  # fmt: skip
    jwks_uri: str = flag(
        "service-account-jwks-uri", HTTPS_URL, "",
        "address of the key set in the discovery document",
        unset="/openid/v1/jwks of this server",
    )  # fmt: skip
    bootstrap_tokens: bool = flag(
        "enable-bootstrap-token-auth", BOOLEAN, False,
        "accept the tokens in Secrets of type bootstrap.kubernetes.io/token in kube-system",
    )  # fmt: skip
