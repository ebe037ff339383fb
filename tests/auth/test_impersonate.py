"""Acting as somebody else."""

from __future__ import annotations

from collections.abc import Awaitable

import pytest
import trio

from kubetrio.auth.authorize import ALLOWED, NO_OPINION, Masters
from kubetrio.auth.impersonate import REMEMBERED, Impersonated, Impersonation, wanted_user
from kubetrio.machinery.identity import MASTERS, Attributes, Decision, UserInfo, Verdict
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
async def test_who_an_administrator_becomes(wanted: UserInfo, groups: list[str]) -> None:
    """Groups that follow from the name, where none are given; and whether somebody is known."""
    user = (await Impersonation(Masters().authorize).impersonated(wanted, asks(ADMIN))).user
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
async def test_why_others_may_not(wanted: UserInfo, message: str) -> None:
    """The verb is that of the way in which somebody could be allowed to."""
    resource = message[0 : message.index(" ")]
    where = "at the cluster scope" if resource == "users" else 'in the namespace "default"'
    with pytest.raises(ApiError) as caught:
        await Impersonation(Masters().authorize).impersonated(wanted, asks(ALICE))
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


def test_the_first_header_counts() -> None:
    """A second name does not replace an empty one: whoever filters headers looks at the first."""
    assert wanted_user([(b"impersonate-user", b""), (b"impersonate-user", b"bob")]) is None


@pytest.mark.parametrize(
    ("header", "key"),
    [
        (b"impersonate-extra-a%2fb", "a/b"),
        (b"impersonate-extra-a%2gb%2f", "a%2gb%2f"),
        (b"impersonate-extra-a%", "a%"),
        (b"impersonate-extra-a+b", "a+b"),
        (b"impersonate-extra-", ""),
    ],
)
def test_keys_are_decoded_whole_or_not_at_all(header: bytes, key: str) -> None:
    """As Go decodes a path."""
    user = wanted_user([(b"impersonate-user", b"bob"), (header, b"v")])
    assert user is not None
    assert user.extra == {key: ("v",)}


def test_names_are_utf8() -> None:
    """And what is not becomes a replacement character, so that it can be shown."""
    user = wanted_user([(b"impersonate-user", "jörg".encode()), (b"impersonate-group", b"\xff")])
    assert user == UserInfo("jörg", groups=("\ufffd",))


AUTHN = "authentication.k8s.io"


class Grants:
    """Allows what is listed, at once or later, and notes what it was asked.

    Args:
        allowed: verb, group, resource with subresource, and name.
        later: whether answers have to be waited for.
    """

    def __init__(self, *allowed: tuple[str, str, str, str], later: bool = False) -> None:
        self._allowed = frozenset(allowed)
        self._later = later
        self.asked: list[Attributes] = []

    def authorize(self, attributes: Attributes) -> Verdict | Awaitable[Verdict]:
        self.asked.append(attributes)
        resource = "/".join(filter(None, (attributes.resource, attributes.subresource)))
        key = (attributes.verb, attributes.api_group, resource, attributes.name)
        verdict = ALLOWED if key in self._allowed else NO_OPINION
        return self._wait(verdict) if self._later else verdict

    @staticmethod
    async def _wait(verdict: Verdict) -> Verdict:
        await trio.lowlevel.checkpoint()
        return verdict


ON = ("impersonate-on:user-info:list", "", "configmaps", "")
INFO = "impersonate:user-info"


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize(
    ("sender", "wanted", "needed", "groups", "constraint"),
    [
        (
            ALICE,
            UserInfo("bob", "7", ("g",), {"a.b/c": ("v",)}),
            [
                ON,
                (INFO, AUTHN, "users", "bob"),
                (INFO, AUTHN, "uids", "7"),
                (INFO, AUTHN, "groups", "g"),
                (INFO, AUTHN, "userextras/a.b/c", "v"),
            ],
            ("g", AUTHENTICATED),
            INFO,
        ),
        (
            ALICE,
            UserInfo("bob", groups=("a", "b", "c", "d")),
            [ON, (INFO, AUTHN, "users", "bob"), (INFO, AUTHN, "groups", "*")],
            ("a", "b", "c", "d", AUTHENTICATED),
            INFO,
        ),
        (
            ALICE,
            UserInfo("bob", extra={"a.b/c": ("1", "2", "3", "4")}),
            [ON, (INFO, AUTHN, "users", "bob"), (INFO, AUTHN, "userextras/*", "*")],
            (AUTHENTICATED,),
            INFO,
        ),
        (
            ALICE,
            UserInfo(ACCOUNT),
            [
                ("impersonate-on:serviceaccount:list", "", "configmaps", ""),
                ("impersonate:serviceaccount", AUTHN, "serviceaccounts", "sa"),
            ],
            ("system:serviceaccounts", "system:serviceaccounts:default", AUTHENTICATED),
            "impersonate:serviceaccount",
        ),
        (
            ALICE,
            UserInfo(NODE),
            [
                ("impersonate-on:arbitrary-node:list", "", "configmaps", ""),
                ("impersonate:arbitrary-node", AUTHN, "nodes", "n1"),
            ],
            ("system:nodes", AUTHENTICATED),
            "impersonate:arbitrary-node",
        ),
        (
            UserInfo(ACCOUNT, extra={"authentication.kubernetes.io/node-name": ("n1",)}),
            UserInfo(NODE),
            [
                ("impersonate-on:associated-node:list", "", "configmaps", ""),
                ("impersonate:associated-node", AUTHN, "nodes", "*"),
            ],
            ("system:nodes", AUTHENTICATED),
            "impersonate:associated-node",
        ),
        (
            ALICE,
            UserInfo("bob", "7", ("g", MASTERS), {"any": ("v", "")}),
            [
                ("impersonate", "", "users", "bob"),
                ("impersonate", AUTHN, "uids", "7"),
                ("impersonate", "", "groups", "g"),
                ("impersonate", "", "groups", MASTERS),
                ("impersonate", AUTHN, "userextras/any", "v"),
                ("impersonate", AUTHN, "userextras/any", ""),
            ],
            ("g", MASTERS, AUTHENTICATED),
            "",
        ),
        (
            ALICE,
            UserInfo(NODE),
            [("impersonate", "", "users", NODE)],
            (AUTHENTICATED,),
            "",
        ),
    ],
)
async def test_all_of_it_has_to_be_allowed(
    sender: UserInfo,
    wanted: UserInfo,
    needed: list[tuple[str, str, str, str]],
    groups: tuple[str, ...],
    constraint: str,
    *,
    later: bool,
) -> None:
    """With these rights one becomes somebody else, and without any one of them nobody."""
    may = Grants(*needed, later=later)
    found = await Impersonation(may.authorize).impersonated(wanted, asks(sender))
    assert found.constraint == constraint
    assert (found.user.name, found.user.groups) == (wanted.name, groups)
    for missing in needed:
        left = [one for one in needed if one != missing]
        with pytest.raises(ApiError) as caught:
            await Impersonation(Grants(*left, later=later).authorize).impersonated(
                wanted, asks(sender)
            )
        assert caught.value.code == 403


async def test_a_token_of_another_node_gives_no_node() -> None:
    """The way of the own node is not tried at all."""
    sender = UserInfo(ACCOUNT, extra={"authentication.kubernetes.io/node-name": ("n2",)})
    grants = Grants(
        ("impersonate-on:associated-node:list", "", "configmaps", ""),
        ("impersonate:associated-node", AUTHN, "nodes", "*"),
    )
    with pytest.raises(ApiError):
        await Impersonation(grants.authorize).impersonated(UserInfo(NODE), asks(sender))
    assert not [one for one in grants.asked if "associated" in one.verb]


async def test_questions_about_the_own_node_name_no_node() -> None:
    """Extra values of the sender are left out, their keys are told."""
    key = "authentication.kubernetes.io/node-name"
    grants = Grants()
    sender = UserInfo(ACCOUNT, extra={key: ("n1",), "z": ("1",)})
    with pytest.raises(ApiError):
        await Impersonation(grants.authorize).impersonated(UserInfo(NODE), asks(sender))
    assert grants.asked[0].user.extra == {
        "authentication.kubernetes.io/associated-node-keys": (key, "z")
    }


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (
            UserInfo("bob", groups=("a", "")),
            "impersonating the empty string group is not allowed",
        ),
        (
            UserInfo("bob", groups=(MASTERS,)),
            "impersonating the system:masters group is not allowed",
        ),
        (
            UserInfo("bob", extra={"": ("v",)}),
            "impersonating the empty string key in extra is not allowed",
        ),
        (
            UserInfo("bob", extra={"plain": ("v",)}),
            (
                "impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "
                '"plain": must be a domain-prefixed path (such as "acme.io/foo")'
            ),
        ),
        (
            UserInfo("bob", extra={"a.b/C": ("v",)}),
            'impersonating a non-lowercase key in extra is not allowed: "a.b/C"',
        ),
        (
            UserInfo("bob", extra={"a.b/c": ("",)}),
            "impersonating the empty string value in extra is not allowed",
        ),
    ],
)
async def test_constrained_rights_have_bounds(wanted: UserInfo, said: str) -> None:
    """However much is allowed."""

    class Everything:
        def authorize(self, attributes: Attributes) -> Verdict:
            return NO_OPINION if attributes.verb == "impersonate" else ALLOWED

    with pytest.raises(ApiError) as caught:
        await Impersonation(Everything().authorize).impersonated(wanted, asks(ALICE))
    assert caught.value.message.endswith(f": {said}")


async def test_the_mode_of_last_time_is_tried_first() -> None:
    """And its refusal is the one that is told."""
    grants = Grants(("impersonate", "", "users", "bob"))
    impersonation = Impersonation(grants.authorize)
    for _ in range(2):
        grants.asked.clear()
        await impersonation.impersonated(UserInfo("bob"), asks(ALICE))
    assert [one.verb for one in grants.asked] == ["impersonate"]
    with pytest.raises(ApiError, match='cannot impersonate resource "users"'):
        await impersonation.impersonated(UserInfo("eve"), asks(ALICE))


async def test_memory_of_modes_is_bounded() -> None:
    """However many users there are."""
    impersonation = Impersonation(Masters().authorize)
    for number in range(REMEMBERED + 5):
        sender = UserInfo(f"u{number}", groups=(MASTERS,))
        found = await impersonation.impersonated(UserInfo("bob"), asks(sender))
        assert isinstance(found, Impersonated)
    assert impersonation.remembered == REMEMBERED


async def test_reasons_and_errors_of_authorizers_are_told() -> None:
    """The error first."""

    class Broken:
        def authorize(self, _: Attributes) -> Verdict:
            return Verdict(Decision.NO_OPINION, "why", "boom")

    with pytest.raises(ApiError, match="at the cluster scope: boom: why"):
        await Impersonation(Broken().authorize).impersonated(
            UserInfo("bob"), Attributes(user=ALICE, verb="list", resource="nodes")
        )


@pytest.mark.parametrize("name", [b"impersonate-uid", b"impersonate-group", b"impersonate-extra-a"])
def test_of_a_stranger_who_names_nobody_little_is_told_back(name: bytes) -> None:
    with pytest.raises(ApiError) as refused:
        wanted_user([(name, b'"' * 120_000)])
    assert len(refused.value.message) < 10_000
