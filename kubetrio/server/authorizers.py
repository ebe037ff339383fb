"""The chain of authorizers that a configuration asks for.

A part of `assembly`, which it belongs beside: it knows all kinds of authorizers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kubetrio.auth.abac import Policies, PolicyError, read_policies
from kubetrio.auth.authorize import Authorizer
from kubetrio.auth.modes import ModeContext, make
from kubetrio.auth.rbac.authorizer import Rbac
from kubetrio.auth.settings.counts import Counts
from kubetrio.auth.settings.live import LiveChain, load_webhooks, reloading
from kubetrio.auth.settings.settings import ABAC, WEBHOOK, Setting, of_modes
from kubetrio.config.authorization import DEFAULT_MODES, MODES, Authorization
from kubetrio.env import Env
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.observe.logs import Log
from kubetrio.outgoing.client import Outgoing
from kubetrio.reloading import Reloader
from kubetrio.schema.registry import LiveRegistry

if TYPE_CHECKING:
    from kubetrio.auth.webhook.authorizer import Webhook

log = Log("kubetrio.auth")


@dataclass(frozen=True, slots=True)
class AuthorizationFiles:
    """What flags and files of authorization ask for.

    Args:
        settings: the authorizers in order.
        data: the configuration file, empty without one.
        webhooks: by name.
        policies: of mode ABAC, None without it.
    """

    settings: tuple[Setting, ...]
    data: bytes
    webhooks: Mapping[str, Webhook]
    policies: Policies | None


def load_authorization(chosen: Authorization) -> AuthorizationFiles:
    """Read and check the files of authorization.  Blocking.

    Args:
        chosen: flags.

    Raises:
        ValueError: flags or files cannot be used; the text is one line for the terminal.
    """
    from_file = chosen.config_file is not None
    flag = "--authorization-config" if from_file else "--authorization-webhook-config-file"
    with _about(flag):
        data = b"" if chosen.config_file is None else _read(chosen.config_file)
        settings = _settings(chosen, data)
    policies = None
    if any(setting.mode == ABAC for setting in settings):
        with _about("--authorization-policy-file"):
            policies = _policies(chosen.policy_file)
    with _about(flag, "invalid authorization config"):
        webhooks = load_webhooks(settings)
    return AuthorizationFiles(settings, data, webhooks, policies)


class Authorizers:
    """What decides on a server, and what has to be ready for it.

    Args:
        chosen: flags.
        files: what these and files ask for.
        first: asked before those that flags name.
        rbac: mode RBAC.
        informers: of the server.
        registry: what is served.
        outgoing: calls webhooks.
        reloader: watches the configuration file.
        env: clocks and randomness.
    """

    def __init__(
        self,
        chosen: Authorization,
        files: AuthorizationFiles,
        first: Sequence[Authorizer],
        *,
        rbac: Rbac,
        informers: SharedInformerFactory,
        registry: LiveRegistry,
        outgoing: Outgoing,
        reloader: Reloader,
        env: Env,
    ) -> None:
        modes = {setting.mode for setting in files.settings}
        context = ModeContext(
            informers=informers, registry=registry, rbac=rbac, policies=files.policies
        )
        self._made = {
            mode: make(mode, context)
            for mode, row in MODES.items()
            if row.make and (mode in modes or row.added_later)
        }
        authorizers = {mode: entry.authorizer for mode, entry in self._made.items()}
        self.chain = LiveChain(first, authorizers, outgoing, env, Counts(env.new_uid()))
        if WEBHOOK in modes:
            self.chain.counts.expect()
        self.chain.require(modes - {WEBHOOK})
        self.chain.use(files.settings, files.webhooks)
        if chosen.config_file is not None:
            self.chain.counts.in_force(files.data)
            load = reloading(self.chain, chosen.config_file, env.now)
            reloader.watch("authorization-config", [chosen.config_file], load)

    async def start(self) -> None:
        """Read what authorizers have to know.

        Raises:
            StoreError: it cannot be read.
        """
        for entry in self._made.values():
            if entry.start is not None:
                await entry.start()


@contextmanager
def _about(*words: str) -> Iterator[None]:
    """Put the flag before what is wrong with its file.

    Raises:
        ValueError: what the block raises, behind the words.
    """
    try:
        yield
    except ValueError as error:
        raise ValueError(": ".join((*words, str(error)))) from error


def _settings(chosen: Authorization, data: bytes) -> tuple[Setting, ...]:
    if chosen.config_file is not None:
        from kubetrio.auth.settings.validation import configured

        return configured(data)
    return of_modes(
        chosen.modes or DEFAULT_MODES,
        kubeconfig=chosen.webhook_config_file,
        version=chosen.webhook_version,
        authorized_s=chosen.webhook_authorized_ttl_s,
        unauthorized_s=chosen.webhook_unauthorized_ttl_s,
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"open {path}: {(error.strerror or str(error)).lower()}") from error


def _policies(path: Path | None) -> Policies:
    if path is None:
        raise ValueError("invalid authorization config: open : no such file or directory")
    try:
        policies, old = read_policies(_read(path), str(path))
    except (PolicyError, ValueError) as error:
        raise ValueError(f"invalid authorization config: {error}") from error
    if old:
        log.warning("policy file contained unversioned rules", file=str(path))
    return policies
