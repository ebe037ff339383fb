"""Who is allowed may do everything; of others the server's own authorizers decide."""

import pytest

from benchmarks.permissive import EVERYBODY, Allowed
from kubetrio.machinery.identity import Attributes, Decision, UserInfo


def asks(user: str) -> Attributes:
    return Attributes(user=UserInfo(user), verb="delete", resource_request=True)


@pytest.mark.parametrize(
    ("users", "decision"),
    [
        (["mouse"], Decision.ALLOW),
        ([EVERYBODY], Decision.ALLOW),
        (["other"], Decision.NO_OPINION),
    ],
)
def test_allowed(users: list[str], decision: Decision):
    assert Allowed(users).authorize(asks("mouse")).decision is decision
