"""Users as keys of what is remembered about them."""

from __future__ import annotations

from kubetrio.machinery.identity import UserInfo


def test_pods_of_one_account_are_not_one_key() -> None:
    """They differ in what is extra alone, and would all be found in one place of a table."""
    users = [UserInfo("a", "u", ("g",), {"pod": (str(index),)}) for index in range(100)]
    assert len({hash(user) for user in users}) == len(users)


def test_equal_users_are_one_key() -> None:
    """Whatever the order of what is extra."""
    one = UserInfo("a", extra={"x": ("1",), "y": ("2",)})
    other = UserInfo("a", extra={"y": ("2",), "x": ("1",)})
    assert one == other
    assert hash(one) == hash(other)
