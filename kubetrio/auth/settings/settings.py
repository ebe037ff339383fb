"""The authorizers of a server in order, and how webhooks are asked, as values.

Source: docs "Authorization" (AuthorizationConfiguration).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

WEBHOOK, ABAC = "Webhook", "ABAC"
WEBHOOK_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSetting:
    """How a webhook is asked.

    Args:
        authorized_s: seconds for which a yes is remembered, 0 for never.
        unauthorized_s: the same of anything else.
        timeout_s: seconds for one try.
        version: of the reviews it is sent.
        failure: ``NoOpinion`` or ``Deny``: what counts when it cannot be asked.
        kubeconfig: says where it is; None for the API server of the cluster this one runs in.
        conditions: expressions that say which questions it is asked.
    """

    authorized_s: float
    unauthorized_s: float
    timeout_s: float
    version: str
    failure: str
    kubeconfig: Path | None
    conditions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One authorizer.

    Args:
        mode: what it is.
        name: its name in metrics.
        webhook: how it is asked, for a webhook.
    """

    mode: str
    name: str
    webhook: WebhookSetting | None = None


def of_modes(
    modes: tuple[str, ...],
    *,
    kubeconfig: Path | None,
    version: str,
    authorized_s: float,
    unauthorized_s: float,
) -> tuple[Setting, ...]:
    """The authorizers that flags name.

    Args:
        modes: in order.
        kubeconfig: of the webhook.
        version: of its reviews.
        authorized_s: seconds for which a yes is remembered.
        unauthorized_s: seconds for which anything else is.
    """
    webhook = WebhookSetting(
        authorized_s=authorized_s,
        unauthorized_s=unauthorized_s,
        timeout_s=WEBHOOK_TIMEOUT_S,
        version=version,
        failure="NoOpinion",
        kubeconfig=kubeconfig,
    )
    return tuple(
        Setting(mode=mode, name="default", webhook=webhook)
        if mode == WEBHOOK
        else Setting(mode=mode, name=mode.lower())
        for mode in modes
    )
