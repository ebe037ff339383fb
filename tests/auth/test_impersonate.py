"""Acting as somebody else."""

from __future__ import annotations

import pytest

from kubetrio.auth.impersonate import impersonated, wanted_user
from kubetrio.machinery.identity import MASTERS, Attributes, UserInfo
from kubetrio.machinery.status import ApiError

ADMIN = UserInfo("admin", groups=(MASTERS,))
ALICE = UserInfo("alice", groups=("devs",))
ACCOUNT = "system:serviceaccount:default:sa"
NODE = "system:node:n1"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"


def asks(user: UserInfo) -> Attributes:
    return Attributes(user=user, verb="list", namespace="default", resource="configmaps")


@pytest.mark.parametrize(
    ("wanted", "groups"),
    [
        (UserInfo("bob"), [AUTHENTICATED]),
        (UserInfo("bob", groups=("a", "b")), ["a", "b", AUTHENTICATED]),
        (UserInfo("bob", groups=(AUTHENTICATED, "a")), [AUTHENTICATED, "a"]),
        (UserInfo("bob", groups=(UNAUTHENTICATED,)), [UNAUTHENTICATED]),
        (UserInfo("system:anonymous"), [UNAUTHENTICATED]),
        (UserInfo("system:anonymous", groups=(MASTERS,)), [MASTERS, UNAUTHENTICATED]),
        (UserInfo("system:anonymous", groups=(UNAUTHENTICATED,)), [UNAUTHENTICATED]),
        (
            UserInfo(ACCOUNT),
            ["system:serviceaccounts", "system:serviceaccounts:default", AUTHENTICATED],
        ),
        (
            UserInfo(ACCOUNT, "7"),
            ["system:serviceaccounts", "system:serviceaccounts:default", AUTHENTICATED],
        ),
        (UserInfo(ACCOUNT, groups=("a",)), ["a", AUTHENTICATED]),
        (UserInfo("system:serviceaccount:foo"), [AUTHENTICATED]),
        (UserInfo("system:serviceaccount:foo:bar:baz"), [AUTHENTICATED]),
        (UserInfo("system:serviceaccount:a.b:sa"), [AUTHENTICATED]),
        (UserInfo("system:serviceaccount:foo:"), [AUTHENTICATED]),
        (UserInfo("system:serviceaccount:foo:Bar"), [AUTHENTICATED]),
        (UserInfo(NODE), ["system:nodes", AUTHENTICATED]),
        (UserInfo(NODE, "7"), [AUTHENTICATED]),
        (UserInfo(NODE, groups=("a",)), ["a", AUTHENTICATED]),
        (UserInfo(NODE, extra={"a": ("b",)}), [AUTHENTICATED]),
        (UserInfo("system:node:"), [AUTHENTICATED]),
        (UserInfo("system:node:N"), [AUTHENTICATED]),
    ],
)
def test_who_an_administrator_becomes(wanted: UserInfo, groups: list[str]) -> None:
    """Groups that follow from the name, where none are given; and whether somebody is known."""
    user = impersonated(wanted, asks(ADMIN))
    assert list(user.groups) == groups
    assert (user.name, user.uid, user.extra) == (wanted.name, wanted.uid, wanted.extra)


CANNOT = 'is forbidden: User "alice" cannot'
IN_GROUP = 'in API group ""'


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (UserInfo("bob"), f"configmaps {CANNOT} impersonate-on:user-info:list"),
        (UserInfo("bob", "7"), f"configmaps {CANNOT} impersonate-on:user-info:list"),
        (UserInfo(ACCOUNT), f"configmaps {CANNOT} impersonate-on:serviceaccount:list"),
        (UserInfo(NODE), f"configmaps {CANNOT} impersonate-on:arbitrary-node:list"),
        (UserInfo("system:node:"), f"configmaps {CANNOT} impersonate-on:user-info:list"),
        (UserInfo(ACCOUNT, "7"), f'serviceaccounts "sa" {CANNOT} impersonate'),
        (UserInfo(NODE, groups=("a",)), f'users "{NODE}" {CANNOT} impersonate'),
    ],
)
def test_why_others_may_not(wanted: UserInfo, message: str) -> None:
    """The verb is that of the way in which somebody could be allowed to."""
    resource = message[0 : message.index(" ")]
    where = "at the cluster scope" if resource == "users" else 'in the namespace "default"'
    with pytest.raises(ApiError) as caught:
        impersonated(wanted, asks(ALICE))
    assert caught.value.code == 403
    assert caught.value.message == f'{message} resource "{resource}" {IN_GROUP} {where}'


def test_headers_say_who() -> None:
    """Groups and attributes may repeat; names of attributes are encoded."""
    user = wanted_user(
        [
            (b"accept", b"*/*"),
            (b"impersonate-user", b"bob"),
            (b"impersonate-uid", b"7"),
            (b"impersonate-group", b"a"),
            (b"impersonate-group", b"b"),
            (b"impersonate-extra-acme.com%2fproject", b"p"),
            (b"impersonate-extra-scopes", b"view"),
            (b"impersonate-extra-scopes", b"edit"),
        ]
    )
    extra = {"acme.com/project": ("p",), "scopes": ("view", "edit")}
    assert user is not None
    assert (user, user.extra) == (UserInfo("bob", "7", ("a", "b"), extra), extra)


@pytest.mark.parametrize(
    "headers", [[], [(b"impersonate-user", b"")], [(b"impersonate-uid", b"")], [(b"host", b"a")]]
)
def test_nobody_is_asked_for(headers: list[tuple[bytes, bytes]]) -> None:
    """Empty headers do not count."""
    assert wanted_user(headers) is None


NO_GROUPS = "Groups:[]string(nil)"
NO_EXTRA = "Extra:map[string][]string(nil)"


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ([(b"impersonate-uid", b"x")], f'UID:"x", {NO_GROUPS}, {NO_EXTRA}'),
        ([(b"impersonate-group", b"g")], f'UID:"", Groups:[]string{{"g"}}, {NO_EXTRA}'),
        (
            [(b"impersonate-extra-foo", b"x")],
            f'UID:"", {NO_GROUPS}, Extra:map[string][]string{{"foo":[]string{{"x"}}}}',
        ),
        (
            [
                (b"impersonate-extra-foo", b"x"),
                (b"impersonate-group", b"g"),
                (b"impersonate-group", b"h"),
                (b"impersonate-extra-bar", b"y"),
                (b"impersonate-extra-foo", b"z"),
            ],
            (
                'UID:"", Groups:[]string{"g", "h"}, '
                'Extra:map[string][]string{"bar":[]string{"y"}, "foo":[]string{"x", "z"}}'
            ),
        ),
    ],
)
def test_without_a_name_the_rest_means_nothing(
    headers: list[tuple[bytes, bytes]], said: str
) -> None:
    """And the answer shows what there was."""
    with pytest.raises(ApiError) as caught:
        wanted_user(headers)
    assert caught.value.code == 400
    assert caught.value.message == (
        f'requested &user.DefaultInfo{{Name:"", {said}}} without impersonating a user name'
    )
