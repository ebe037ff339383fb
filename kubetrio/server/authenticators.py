"""A configuration -> those who say who is who beside files and certificates of this server's own.

Issuers of tokens, a webhook, authenticating proxies, and who is served without credentials.

Source: k8s.io/kubernetes/pkg/kubeapiserver/options (authentication), for what goes together and for
messages.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kubetrio.auth.authenticate import HeaderAuthenticator
from kubetrio.auth.background import Background
from kubetrio.auth.jwtconfig import (
    Anonymous,
    AuthenticationConfig,
    ClaimRule,
    ClaimSource,
    Issuer,
    JwtAuthenticator,
    parse,
)
from kubetrio.auth.requestheaders import HeaderNames, RequestHeaders
from kubetrio.auth.signed import ALGORITHMS
from kubetrio.auth.strictconfig import StrictError
from kubetrio.auth.tokencache import CachedTokens
from kubetrio.auth.tokenwebhook import VERSIONS, WebhookTokens
from kubetrio.config import Authenticators, Config
from kubetrio.env import Env
from kubetrio.gotext.text import quote
from kubetrio.observe.logs import Log
from kubetrio.observe.metrics import Metrics
from kubetrio.outgoing.client import Outgoing
from kubetrio.outgoing.target import Target, TargetError, from_kubeconfig
from kubetrio.reloading import Reloader

if TYPE_CHECKING:
    from kubetrio.auth.jwtissuers import Issuers, JwtIssuers

log = Log("kubetrio.server")
ISSUED_S = 10.0
"""How long a user of an issuer's token is remembered; upstream's cache of tokens."""
ALWAYS_ALLOW = "AlwaysAllow"
TOO_OPEN = (
    "AnonymousAuth is not allowed with the AlwaysAllow authorizer. Resetting AnonymousAuth to "
    "false. You should use a different authorizer"
)
CHANGED = "anonymous: Forbidden: changed from initial configuration file"
BOTH = (
    "anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured "
    "in authentication configuration file"
)
_STANDARD = (
    ("requestheader_username_headers", "X-Remote-User"),
    ("requestheader_group_headers", "X-Remote-Group"),
    ("requestheader_extra_headers_prefix", "X-Remote-Extra-"),
)


class MethodError(ValueError):
    """The server cannot start with these; the text is one line for the terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationFiles:
    """What flags and files ask for.

    Args:
        said: the configuration of issuers, and who is served without credentials.
        data: the file that has it, empty without one.
        issuers: of ``said``, compiled; None where tokens of issuers are never asked about.
        anonymous: who is served without credentials.
        webhook: where the webhook is, None without one.
    """

    said: AuthenticationConfig
    data: bytes
    issuers: Issuers | None
    anonymous: Anonymous
    webhook: Target | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Methods:
    """Ways to know who asks.

    Args:
        caches: those who know tokens, in order; they remember answers.
        headers: those who believe headers.
        anonymous: who is served without credentials.
        tasks: what they do beside requests, by name.
    """

    caches: Sequence[CachedTokens]
    headers: Sequence[HeaderAuthenticator]
    anonymous: Anonymous
    tasks: Mapping[str, Callable[[], Awaitable[object]]]


def load_authentication(config: Config) -> AuthenticationFiles:
    """Read and check the files of authentication.  Blocking.

    Args:
        config: of the server.

    Raises:
        MethodError: a file or what it says cannot be used.
    """
    chosen = config.authenticators
    configuration, data = _configuration(chosen)
    anonymous = _anonymous(configuration, config.auth.anonymous_auth)
    if anonymous.enabled and ALWAYS_ALLOW in config.authorization.modes:
        log.warning(TOO_OPEN)
        anonymous = Anonymous(enabled=False)
    issuers = None
    if configuration.jwt or chosen.authentication_config is not None:
        from kubetrio.kinds.authentication.configuration import ConfigurationError, compiled

        try:
            issuers = compiled(configuration, config.auth.service_account_issuers)
        except ConfigurationError as error:
            raise MethodError(str(error)) from error
    return AuthenticationFiles(
        said=configuration,
        data=data,
        issuers=issuers,
        anonymous=anonymous,
        webhook=_webhook(chosen),
    )


def methods(
    config: Config,
    files: AuthenticationFiles,
    env: Env,
    outgoing: Outgoing,
    reloader: Reloader,
    metrics: Metrics,
    server_id: Callable[[], str],
) -> Methods:
    """The methods that a configuration asks for.

    Args:
        config: it.
        files: what it says.
        env: clocks, randomness and threads.
        outgoing: calls issuers and the webhook.
        reloader: reads files again.
        metrics: shows what is counted.
        server_id: what names the server in metrics.
    """
    chosen = config.authenticators
    caches: list[CachedTokens] = []
    tasks: dict[str, Callable[[], Awaitable[object]]] = {}
    background = Background()
    file, own = chosen.authentication_config, config.auth.service_account_issuers
    if files.issuers is not None:
        from kubetrio.auth.jwtissuers import JwtIssuers
        from kubetrio.kinds.authentication.configuration import compiled

        algorithms: Sequence[str] = chosen.oidc_signing_algs or ("RS256",)
        jwt = JwtIssuers(
            files.issuers, ALGORITHMS if file is not None else algorithms, outgoing, env,
            server_id(),
        )  # fmt: skip
        cached = CachedTokens(jwt, env, background, good_s=ISSUED_S, bad_s=0.0)
        jwt.subscribe(cached.forget)
        caches.append(cached)
        tasks["token issuers"] = jwt.run
        metrics.gathered.add(jwt.families)
        if file is not None:
            jwt.read_from(files.data, partial(compiled, own_issuers=own))
            load = partial(_read_again, file, jwt, files.said)
            reloader.watch("authentication-config", [file], load)
    if files.webhook is not None:
        version, life = chosen.token_webhook_version, chosen.token_webhook_cache_ttl_s
        webhook = WebhookTokens(files.webhook, version, config.auth.audiences, outgoing, env)
        caches.append(CachedTokens(webhook, env, background, good_s=life, bad_s=life))
    if caches:
        tasks["token lookups"] = background.run
    proxied = chosen.requestheader_client_ca_file is not None
    return Methods(
        caches=caches,
        headers=[_proxies(chosen)] if proxied else [],
        anonymous=files.anonymous,
        tasks=tasks,
    )


def _anonymous(said: AuthenticationConfig, flag: bool | None) -> Anonymous:
    if said.anonymous is None:
        return Anonymous(enabled=flag is not False)
    if flag is not None:
        raise MethodError(BOTH)
    return said.anonymous


def _configuration(chosen: Authenticators) -> tuple[AuthenticationConfig, bytes]:
    """What a file or flags say of issuers, and the content of the file."""
    file = chosen.authentication_config
    if file is None:
        return AuthenticationConfig(jwt=_flagged(chosen)), b""
    where = f"failed to load authentication configuration from file {quote(str(file))}"
    try:
        data = file.read_bytes()
        return parse(data), data
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise MethodError(f"{where}: open {file}: {why}") from error
    except StrictError as error:
        raise MethodError(f"{where}: {error}") from error


def _flagged(chosen: Authenticators) -> tuple[JwtAuthenticator, ...]:
    """The issuer that flags name."""
    url = chosen.oidc_issuer_url
    if not url:
        return ()
    claim, prefix = chosen.oidc_username_claim or "sub", chosen.oidc_username_prefix
    if not prefix and claim != "email":
        prefix = f"{url}#"
    authority = ""
    if chosen.oidc_ca_file is not None:
        try:
            authority = chosen.oidc_ca_file.read_text(errors="replace")
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise MethodError(f"open {chosen.oidc_ca_file}: {why}") from error
    groups = ClaimSource()
    if chosen.oidc_groups_claim:
        groups = ClaimSource(claim=chosen.oidc_groups_claim, prefix=chosen.oidc_groups_prefix)
    # Of one claim that is named twice the last counts, as in a Go map.
    required = {
        name.strip(): value.strip()
        for name, _, value in (one.partition("=") for one in chosen.oidc_required_claim)
    }
    return (
        JwtAuthenticator(
            issuer=Issuer(
                url=url, certificate_authority=authority, audiences=(chosen.oidc_client_id,)
            ),
            username=ClaimSource(claim=claim, prefix="" if prefix == "-" else prefix),
            groups=groups,
            claim_rules=tuple(
                ClaimRule(claim=name, required_value=value) for name, value in required.items()
            ),
        ),
    )


def _read_again(file: Path, jwt: JwtIssuers, first: AuthenticationConfig) -> None:
    """Have a changed file's issuers take over.

    Raises:
        ValueError: it is none, or changes what cannot be changed while the server runs.
        OSError: it cannot be read.
    """
    try:
        data = file.read_bytes()
        configuration = parse(data)
        if configuration.anonymous != first.anonymous:
            raise StrictError(CHANGED)
    except (OSError, StrictError):
        jwt.failed()
        raise
    jwt.exchange(configuration, data)


def _webhook(chosen: Authenticators) -> Target | None:
    """Where the webhook for tokens is."""
    file, version = chosen.token_webhook_config_file, chosen.token_webhook_version
    if file is None:
        return None
    try:
        target = from_kubeconfig(file)
    except TargetError as error:
        raise MethodError(f"--authentication-token-webhook-config-file: {error}") from error
    if version not in VERSIONS:
        raise MethodError(
            f"unsupported authentication webhook version {quote(version)}, supported versions are "
            f"{', '.join(map(quote, VERSIONS))}"
        )
    return target


def _proxies(chosen: Authenticators) -> RequestHeaders:
    for name, standard in _STANDARD:
        given = getattr(chosen, name)
        if given and standard.lower() not in map(str.lower, given):
            log.warning(
                "API aggregation will not work without the standard header",
                flag=f"--{name.replace('_', '-')}", header=standard,
            )  # fmt: skip
    return RequestHeaders(
        HeaderNames(
            allowed=chosen.requestheader_allowed_names,
            username=chosen.requestheader_username_headers,
            uid=chosen.requestheader_uid_headers,
            group=chosen.requestheader_group_headers,
            extra_prefix=chosen.requestheader_extra_headers_prefix,
        )
    )
