"""Flags of authorization that do not go together, in kube-apiserver's words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubetrio.config import Authorization, ConfigError

FILE = Path("/x")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"modes": ("RBAC", "RBAC")},
         'authorization-mode ["RBAC" "RBAC"] has mode specified more than once'),
        ({"modes": ("Foo",)}, 'authorization-mode "Foo" is not a valid mode'),
        ({"modes": ("rbac",)}, 'authorization-mode "rbac" is not a valid mode'),
        ({"modes": ("ABAC", "Webhook")},
         ("[authorization-mode ABAC's authorization policy file not passed, "
         "authorization-mode Webhook's authorization config file not passed]")),
        ({"modes": ("RBAC",), "policy_file": FILE},
         "cannot specify --authorization-policy-file without mode ABAC"),
        ({"modes": ("RBAC",), "webhook_config_file": FILE},
         "cannot specify --authorization-webhook-config-file without mode Webhook"),
        ({"modes": ("RBAC",), "config_file": FILE},
         ("--authorization-config can not be specified when --authorization-mode or "
         "--authorization-webhook-* flags are defined")),
        ({"webhook_version": "v1", "config_file": FILE},
         ("--authorization-config can not be specified when --authorization-mode or "
         "--authorization-webhook-* flags are defined")),
        ({"webhook_authorized_ttl_s": 1.0, "config_file": FILE},
         ("--authorization-config can not be specified when --authorization-mode or "
         "--authorization-webhook-* flags are defined")),
    ],
)  # fmt: skip
def test_what_does_not_go_together(given: dict[str, Any], said: str) -> None:
    """The configuration cannot be made."""
    with pytest.raises(ConfigError) as caught:
        Authorization(**given)
    assert caught.value.why == said


def test_what_goes_together() -> None:
    """Each mode with what it needs, in any order."""
    Authorization(modes=("Webhook", "ABAC", "RBAC"), policy_file=FILE, webhook_config_file=FILE)
    Authorization(config_file=FILE)
    Authorization(modes=("AlwaysAllow",))
