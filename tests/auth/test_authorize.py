"""Who may do what: authorizers in order, and the words of a refusal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubetrio.auth.authorize import (
    TOLD_CHARS,
    Chain,
    Masters,
    forbidden,
    kubelet_admins,
)
from kubetrio.machinery.identity import ANONYMOUS, MASTERS, Attributes, Decision, UserInfo, Verdict
from kubetrio.schema import builtin

ALICE = UserInfo("alice", groups=("devs", "system:authenticated"))
ADMIN = UserInfo("root", groups=(MASTERS,))
GET_POD = Attributes(
    user=ALICE, verb="get", namespace="ns", api_version="v1", resource="pods", name="p"
)
OBJECTS = builtin.load("bootstrap")


def path(user: UserInfo, text: str, verb: str = "get") -> Attributes:
    return Attributes(user=user, verb=verb, resource_request=False, path=text)


class Fixed:
    """An authorizer with one answer."""

    def __init__(self, decision: Decision, reason: str = "") -> None:
        self.verdict = Verdict(decision, reason)
        self.asked = 0

    def authorize(self, attributes: Attributes) -> Verdict:
        """The answer."""
        self.asked += 1
        return self.verdict


def test_the_first_opinion_counts() -> None:
    """Those behind it are not asked."""
    first, second = Fixed(Decision.NO_OPINION), Fixed(Decision.DENY, "no")
    third = Fixed(Decision.ALLOW)
    assert Chain([first, second, third]).authorize(GET_POD) == Verdict(Decision.DENY, "no")
    assert (first.asked, second.asked, third.asked) == (1, 1, 0)


def test_no_opinion_at_all() -> None:
    """Is no permission."""
    for chain in (Chain([]), Chain([Fixed(Decision.NO_OPINION)])):
        assert chain.authorize(GET_POD).decision is Decision.NO_OPINION


def test_masters_may_do_everything() -> None:
    """Nobody else gets an opinion from it."""
    assert Masters().authorize(replace(GET_POD, user=ADMIN)).decision is Decision.ALLOW
    assert Masters().authorize(GET_POD).decision is Decision.NO_OPINION


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (
            GET_POD,
            (
                'pods "p" is forbidden: User "alice" cannot get resource "pods" in API '
                'group "" in the '
                'namespace "ns"'
            ),
        ),
        (
            Attributes(user=ALICE, verb="list", api_group="apps", resource="deployments"),
            (
                'deployments.apps is forbidden: User "alice" cannot list resource '
                '"deployments" in API '
                'group "apps" at the cluster scope'
            ),
        ),
        (
            replace(GET_POD, subresource="log"),
            (
                'pods "p" is forbidden: User "alice" cannot get resource "pods/log" in '
                'API group "" in '
                'the namespace "ns"'
            ),
        ),
        (path(ANONYMOUS, "/api"), 'forbidden: User "system:anonymous" cannot get path "/api"'),
    ],
)
def test_the_words_of_a_refusal(attributes: Attributes, message: str) -> None:
    """403 in kube-apiserver's words, with the reason behind them where there is one."""
    error = forbidden(attributes)
    assert (error.code, error.reason, error.message) == (403, "Forbidden", message)
    assert forbidden(attributes, "why").message == message + ": why"
    assert (b"X-Content-Type-Options", b"nosniff") in error.headers


@pytest.mark.parametrize(
    ("resource", "subresource", "verb", "decision"),
    [
        ("nodes", "log", "get", Decision.ALLOW),
        ("nodes", "proxy", "create", Decision.ALLOW),
        ("nodes", "", "get", Decision.ALLOW),
        ("nodes", "", "update", Decision.NO_OPINION),
        ("nodes", "status", "get", Decision.NO_OPINION),
        ("secrets", "", "get", Decision.NO_OPINION),
    ],
)
def test_what_the_server_may_do_at_kubelets(
    resource: str, subresource: str, verb: str, decision: Decision
) -> None:
    """All that kubelets ask about, and nothing else."""
    chain = kubelet_admins(OBJECTS)
    user = UserInfo("kube-apiserver-kubelet-client", groups=("kubetrio:kubelet-api-admins",))
    asked = Attributes(
        user=user, verb=verb, resource=resource, subresource=subresource, name="n", api_version="v1"
    )
    assert chain.authorize(asked).decision is decision
    assert chain.authorize(replace(asked, user=ALICE)).decision is Decision.NO_OPINION


@pytest.mark.parametrize("member", ["path", "name", "namespace", "resource", "api_group"])
def test_what_a_stranger_sent_is_told_back_in_part(member: str) -> None:
    asked = Attributes(
        user=UserInfo("eve"), verb="get", resource="pods", resource_request=member != "path"
    )
    refused = forbidden(replace(asked, **{member: ">" * 100_000}))
    assert len(refused.message) < 10 * TOLD_CHARS
    assert len(str(refused.details)) < 2 * TOLD_CHARS
