"""Who asks: certificate, token, nobody."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from kubetrio.auth.authenticate import KNOWN_HEADERS, Authenticator
from kubetrio.auth.tokencache import families_of
from kubetrio.auth.tokens import EXTRA_SPACE_WARNING, TOKEN_PROTOCOL, parse_token_file
from kubetrio.machinery.identity import ANONYMOUS, AUTHENTICATED, UNUSABLE, UserInfo
from kubetrio.machinery.status import ApiError

TOKENS = parse_token_file(b'secret,alice,7,"devs"\nother,bob,8\n', "tokens.csv")
CERTIFICATE = UserInfo("carol", groups=("ops",))


@dataclass
class Asked:
    """A request, as far as it is looked at."""

    certificate: UserInfo | None
    headers: dict[bytes, bytes]
    told: list[str] = field(default_factory=list)
    peer: str = "192.0.2.1"

    def warn(self, texts: Iterable[str]) -> None:
        self.told += texts


def asked(
    certificate: UserInfo | None = None, authorization: bytes = b"", protocols: bytes = b""
) -> Asked:
    """A request with these credentials; with subprotocols it is one for a WebSocket."""
    headers = {b"authorization": authorization} if authorization else {}
    if protocols:
        headers |= {b"connection": b"keep-alive, Upgrade", b"upgrade": b"WebSocket"}
        headers[b"sec-websocket-protocol"] = protocols
    return Asked(certificate, headers)


@pytest.fixture
def authenticator() -> Authenticator:
    """Two tokens and anonymous clients."""
    return Authenticator([TOKENS])


def test_a_certificate_comes_first(authenticator: Authenticator) -> None:
    """Whatever else is sent, even a token that is wrong."""
    for header in (b"", b"Bearer secret", b"Bearer wrong"):
        user = authenticator.authenticate(asked(CERTIFICATE, header))
        assert (user.name, user.groups) == ("carol", ("ops", AUTHENTICATED))


def test_an_unusable_certificate_is_401(authenticator: Authenticator) -> None:
    """Nobody becomes anonymous by a certificate that contradicts itself; a good token helps."""
    for header in (b"", b"Bearer wrong", b"Basic YTpi"):
        with pytest.raises(ApiError) as caught:
            authenticator.authenticate(asked(UNUSABLE, header))
        assert (caught.value.code, caught.value.message) == (401, "Unauthorized")
    for _ in range(2):
        assert authenticator.authenticate(asked(UNUSABLE, b"Bearer secret")).name == "alice"


def test_a_token_is_its_user(authenticator: Authenticator) -> None:
    """Each time, also when the header was seen before."""
    for _ in range(2):
        user = authenticator.authenticate(asked(None, b"Bearer secret"))
        assert (user.name, user.uid, user.groups) == ("alice", "7", ("devs", AUTHENTICATED))


def test_a_wrong_token_is_401(authenticator: Authenticator) -> None:
    """Nobody becomes anonymous by a bad token."""
    with pytest.raises(ApiError) as caught:
        authenticator.authenticate(asked(None, b"Bearer wrong"))
    assert (caught.value.code, caught.value.message) == (401, "Unauthorized")


@pytest.mark.parametrize("header", [b"", b"Basic YTpi", b"Bearer", b"Bearer "])
def test_without_credentials_of_a_known_kind(authenticator: Authenticator, header: bytes) -> None:
    """Anonymous, where that is allowed."""
    assert authenticator.authenticate(asked(None, header)) is ANONYMOUS
    with pytest.raises(ApiError) as caught:
        Authenticator([TOKENS], anonymous=False).authenticate(asked(None, header))
    assert caught.value.code == 401


PROTOCOLS = f"{TOKEN_PROTOCOL}c2VjcmV0, binary.k8s.io".encode()


@pytest.mark.parametrize("header", [b"", b"Basic YTpi", b"Bearer wrong"])
def test_a_websocket_may_bring_its_token(authenticator: Authenticator, header: bytes) -> None:
    """A header that is no good is not held against it."""
    assert authenticator.authenticate(asked(None, header, PROTOCOLS)).name == "alice"


@pytest.mark.parametrize("header", [b"", b"Bearer wrong"])
@pytest.mark.parametrize("text", ["d3Jvbmc", "=", "c2VjcmV0="])
def test_bad_tokens_of_websockets(authenticator: Authenticator, header: bytes, text: str) -> None:
    """Nobody becomes anonymous by a bad token."""
    protocols = f"{TOKEN_PROTOCOL}{text}, binary.k8s.io".encode()
    with pytest.raises(ApiError) as caught:
        authenticator.authenticate(asked(None, header, protocols))
    assert caught.value.code == 401


def test_what_is_ignored_is_told() -> None:
    """Also to those who are refused."""
    for anonymous in (True, False):
        request = asked(None, b"Bearer  secret")
        with suppress(ApiError):
            Authenticator([TOKENS], anonymous=anonymous).authenticate(request)
        assert request.told == [EXTRA_SPACE_WARNING]


def test_what_is_remembered_is_bounded(authenticator: Authenticator) -> None:
    """Many spellings of one good header do not fill the memory."""
    for number in range(KNOWN_HEADERS + 10):
        user = authenticator.authenticate(asked(None, b"Bearer secret" + b" " * (number + 1)))
        assert user.name == "alice"
    assert len(authenticator._known) <= KNOWN_HEADERS


def test_attempts_are_counted() -> None:
    """Good, bad and none, as kube-apiserver counts them."""
    made = Authenticator([TOKENS], anonymous=False)
    made.authenticate(asked(None, b"Bearer secret"))
    made.authenticate(asked(CERTIFICATE))
    bad = (asked(None, b"Bearer wrong"), asked(UNUSABLE), asked(None, b"", b"base64url.bearer.a,"))
    for each in (*bad, asked(None, b"Basic YTpi")):
        with suppress(ApiError):
            made.authenticate(each)
    attempts, users, *times = made.attempts.families()
    counts = {sample.labels["result"]: sample.value for sample in attempts.samples}
    assert counts["success"] == 2
    assert counts["error"] >= 2
    assert counts["error"] + counts["failure"] == 4
    assert [(sample.name, sample.labels, sample.value) for sample in users.samples] == [
        ("authenticated_user_requests", {"username": "other"}, 2)
    ]
    timed = {
        sample.labels["result"]: sample.value
        for family in times
        for sample in family.samples
        if sample.name.endswith("_count")
    }
    assert timed == {result: count for result, count in counts.items() if count}


def test_remembered_tokens_are_hits() -> None:
    """And others misses, found or not."""
    made = Authenticator([TOKENS])
    for _ in range(3):
        made.authenticate(asked(None, b"Bearer secret"))
    with suppress(ApiError):
        made.authenticate(asked(None, b"Bearer wrong"))
    samples = {
        (sample.name.removeprefix("authentication_token_cache_"), sample.labels.get("status")): (
            sample.value
        )
        for family in families_of(made, [])
        for sample in family.samples
    }
    assert samples["request_total", "hit"] == 2
    assert samples["request_total", "miss"] == 2
    assert samples["fetch_total", "ok"] == samples["fetch_total", "error"] == 1
