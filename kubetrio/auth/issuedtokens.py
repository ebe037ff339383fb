"""Tokens that the server itself gives out, as a configuration asks for them: keys and methods.

Source: kube-apiserver's flags of service accounts and bootstrap tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from kubetrio.auth.authenticate import TokenAuthenticator
from kubetrio.auth.bootstraptokens import BootstrapTokens
from kubetrio.auth.boundobjects import bound_objects
from kubetrio.auth.issuing import EXTENSION_S, WARN_AFTER_S, TokenIssuer
from kubetrio.auth.keys import KeyFileError, KeySet
from kubetrio.auth.serviceaccounts import LabelUsed, ServiceAccountTokens
from kubetrio.config import Config
from kubetrio.config.kinds import duration_text
from kubetrio.env import Env
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.machinery.remember import CacheSize
from kubetrio.observe import prometheus
from kubetrio.observe.logs import Log
from kubetrio.schema.registry import LiveRegistry

log = Log("kubetrio.auth")


def service_account_keys(config: Config) -> KeySet:
    """What verifies tokens of service accounts; files that are named are read at once.

    Args:
        config: of the server.

    Raises:
        KeyFileError: one of these cannot be used; the text names the flag.
    """
    chosen = config.service_accounts
    if not chosen.key_files:
        return KeySet([config.pki_dir / "sa.pub"], own=True)
    keys = KeySet(chosen.key_files)
    _read("service-account-key-file", keys.load)
    return keys


def token_issuer(config: Config, named: TokenIssuer | None, own_key: Path) -> TokenIssuer:
    """What signs tokens of service accounts.

    Args:
        config: of the server.
        named: what `read_signing_key` has read.
        own_key: the server's own key, if no other is named.
    """
    chosen = config.service_accounts
    issuer = named
    if issuer is None:
        issuer = TokenIssuer(own_key, config.auth.service_account_issuers[0])
    if chosen.extend_expiration and chosen.max_expiration_s:
        _warn_of_short_lives(chosen.max_expiration_s)
    return issuer


def read_signing_key(config: Config) -> TokenIssuer | None:
    """What signs tokens with the key of a file that is named, None if none is.

    Raises:
        KeyFileError: the file cannot be used; the text names the flag.
    """
    path = config.service_accounts.signing_key_file
    if path is None:
        return None
    issuer = TokenIssuer(path, config.auth.service_account_issuers[0])
    _read("service-account-signing-key-file", issuer.load)
    return issuer


def _warn_of_short_lives(longest_s: float) -> None:
    begins, text = "service-account-extend-token-expiration is true", duration_text(longest_s)
    if longest_s < WARN_AFTER_S:
        told = (
            f"{begins}, in order to correctly trigger safe transition logic, "
            f"service-account-max-token-expiration must be set longer than {WARN_AFTER_S} seconds "
            f"(currently {text})"
        )
        log.warning(told)
    if longest_s < EXTENSION_S:
        told = (
            f"{begins}, enabling tokens valid up to {EXTENSION_S} seconds, which is longer than "
            f"service-account-max-token-expiration set to {text}"
        )
        log.warning(told)


def _read(flag: str, load: Callable[[], object]) -> None:
    try:
        load()
    except OSError as error:
        why = f"cannot read --{flag} {error.filename}: {error.strerror}"
        raise KeyFileError(why) from error
    except KeyFileError as error:
        raise KeyFileError(f"--{flag}: {error}") from error


class IssuedTokens:
    """The methods that know these tokens, in the order in which they are asked.

    Args:
        config: of the server.
        keys: what verifies tokens of service accounts.
        dispatcher: the commit stream.
        registry: what is served.
        env: the clock, and threads.
        label_used: labels Secrets with the day on which their tokens were used.

    Attributes:
        authenticators: the methods.
    """

    def __init__(
        self,
        config: Config,
        keys: KeySet,
        dispatcher: Dispatcher,
        registry: LiveRegistry,
        env: Env,
        label_used: LabelUsed,
    ) -> None:
        self._objects = bound_objects(dispatcher)
        audiences = config.auth.audiences
        self._accounts = ServiceAccountTokens(
            keys,
            config.auth.service_account_issuers,
            audiences,
            self._objects,
            registry,
            env,
            label_used=label_used,
            lookup=config.service_accounts.lookup,
        )
        self.authenticators: list[TokenAuthenticator] = [self._accounts]
        if config.service_accounts.bootstrap_tokens:
            self.authenticators.append(BootstrapTokens(self._objects, registry, env, audiences))

    def families(self) -> Iterable[prometheus.Metric]:
        """How often tokens were used."""
        return self._accounts.counts.families()

    def fills(self) -> Iterable[CacheSize]:
        """How full the caches are."""
        return (
            CacheSize("auth/serviceaccounts", *self._accounts.remembered()),
            CacheSize("auth/boundobjects", *self._objects.remembered()),
        )
