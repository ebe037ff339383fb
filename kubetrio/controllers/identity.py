"""Users as which the controllers of this server write: each as the service account it has upstream.

Admission, policies and webhooks see these names, and roles of these accounts are among the default
ones.  kube-controller-manager does the same with ``--use-service-account-credentials``.
"""

from __future__ import annotations

from kubetrio.machinery.identity import AUTHENTICATED, UserInfo
from kubetrio.resources.writes import WriteOptions

NAMESPACE = "kube-system"


def controller_user(account: str) -> UserInfo:
    """The user of a controller's service account in ``kube-system``."""
    return UserInfo(
        f"system:serviceaccount:{NAMESPACE}:{account}",
        groups=(
            "system:serviceaccounts",
            f"system:serviceaccounts:{NAMESPACE}",
            AUTHENTICATED,
        ),
    )


def as_service_account(
    account: str, field_manager: str = "kube-controller-manager"
) -> WriteOptions:
    """How a controller writes.

    Args:
        account: name of its service account.
        field_manager: owner of the fields it writes.
    """
    return WriteOptions(user=controller_user(account), field_manager=field_manager)
