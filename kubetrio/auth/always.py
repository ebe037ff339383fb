"""Authorizers that say the same to everybody.

Source: docs "Authorization Overview" (modes AlwaysAllow and AlwaysDeny).
"""

from __future__ import annotations

from kubetrio.auth.authorize import ALLOWED, Rules
from kubetrio.machinery.identity import Attributes, Decision, UserInfo, Verdict

_FORBIDDEN = Verdict(Decision.NO_OPINION, "Everything is forbidden.")
ALL_RESOURCES = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
ALL_PATHS = {"verbs": ["*"], "nonResourceURLs": ["*"]}


class AlwaysAllow:
    """Allows everything."""

    def authorize(self, attributes: Attributes) -> Verdict:
        """Yes."""
        del attributes
        return ALLOWED

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """Everything."""
        del user, namespace
        return Rules((ALL_RESOURCES,), (ALL_PATHS,))


class AlwaysDeny:
    """Allows nothing, and leaves it to those behind it to allow something all the same."""

    def authorize(self, attributes: Attributes) -> Verdict:
        """No."""
        del attributes
        return _FORBIDDEN

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """Nothing."""
        del user, namespace
        return Rules()
