"""What a client certificate is worth, asked with each request."""

from __future__ import annotations

from kubetrio.http.shown import ClientAuthorities, ShownCertificate, current
from kubetrio.machinery.identity import UNUSABLE, UserInfo
from kubetrio.observe.series import Histogram

ALICE = UserInfo("alice")
LEAF, BETWEEN, ROOT, OTHER = b"leaf", b"between", b"root", b"other"


class Time:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def shown(
    trust: ClientAuthorities,
    time: Time,
    *,
    user: UserInfo | None = ALICE,
    chain: tuple[bytes, ...] = (LEAF, BETWEEN, ROOT),
) -> ShownCertificate:
    """A certificate that ends after its authority."""
    return ShownCertificate(user, "alice", chain, 100.0, 200.0, trust, time)


def test_an_authority_that_goes_takes_its_users_along() -> None:
    """With the next request, and back when it comes back."""
    trust, time = ClientAuthorities(), Time()
    trust.set(frozenset({ROOT}), frozenset())
    certificate = shown(trust, time)
    assert certificate.user() is ALICE
    trust.set(frozenset({OTHER}), frozenset())
    assert certificate.user() is UNUSABLE
    trust.set(frozenset({OTHER, ROOT}), frozenset())
    assert certificate.user() is ALICE


def test_any_certificate_of_the_chain_may_be_the_authority() -> None:
    """As in Go, where each certificate of the file is one."""
    trust, time = ClientAuthorities(), Time()
    certificate = shown(trust, time)
    for authority in (LEAF, BETWEEN, ROOT):
        trust.set(frozenset({authority}), frozenset())
        assert certificate.user() is ALICE


def test_time_ends_it() -> None:
    """The first end of the chain, and not before it has passed."""
    trust, time = ClientAuthorities(), Time()
    trust.set(frozenset({ROOT}), frozenset({ROOT}))
    certificate = shown(trust, time)
    time.now = 100.0
    assert (certificate.user(), certificate.proxy()) == (ALICE, True)
    time.now = 100.1
    assert (certificate.user(), certificate.proxy()) == (UNUSABLE, False)


def test_proxies_have_authorities_of_their_own() -> None:
    """A proxy's certificate is no user's, and the other way round."""
    trust, time = ClientAuthorities(), Time()
    trust.set(frozenset({ROOT}), frozenset({OTHER}))
    user, proxy = shown(trust, time), shown(trust, time, chain=(LEAF, OTHER))
    assert (user.user(), user.proxy()) == (ALICE, False)
    assert (proxy.user(), proxy.proxy()) == (UNUSABLE, True)


def test_what_was_not_verified_is_worth_nothing() -> None:
    """Whoever may count: there is no chain."""
    trust, time = ClientAuthorities(), Time()
    trust.set(frozenset({LEAF, ROOT}), frozenset({LEAF, ROOT}))
    certificate = shown(trust, time, chain=())
    assert (certificate.user(), certificate.proxy()) == (UNUSABLE, False)


def test_without_a_name_it_is_as_if_there_were_none() -> None:
    """A token may say who it is, or nobody."""
    trust, time = ClientAuthorities(), Time()
    trust.set(frozenset({ROOT}), frozenset())
    assert shown(trust, time, user=None).user() is None


def test_the_time_left_is_counted_for_each_request() -> None:
    """Of the client's own certificate, whether it is good or not, as upstream."""
    trust, time = ClientAuthorities(), Time()
    certificate = shown(trust, time)
    certificate.worth()  # at the handshake: no request
    for time.now in (0.0, 150.0, 300.0):
        certificate.user()
    (family,) = trust.families()
    rows = {
        (sample.name.removeprefix(family.name), sample.labels.get("le")): sample.value
        for sample in family.samples
    }
    assert family.name == "apiserver_client_certificate_expiration_seconds"
    assert (rows["_bucket", "0"], rows["_bucket", "1800"], rows["_count", None]) == (1, 3, 3)
    assert rows["_sum", None] == 200 + 50 - 100
    assert "3.1104e+07" in {bound for _, bound in rows}


def test_the_same_authorities_are_no_news() -> None:
    """Nothing is judged again for a file that was only touched."""
    trust = ClientAuthorities()
    trust.set(frozenset({ROOT}), frozenset())
    before = trust.generation
    trust.set(frozenset({ROOT}), frozenset())
    assert trust.generation is before


def test_transports_without_certificates_name_users_themselves() -> None:
    """A connection in memory has a user, or nobody."""
    assert current(ALICE) is ALICE
    assert current(None) is None
    assert isinstance(ClientAuthorities().lifetimes, Histogram)
