"""Rules: what they allow, what they contain, what is missing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.auth.rbac.matching import (
    allows_path,
    allows_resource,
    applies_to,
    breakdown,
    missing,
    rule_of,
    same_rules,
)
from kubetrio.machinery.identity import Attributes, UserInfo

ALICE = UserInfo("alice", groups=("devs",))
ROBOT = UserInfo("system:serviceaccount:ops:robot")


def resource(verb: str, group: str, name: str, below: str = "") -> Attributes:
    """A question about a resource."""
    return Attributes(user=ALICE, verb=verb, api_group=group, resource=name, subresource=below)


@pytest.mark.parametrize(
    ("resources", "asked", "allowed"),
    [
        (["pods"], resource("get", "", "pods"), True),
        (["pods"], resource("get", "", "pods", "log"), False),
        (["pods/log"], resource("get", "", "pods", "log"), True),
        (["pods/log"], resource("get", "", "pods"), False),
        (["*/log"], resource("get", "", "pods", "log"), True),
        (["*/log"], resource("get", "", "pods", "logs"), False),
        (["pods/*"], resource("get", "", "pods", "log"), False),
        (["*"], resource("get", "", "pods", "log"), True),
        (["*"], resource("list", "", "pods"), False),
        (["*"], resource("get", "apps", "pods"), False),
    ],
)
def test_resources_and_subresources(resources: list[str], asked: Attributes, allowed: bool) -> None:
    """Exact, ``*``, and ``*/subresource``; nothing else is a pattern."""
    rule = rule_of({"verbs": ["get"], "apiGroups": [""], "resources": resources})
    assert allows_resource(rule, asked) is allowed


@pytest.mark.parametrize(
    ("pattern", "path", "allowed"),
    [
        ("/healthz", "/healthz", True),
        ("/healthz", "/healthz/", False),
        ("/healthz/*", "/healthz/ping", True),
        ("/healthz/*", "/healthz", False),
        ("/healthz*", "/healthzz", True),
        ("*", "/anything", True),
        ("/a/*/c", "/a/b/c", False),
    ],
)
def test_paths(pattern: str, path: str, allowed: bool) -> None:
    """A star counts at the end only."""
    rule = rule_of({"verbs": ["get"], "nonResourceURLs": [pattern]})
    asked = Attributes(user=ALICE, verb="get", resource_request=False, path=path)
    assert allows_path(rule, asked) is allowed


@pytest.mark.parametrize(
    ("subject", "namespace", "user", "meant"),
    [
        ({"kind": "User", "name": "alice"}, "", ALICE, True),
        ({"kind": "User", "name": "devs"}, "", ALICE, False),
        ({"kind": "Group", "name": "devs"}, "", ALICE, True),
        ({"kind": "ServiceAccount", "name": "robot", "namespace": "ops"}, "", ROBOT, True),
        ({"kind": "ServiceAccount", "name": "robot"}, "ops", ROBOT, True),
        ({"kind": "ServiceAccount", "name": "robot"}, "", ROBOT, False),
        ({"kind": "ServiceAccount", "name": "robot"}, "other", ROBOT, False),
        ({"kind": "Else", "name": "alice"}, "", ALICE, False),
    ],
)
def test_subjects(subject: dict[str, str], namespace: str, user: UserInfo, meant: bool) -> None:
    """Users and groups by name, accounts by namespace and name."""
    assert applies_to(user, subject, namespace) is meant


words = st.lists(st.sampled_from(["*", "a", "b", "a/s", "*/s"]), max_size=3, unique=True)
names = st.lists(st.sampled_from(["x", "y"]), max_size=2, unique=True)
resource_rules = st.fixed_dictionaries(
    {"verbs": words, "apiGroups": words, "resources": words, "resourceNames": names}
)
path_rules = st.fixed_dictionaries(
    {"verbs": words, "nonResourceURLs": st.lists(st.sampled_from(["/p", "/p/*", "*"]), max_size=2)}
)
rules = st.lists(st.one_of(resource_rules, path_rules), max_size=3)


@given(rules)
def test_everybody_holds_what_they_hold(held: list[dict[str, Any]]) -> None:
    """Rules contain themselves, and what they are broken down to."""
    assert missing(held, held) == []
    assert missing(list(breakdown(held)), held) == []


@given(rules, rules)
def test_what_is_missing_makes_it_whole(held: list[dict[str, Any]], wanted: Any) -> None:
    """Together with what was missing, nothing is."""
    assert missing([*held, *missing(held, wanted)], wanted) == []


@given(rules, rules, st.sampled_from("ab"), st.sampled_from("ab"), st.sampled_from(["", "s"]))
def test_contained_rules_allow_no_more(
    held: list[dict[str, Any]], wanted: list[dict[str, Any]], verb: str, name: str, below: str
) -> None:
    """Whatever rules allow that somebody holds, is allowed to him anyway."""
    if missing(held, wanted):
        return
    asked = resource(verb, "a", name, below)
    for one in ("", "x", "y", "z"):

        def allowed(all_rules: list[dict[str, Any]], one: str = one) -> bool:
            return any(
                allows_resource(rule, asked) and (not rule.names or one in rule.names)
                for rule in map(rule_of, all_rules)
            )

        assert allowed(held) or not allowed(wanted)


def test_absent_and_empty_lists_are_the_same() -> None:
    """And order counts."""
    one = {"verbs": ["get"], "resources": ["a"], "apiGroups": [""], "resourceNames": []}
    other = {"verbs": ["get"], "resources": ["a"], "apiGroups": [""]}
    assert same_rules([one], [other])
    assert not same_rules([one, {}], [other])
    assert not same_rules([one], [{**one, "verbs": ["list"]}])
