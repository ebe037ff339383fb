"""Headers of authenticating proxies: who may send them, and what they say."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from kubetrio.api.request import Request
from kubetrio.auth.authenticate import Authenticator, BadCredentials
from kubetrio.auth.requestheaders import HeaderNames, RequestHeaders
from kubetrio.machinery.identity import ANONYMOUS, AUTHENTICATED, UNUSABLE, UserInfo
from kubetrio.machinery.status import ApiError

NAMES = HeaderNames(
    allowed=("front",),
    username=("X-Remote-User", "X-Other-User"),
    uid=("X-Remote-Uid",),
    group=("X-Remote-Group", "X-Other-Group"),
    extra_prefix=("X-Remote-Extra-", "X-Other-Extra-"),
)
JANE = [(b"x-remote-user", b"jane")]


@dataclass
class Certificate:
    """What a client showed."""

    common_name: str = "front"
    good: bool = field(default=True)

    def proxy(self) -> bool:
        return self.good


def request_of(
    headers: list[tuple[bytes, bytes]],
    shown: Certificate | None,
    certificate: UserInfo | None = None,
) -> Request:
    request = Request("GET", "/", "", {}, [], certificate=certificate)
    request.take_headers(headers)
    request.shown = shown
    return request


def user_of(headers: list[tuple[bytes, bytes]], names: HeaderNames = NAMES) -> UserInfo | None:
    return RequestHeaders(names).authenticate_request(request_of(headers, Certificate()))


def test_a_proxy_names_user_uid_groups_and_extra() -> None:
    """All values of all group headers, in the order of the headers that were chosen."""
    user = user_of(
        [
            (b"x-other-group", b"c"), (b"x-remote-group", b"a, still a"), (b"x-remote-group", b""),
            (b"x-remote-user", b"jane"), (b"x-remote-group", b"b"), (b"x-remote-uid", b"7"),
            (b"x-remote-extra-scopes", b"one"), (b"x-other-extra-scopes", b"three"),
            (b"x-remote-extra-scopes", b"two"), (b"x-remote-extra-acme.io%2fp", b"q"),
        ]
    )  # fmt: skip
    assert user is not None
    assert (user.name, user.uid, user.groups) == ("jane", "7", ("a, still a", "b", "c"))
    assert user.extra == {"scopes": ("one", "two", "three"), "acme.io/p": ("q",)}


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ([(b"x-remote-user", b"a"), (b"x-remote-user", b"b")], "a"),
        ([(b"x-other-user", b"b"), (b"x-remote-user", b"a")], "a"),
        ([(b"x-remote-user", b""), (b"x-other-user", b"b")], "b"),
        ([(b"x-remote-user", b""), (b"x-remote-user", b"a"), (b"x-other-user", b"b")], "b"),
        ([(b"x-remote-user", b"system:masters, x")], "system:masters, x"),
        ([(b"x_remote_user", b"a")], None),
        ([(b"x-remote-users", b"a")], None),
        ([(b"x-remote-group", b"system:masters")], None),
        ([], None),
    ],
)
def test_the_first_value_of_the_first_header_is_the_name(
    headers: list[tuple[bytes, bytes]], name: str | None
) -> None:
    """Duplicates, underscores, empty ones: as Go's ``Header.Get`` has it."""
    user = user_of(headers)
    assert (None if user is None else user.name) == name


@pytest.mark.parametrize(
    ("header", "key"),
    [
        (b"x-remote-extra-a%zz", "a%zz"), (b"x-remote-extra-a%2", "a%2"),
        (b"x-remote-extra-%41", "A"), (b"x-remote-extra-", ""), (b"x-remote-extra-a+b", "a+b"),
    ],
)  # fmt: skip
def test_keys_of_extra_are_unescaped_where_they_can_be(header: bytes, key: str) -> None:
    """What is no escape is the key as it stands."""
    user = user_of([*JANE, (header, b"v")])
    assert user is not None
    assert user.extra == {key: ("v",)}


def test_nobody_without_a_certificate_is_looked_at() -> None:
    """Headers of a client that showed nothing name nobody."""
    assert RequestHeaders(NAMES).authenticate_request(request_of(JANE, None)) is None


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        (Certificate(good=False), "unknown authority"),
        (Certificate("other"), "subject with cn=other is not in the allowed list"),
        (Certificate(""), "cn= is not in the allowed list"),
        (Certificate("FRONT"), "not in the allowed list"),
        (Certificate("front "), "not in the allowed list"),
    ],
)
def test_certificates_of_others_are_refused(shown: Certificate, why: str) -> None:
    """Of another authority, or of a name that is not allowed."""
    with pytest.raises(BadCredentials, match=why):
        RequestHeaders(NAMES).authenticate_request(request_of(JANE, shown))


def test_without_allowed_names_any_of_the_authority_counts() -> None:
    """As upstream, which says so in the flag's help."""
    names = HeaderNames(username=("X-Remote-User",))
    request = request_of(JANE, Certificate("whoever"))
    assert RequestHeaders(names).authenticate_request(request) == UserInfo("jane")


@pytest.mark.parametrize("shown", [None, Certificate(), Certificate("other")])
def test_the_headers_are_taken_off_whoever_sent_them(shown: Certificate | None) -> None:
    """Nothing behind believes them; other headers stay, what the connection keeps is unchanged."""
    sent = [*JANE, (b"accept", b"a"), (b"x-remote-extra-k", b"v"), (b"accept", b"b")]
    request = request_of(sent, shown)
    try:
        RequestHeaders(NAMES).authenticate_request(request)
    except BadCredentials:
        pass
    assert request.raw_headers == [(b"accept", b"a"), (b"accept", b"b")]
    assert request.headers == {b"accept": b"a"}
    assert len(sent) == 4


def authenticated_by(request: Request) -> UserInfo:
    user = Authenticator((), headers=(RequestHeaders(NAMES),)).authenticate(request)
    assert isinstance(user, UserInfo)
    return user


def test_headers_come_before_the_proxys_own_certificate() -> None:
    """A certificate that is good for both: the headers name the user."""
    both = UserInfo("front")
    user = authenticated_by(request_of(JANE, Certificate(), both))
    assert (user.name, user.groups) == ("jane", (AUTHENTICATED,))
    assert authenticated_by(request_of([], Certificate(), both)).name == "front"


def test_a_users_certificate_is_its_own_whatever_headers_say() -> None:
    """Headers smuggled by a client with a certificate of the clients' authority."""
    user = authenticated_by(request_of(JANE, Certificate(good=False), UserInfo("joe")))
    assert user.name == "joe"


def test_a_certificate_of_nobody_is_401_not_anonymous() -> None:
    """A proxy without headers, a stranger's certificate, one without a common name."""
    for shown, certificate in (
        (Certificate(), UNUSABLE),
        (Certificate(good=False), UNUSABLE),
        (Certificate(good=False), None),
        (Certificate("other"), UNUSABLE),
    ):
        with pytest.raises(ApiError) as caught:
            authenticated_by(request_of([], shown, certificate))
        assert caught.value.code == 401


def test_smuggled_headers_without_a_certificate_are_anonymous() -> None:
    """They are as good as absent."""
    assert authenticated_by(request_of(JANE, None)) is ANONYMOUS
