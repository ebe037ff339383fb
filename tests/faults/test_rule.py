"""Rules of faults: what they are about, and which cannot be meant."""

from __future__ import annotations

import pytest

from kubetrio.faults import Rule, RuleError, Subject
from kubetrio.faults.rule import rules_of

SUBJECT = Subject("robot", "update", "apps", "deployments", "status", "shop", "web")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"user": "robot"},
        {"verb": ["update", "patch"]},
        {"resource": "deployments"},
        {"resource": "deployments.apps"},
        {"subresource": "status"},
        {"namespace": ("shop", "other")},
        {"name": "web"},
    ],
)
def test_a_rule_fits_what_it_is_about(given: dict[str, object]) -> None:
    """By each criterion alone."""
    assert Rule.of({"fault": "503", **given}).fits(SUBJECT)


@pytest.mark.parametrize(
    "given",
    [
        {"user": "admin"},
        {"verb": "get"},
        {"resource": "pods"},
        {"resource": "deployments.extensions"},
        {"subresource": ""},
        {"namespace": ""},
        {"name": "we"},
        {"user": "robot", "name": "db"},
    ],
)
def test_a_rule_fits_nothing_else(given: dict[str, object]) -> None:
    """All criteria must fit; an empty one means that there is none."""
    assert not Rule.of({"fault": "503", **given}).fits(SUBJECT)


def test_some_faults_are_for_some_verbs() -> None:
    """A conflict is for writes, without a criterion too."""
    assert Rule(fault="409").fits(SUBJECT)
    assert not Rule(fault="409").fits(SUBJECT._replace(verb="get"))
    assert not Rule(fault="410").fits(SUBJECT)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"fault": "418"}, "fault: there is no '418'"),
        ({}, "fault: must be given"),
        ({"fault": "500", "colour": "red"}, "colour: there is no such field"),
        ({"fault": "409", "verb": "get"}, "verb: get cannot have 409"),
        ({"fault": "latency"}, "delay: latency needs one"),
        ({"fault": "500", "after": 3}, "after: not for 500"),
        ({"fault": "500", "count": -1}, "count: must be a whole number from 0 on"),
        ({"fault": "500", "every": 0}, "every: must be a whole number from 1 on"),
        ({"fault": "500", "probability": 2}, "probability: must be a number from 0 to 1"),
        ({"fault": "latency", "delay": "soon"}, "delay: "),
        ({"fault": "500", "user": 3}, "user: must be a text or a list of texts"),
        ({"fault": "500", "id": "a\r\nb"}, "id: letters"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: object, why: str) -> None:
    """In one line that names the field."""
    with pytest.raises(RuleError) as caught:
        Rule.of(given)
    assert str(caught.value).startswith(why)


def test_rules_come_in_documents() -> None:
    """One, a list or an object; what is wrong says where."""
    one = {"fault": 503, "delay": "1m30s"}
    with pytest.raises(RuleError, match=r"^rules\[1\]\.fault: must be given$"):
        rules_of([{"fault": "503"}, {}])
    [rule] = rules_of({"fault": "latency", "delay": "1m30s"})
    assert rule.delay_s == 90
    assert rules_of({"rules": [one]}) == rules_of([one])


def test_a_rule_is_written_as_it_is_read() -> None:
    """Also with everything that is not as usual."""
    rule = Rule(fault="watch-delay", id="a", verb=["watch"], delay_s=2, after_events=3, seed=1)
    assert Rule.of(rule.as_dict()) == rule
    assert rule.as_dict() == {
        "id": "a", "fault": "watch-delay", "verb": ["watch"], "seed": 1, "delay": 2,
        "afterEvents": 3,
    }  # fmt: skip
