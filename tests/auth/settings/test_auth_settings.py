"""Settings that an AuthorizationConfiguration says."""

from __future__ import annotations

import pytest

from kubetrio.auth.settings.settings import Setting, WebhookSetting
from kubetrio.auth.settings.validation import configured

HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\n"


GOOD = (
    "timeout: 1s, subjectAccessReviewVersion: v1, failurePolicy: Deny, "
    "connectionInfo: {type: InClusterConfig}"
)


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_what_a_configuration_says(version: str) -> None:
    """With defaults, in each version."""
    head = HEAD.replace("/v1", f"/{version}")
    text = f"{head}authorizers: [{{type: RBAC, name: rbac}}, {{type: Webhook, name: w, webhook: {{{GOOD}}}}}]"  # noqa: E501
    webhook = WebhookSetting(
        authorized_s=300.0, unauthorized_s=30.0, timeout_s=1.0, version="v1", failure="Deny",
        kubeconfig=None,
    )  # fmt: skip
    assert configured(text.encode()) == (
        Setting(mode="RBAC", name="rbac"),
        Setting(mode="Webhook", name="w", webhook=webhook),
    )


def test_answers_may_be_forgotten_at_once() -> None:
    """Where they are not to be cached."""
    more = "cacheAuthorizedRequests: false, cacheUnauthorizedRequests: false"
    text = f"{HEAD}authorizers: [{{type: Webhook, name: w, webhook: {{{GOOD}, {more}}}}}]"
    [one] = configured(text.encode())
    assert one.webhook is not None
    assert (one.webhook.authorized_s, one.webhook.unauthorized_s) == (0.0, 0.0)
