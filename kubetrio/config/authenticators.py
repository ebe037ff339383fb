"""Flags of those who say who is who: issuers of tokens, a webhook, authenticating proxies."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from kubetrio.config.flag import ConfigError, Rule, Section, error_of, flag, section
from kubetrio.config.kinds import DURATION, FILE, TEXT, TEXT_LIST, Kind

ALGORITHMS = (
    "RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512",
)  # fmt: skip
STANDARD_UID = "x-remote-uid"


def _are_pairs(value: object) -> str:
    pairs = isinstance(value, tuple) and all(
        isinstance(one, str) and one.partition("=")[1] for one in value
    )
    return "" if pairs else "has a malformed pair, expect string=string"


def _algorithm(value: object) -> str:
    wrong = [one for one in value if one not in ALGORITHMS] if isinstance(value, tuple) else [value]
    return f"is no list of these: {', '.join(ALGORITHMS)}" if wrong else ""


PAIRS = Kind(placeholder="KEY=VALUE", parse=str, check=_are_pairs, show=",".join, repeated=True)
ALGORITHM_LIST = TEXT_LIST._replace(check=_algorithm)


def _together(chosen: Authenticators) -> ConfigError | None:
    """An issuer and a client go together; a file goes with neither."""
    given = [name for name in OIDC if getattr(chosen, name)]
    if chosen.authentication_config is not None:
        if given:
            why = "authentication-config file and oidc-* flags are mutually exclusive"
            return error_of(Authenticators, ("authentication_config", given[0]), why)
        return None
    if given and not (chosen.oidc_issuer_url and chosen.oidc_client_id):
        why = (
            "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags "
            "are set"
        )
        return error_of(Authenticators, ("oidc_issuer_url", "oidc_client_id"), why)
    return None


def _no_empty_headers(chosen: Authenticators) -> ConfigError | None:
    for name in HEADERS:
        if any(not one.strip() for one in getattr(chosen, name)):
            shown = name.replace("_", "-")
            return error_of(Authenticators, (name,), f'empty value in "{shown}"')
    uids = chosen.requestheader_uid_headers
    if uids and STANDARD_UID not in map(str.lower, uids):
        why = (
            "is set without specifying the standard X-Remote-Uid header - API aggregation will "
            "not work"
        )
        return error_of(Authenticators, ("requestheader_uid_headers",), why)
    return None


OIDC = (
    "oidc_issuer_url", "oidc_client_id", "oidc_ca_file", "oidc_username_claim",
    "oidc_username_prefix", "oidc_groups_claim", "oidc_groups_prefix", "oidc_signing_algs",
    "oidc_required_claim",
)  # fmt: skip
HEADERS = (
    "requestheader_username_headers", "requestheader_group_headers",
    "requestheader_extra_headers_prefix", "requestheader_allowed_names",
    "requestheader_uid_headers",
)  # fmt: skip


@section
class Authenticators(Section):
    """Who else says who is who; see the reference of flags."""

    TITLE: ClassVar[str] = "authentication"
    RULES: ClassVar[tuple[Rule, ...]] = (_together, _no_empty_headers)

    authentication_config: Path | None = flag(
        "authentication-config", FILE, None,
        "AuthenticationConfiguration: issuers of tokens, and who is served without credentials; "
        "not with --oidc-* flags",
        more="It is read again when it changes. "
        "[How to](../how-to/authentication.md) has an example.",
    )  # fmt: skip
    oidc_issuer_url: str = flag(
        "oidc-issuer-url", TEXT, "",
        "issuer of OpenID Connect tokens, an https URL; with --oidc-client-id",
    )  # fmt: skip
    oidc_client_id: str = flag(
        "oidc-client-id", TEXT, "", "audience that tokens of the issuer have to be for"
    )
    oidc_ca_file: Path | None = flag(
        "oidc-ca-file", FILE, None, "authorities of the issuer's certificate",
        unset="those of the system",
    )  # fmt: skip
    oidc_username_claim: str = flag(
        "oidc-username-claim", TEXT, "", "claim with the name of the user", unset="sub"
    )
    oidc_username_prefix: str = flag(
        "oidc-username-prefix", TEXT, "", "what is put before that name, - for nothing",
        unset="the issuer and #, but nothing for the claim email",
    )  # fmt: skip
    oidc_groups_claim: str = flag(
        "oidc-groups-claim", TEXT, "", "claim with the groups of the user, a text or texts"
    )
    oidc_groups_prefix: str = flag(
        "oidc-groups-prefix", TEXT, "", "what is put before the names of groups"
    )
    oidc_signing_algs: tuple[str, ...] = flag(
        "oidc-signing-algs", ALGORITHM_LIST, (),
        "algorithms with which tokens may be signed, with commas between them", unset="RS256",
    )  # fmt: skip
    oidc_required_claim: tuple[str, ...] = flag(
        "oidc-required-claim", PAIRS, (),
        "claim that has to have a value; repeatable",
    )  # fmt: skip
    token_webhook_config_file: Path | None = flag(
        "authentication-token-webhook-config-file", FILE, None,
        "kubeconfig of a webhook that is asked about bearer tokens",
    )  # fmt: skip
    token_webhook_version: str = flag(
        "authentication-token-webhook-version", TEXT, "v1beta1",
        "version of TokenReview that it is sent, v1 or v1beta1",
    )  # fmt: skip
    token_webhook_cache_ttl_s: float = flag(
        "authentication-token-webhook-cache-ttl", DURATION, 120.0,
        "how long its answers are remembered; 0s asks each time",
    )  # fmt: skip
    requestheader_client_ca_file: Path | None = flag(
        "requestheader-client-ca-file", FILE, None,
        "authorities of authenticating proxies, whose headers say who the user is",
    )  # fmt: skip
    requestheader_allowed_names: tuple[str, ...] = flag(
        "requestheader-allowed-names", TEXT_LIST, (), "common names of these proxies",
        unset="any",
    )  # fmt: skip
    requestheader_username_headers: tuple[str, ...] = flag(
        "requestheader-username-headers", TEXT_LIST, (),
        "headers with the name of the user, such as X-Remote-User; the first with a value counts",
    )  # fmt: skip
    requestheader_uid_headers: tuple[str, ...] = flag(
        "requestheader-uid-headers", TEXT_LIST, (), "headers with the uid, such as X-Remote-Uid"
    )
    requestheader_group_headers: tuple[str, ...] = flag(
        "requestheader-group-headers", TEXT_LIST, (), "headers with groups, such as X-Remote-Group"
    )
    requestheader_extra_headers_prefix: tuple[str, ...] = flag(
        "requestheader-extra-headers-prefix", TEXT_LIST, (),
        "beginnings of the names of headers with further attributes, such as X-Remote-Extra-",
    )  # fmt: skip
