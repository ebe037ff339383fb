"""The chain of a server: made of settings, and made anew when the configuration file changes.

What follows the commit stream or is read from another file is made once, at the start, and stays:
a changed configuration may leave webhooks out and add them, but not other modes.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kubetrio.auth.authorize import NO_OPINION, Authorizer, Chain, RuleLister, Rules
from kubetrio.auth.settings.counts import Counts
from kubetrio.auth.settings.settings import Setting, WebhookSetting
from kubetrio.env import Env
from kubetrio.machinery.identity import Attributes, Decision, UserInfo, Verdict
from kubetrio.outgoing.client import Outgoing
from kubetrio.outgoing.target import Target, TargetError, from_kubeconfig

if TYPE_CHECKING:
    from kubetrio.auth.webhook.authorizer import Webhook

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod has the credentials of its service account."""

Made = Mapping[str, Authorizer]


class Counted:
    """An authorizer whose decisions are counted.

    Args:
        setting: what it is.
        authorizer: decides.
        counts: counts.
    """

    def __init__(self, setting: Setting, authorizer: Authorizer, counts: Counts) -> None:
        self._allowed, self._denied = (
            (setting.mode, setting.name, word) for word in ("allowed", "denied")
        )
        self._authorizer = authorizer
        self._decide = authorizer.authorize
        self._decisions = counts.decisions

    def authorize(self, attributes: Attributes) -> Verdict | Awaitable[Verdict]:
        """What it decides."""
        verdict = self._decide(attributes)
        if verdict is NO_OPINION:
            return verdict
        if not isinstance(verdict, Verdict):
            return self._later(verdict)
        if verdict.decision is not Decision.NO_OPINION:
            self._count(verdict)
        return verdict

    async def _later(self, asked: Awaitable[Verdict]) -> Verdict:
        verdict = await asked
        if verdict.decision is not Decision.NO_OPINION:
            self._count(verdict)
        return verdict

    def _count(self, verdict: Verdict) -> None:
        allowed = verdict.decision is Decision.ALLOW
        self._decisions[self._allowed if allowed else self._denied] += 1

    def rules_for(self, user: UserInfo, namespace: str) -> Rules | Awaitable[Rules]:
        """Return what it lets a user do, where it can list that."""
        if isinstance(self._authorizer, RuleLister):
            return self._authorizer.rules_for(user, namespace)
        return Rules()


class LiveChain(Chain):
    """The authorizers of a server.

    Args:
        first: asked before those of settings.
        made: authorizers by mode that stay as long as the server, webhooks excepted.
        outgoing: calls webhooks.
        env: clocks and randomness.
        counts: counts.
    """

    def __init__(
        self,
        first: Sequence[Authorizer],
        made: Made,
        outgoing: Outgoing,
        env: Env,
        counts: Counts,
    ) -> None:
        super().__init__(first)
        self._first = tuple(first)
        self._made = made
        self._outgoing = outgoing
        self._env = env
        self.counts = counts
        self.settings: tuple[Setting, ...] = ()

        self.required: frozenset[str] = frozenset()

    def require(self, modes: Iterable[str]) -> None:
        """Note the modes other than webhooks that a changed configuration has to have.

        Args:
            modes: that there were at the start.
        """
        self.required = frozenset(modes)

    def use(self, settings: Sequence[Setting], webhooks: Mapping[str, Webhook]) -> None:
        """Have other settings in force, with the next question.

        Args:
            settings: in order.
            webhooks: what `load_webhooks` has read of those that they name.

        Raises:
            ValueError: a mode is not there.
        """
        chosen = tuple(settings)
        counted = [Counted(one, self._authorizer(one, webhooks), self.counts) for one in chosen]
        self.authorizers = (*self._first, *counted)
        self.settings = chosen

    def _authorizer(self, setting: Setting, webhooks: Mapping[str, Webhook]) -> Authorizer:
        if setting.webhook is not None:
            from kubetrio.auth.webhook.authorizer import WebhookAuthorizer

            webhook = webhooks[setting.name]
            return WebhookAuthorizer(webhook, self._outgoing, self._env, self.counts)
        authorizer = self._made.get(setting.mode)
        if authorizer is None:
            raise ValueError(
                f"authorizer type {setting.mode} is not allowed if it was not enabled at initial "
                "server startup"
            )
        return authorizer


def load_webhooks(settings: Iterable[Setting]) -> dict[str, Webhook]:
    """Read where the webhooks of settings are, and check what they are asked.  Blocking.

    Args:
        settings: of a chain.

    Raises:
        TargetError: a file does not say where a webhook is.
        ValueError: a version of reviews is not there, or a condition makes no sense.
    """
    return {one.name: _webhook(one.name, one.webhook) for one in settings if one.webhook}


def _webhook(name: str, setting: WebhookSetting) -> Webhook:
    from kubetrio.auth.webhook.authorizer import Webhook
    from kubetrio.auth.webhook.review import VERSIONS

    if setting.version not in VERSIONS:
        raise ValueError(
            f'unsupported webhook authorizer version "{setting.version}", supported versions '
            'are "v1", "v1beta1"'
        )
    conditions = None
    if setting.conditions:
        from kubetrio.auth.webhook.conditions import Conditions, compiled

        conditions = Conditions([compiled(text) for text in setting.conditions])
    return Webhook(
        name=name,
        target=in_cluster() if setting.kubeconfig is None else _target(setting.kubeconfig),
        version=setting.version,
        timeout_s=setting.timeout_s,
        authorized_s=setting.authorized_s,
        unauthorized_s=setting.unauthorized_s,
        on_error=Decision.DENY if setting.failure == "Deny" else Decision.NO_OPINION,
        conditions=conditions,
    )


def _target(path: Path) -> Target:
    """Where a kubeconfig leads.

    Raises:
        TargetError: nowhere.
    """
    if not path.exists():
        raise TargetError(f"stat {path}: no such file or directory")
    return from_kubeconfig(path)


def in_cluster() -> Target:
    """The API server of the cluster in which this server is a pod.

    Raises:
        TargetError: it is none.
    """
    host = os.environ.get("KUBERNETES_SERVICE_HOST")
    port = os.environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise TargetError(
            "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and "
            "KUBERNETES_SERVICE_PORT must be defined"
        )
    try:
        authority = (ACCOUNT / "ca.crt").read_bytes()
    except OSError as error:
        raise TargetError(f"open {error.filename}: {(error.strerror or '').lower()}") from error
    shown = f"[{host}]" if ":" in host else host
    url = f"https://{shown}:{port}/apis/{_REVIEWS}"
    return Target(url=url, ca=authority, token_file=ACCOUNT / "token")


_REVIEWS = "authorization.k8s.io/v1/subjectaccessreviews"


def reloading(chain: LiveChain, path: Path, now: Callable[[], float]) -> Callable[[], None]:
    """What takes over a changed configuration file.

    Args:
        chain: of the server.
        path: of the file.
        now: seconds since the epoch.
    """

    def load() -> None:
        from kubetrio.auth.settings.validation import configured

        try:
            data = path.read_bytes()
            settings = configured(data, chain.required)
            if settings != chain.settings:
                chain.use(settings, load_webhooks(settings))
        except (ValueError, OSError):
            chain.counts.reloaded("failure", now())
            raise
        chain.counts.reloaded("success", now())
        chain.counts.in_force(data)

    return load
