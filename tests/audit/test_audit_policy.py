"""The audit policy: what it says of requests, and what it refuses to be."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.api.request import RequestInfo
from kubetrio.audit.policy import REMEMBERED, Level, Policy, PolicyError, RequestFacts, load, parse

HEAD = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy"}


def made(*rules: dict[str, Any], **more: Any) -> Policy:
    return parse(orjson.dumps({**HEAD, "rules": list(rules), **more}))


# ---------------------------------------------------------------------- an independent model


def model(policy: dict[str, Any], asked: RequestFacts) -> tuple[str, set[str], bool]:
    """What the documentation says, rule by rule, without a thought of speed."""
    omit = set(policy.get("omitStages", []))
    managed = policy.get("omitManagedFields", False)
    for rule in policy["rules"]:
        if rule.get("users") and asked.user not in rule["users"]:
            continue
        if rule.get("userGroups") and not any(g in rule["userGroups"] for g in asked.groups):
            continue
        if rule.get("verbs") and asked.verb not in rule["verbs"]:
            continue
        about_objects = rule.get("resources") or rule.get("namespaces")
        if about_objects:
            if not asked.is_resource:
                continue
            if rule.get("namespaces") and asked.namespace not in rule["namespaces"]:
                continue
            if rule.get("resources") and not any(covers(r, asked) for r in rule["resources"]):
                continue
        elif rule.get("nonResourceURLs"):
            if asked.is_resource:
                continue
            if not any(path_covers(url, asked.path) for url in rule["nonResourceURLs"]):
                continue
        own = rule.get("omitManagedFields")
        return (
            rule["level"],
            omit | set(rule.get("omitStages", [])),
            managed if own is None else own,
        )
    return "None", omit, managed


def covers(entry: dict[str, Any], asked: RequestFacts) -> bool:
    if entry.get("group", "") != "*" and entry.get("group", "") != asked.group:
        return False
    if not entry.get("resources"):
        return True
    for pattern in entry["resources"]:
        if entry.get("resourceNames") and asked.name not in entry["resourceNames"]:
            continue
        left, slash, right = pattern.partition("/")
        if pattern == "*":
            return True
        if not slash and not asked.subresource and left == asked.resource:
            return True
        if slash and left == asked.resource and right == "*":
            return True
        if slash and left in ("*", asked.resource) and asked.subresource == right != "":
            return True
    return False


def path_covers(url: str, path: str) -> bool:
    if url == "*" or url == path:
        return True
    return url[-1:] == "*" and path[: len(url) - 1] == url[:-1]


WORDS = st.sampled_from(["a", "b", "c"])
SOME = st.lists(WORDS, max_size=2)
RESOURCES = st.sampled_from(["a", "b", "*", "a/x", "*/x", "a/*", "b/y"])
ENTRY = st.fixed_dictionaries(
    {"group": st.sampled_from(["", "a", "*"]), "resources": st.lists(RESOURCES, max_size=2)}
).flatmap(
    lambda one: (
        st.just(one)
        if not one["resources"]
        else st.fixed_dictionaries(
            {k: st.just(v) for k, v in one.items()} | {"resourceNames": SOME}
        )
    )
)
STAGE = st.lists(st.sampled_from(["RequestReceived", "Panic"]), max_size=1)
COMMON = {
    "level": st.sampled_from(["None", "Metadata", "Request", "RequestResponse"]),
    "users": SOME,
    "userGroups": SOME,
    "verbs": SOME,
    "omitStages": STAGE,
    "omitManagedFields": st.sampled_from([None, True, False]),
}
RULE = st.one_of(
    st.fixed_dictionaries({**COMMON, "resources": st.lists(ENTRY, max_size=2), "namespaces": SOME}),
    st.fixed_dictionaries(
        {
            **COMMON,
            "nonResourceURLs": st.lists(
                st.sampled_from(["*", "/a", "/a*", "/a/*", "/b"]), max_size=2
            ),
        }
    ),
)
POLICIES = st.fixed_dictionaries(
    {"rules": st.lists(RULE, min_size=1, max_size=4), "omitStages": STAGE},
    optional={"omitManagedFields": st.booleans()},
)
NAMES = st.sampled_from(["", "a", "b", "c"])
QUESTIONS = st.one_of(
    st.builds(
        RequestFacts, user=NAMES, groups=st.lists(WORDS, max_size=2).map(tuple), verb=WORDS,
        is_resource=st.just(True), namespace=NAMES, group=st.sampled_from(["", "a", "b"]),
        resource=WORDS, subresource=st.sampled_from(["", "x", "y"]), name=NAMES,
    ),
    st.builds(
        RequestFacts, user=NAMES, groups=st.lists(WORDS, max_size=2).map(tuple), verb=WORDS,
        is_resource=st.just(False), path=st.sampled_from(["/a", "/a/b", "/ab", "/b", "/"]),
    ),
)  # fmt: skip


def about(asked: RequestFacts) -> RequestInfo:
    return RequestInfo(
        is_resource=asked.is_resource, verb=asked.verb, path=asked.path, group=asked.group,
        namespace=asked.namespace, resource=asked.resource, subresource=asked.subresource,
        name=asked.name,
    )  # fmt: skip


@given(POLICIES, st.lists(QUESTIONS, min_size=1, max_size=8))
def test_policies_say_what_the_model_says(
    policy: dict[str, Any], asked: list[RequestFacts]
) -> None:
    """Whatever the rules and the requests, also when answers are remembered."""
    ours = parse(orjson.dumps({**HEAD, **policy}))
    for one in [*asked, *asked]:
        level, omitted, managed = model(policy, one)
        chosen = ours.choose(one.user, one.groups, about(one))
        assert (chosen.level.name, chosen.omitted, chosen.omit_managed_fields) == (
            level.upper().replace("REQUESTRESPONSE", "REQUEST_RESPONSE"), omitted, managed,
        )  # fmt: skip


def test_answers_that_are_remembered_are_bounded() -> None:
    """A client that makes up verbs and names does not fill the memory."""
    policy = made({"level": "Metadata"})
    for number in range(REMEMBERED + 10):
        policy.choose("u", (), RequestInfo(is_resource=False, verb=f"v{number}", path="/"))
    assert policy.remembered() <= REMEMBERED


def test_names_do_not_count_where_no_rule_looks_at_them() -> None:
    """One answer is remembered for all objects of a resource."""
    policy = made({"level": "Metadata", "resources": [{"group": ""}]})
    for number in range(100):
        info = RequestInfo(is_resource=True, verb="get", path="", resource="pods", name=f"{number}")
        assert policy.choose("u", (), info).level is Level.METADATA
    assert policy.remembered() == 1


# ---------------------------------------------------------------------- what is refused

MODES = 'supported values: "None", "Metadata", "Request", "RequestResponse"'
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no rules": ({"rules": []}, "loaded illegal policy with 0 rules"),
    "no level": ({"rules": [{}]}, "rules[0].level: Required value"),
    "unknown level": (
        {"rules": [{"level": "All"}]},
        f'rules[0].level: Unsupported value: "All": {MODES}',
    ),
    "relative path": (
        {"rules": [{"level": "None", "nonResourceURLs": ["x"]}]},
        (
            'rules[0].nonResourceURLs[0]: Invalid value: "x": non-resource URL rules must begin '
            "with a '/' character"
        ),
    ),
    "star inside": (
        {"rules": [{"level": "None", "nonResourceURLs": ["/*/x"]}]},
        (
            "rules[0].nonResourceURLs[0]: Invalid value: \"/*/x\": non-resource URL wildcards '*' "
            "must be the final character of the rule"
        ),
    ),
    "names alone": (
        {"rules": [{"level": "None", "resources": [{"resourceNames": ["x"]}]}]},
        (
            'rules[0].resources.resourceNames: Invalid value: ["x"]: using resourceNames requires '
            "at least one resource"
        ),
    ),
    "both": (
        {"rules": [{"level": "None", "namespaces": ["x"], "nonResourceURLs": ["/x"]}]},
        (
            'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular '
            "resources and non-resource URLs"
        ),
    ),
    "stage": (
        {"omitStages": ["Done"], "rules": [{"level": "None"}]},
        (
            'omitStages[0]: Invalid value: "Done": allowed stages are '
            "RequestReceived,ResponseStarted,ResponseComplete,Panic"
        ),
    ),
    "type": (
        {"rules": [{"level": "None", "users": "me"}]},
        (
            "failed decoding: json: cannot unmarshal string into Go struct field PolicyRule.users "
            "of type []string"
        ),
    ),
    "version": (
        {"apiVersion": "audit.k8s.io/v1beta1", "rules": [{"level": "None"}]},
        (
            'failed decoding: no kind "Policy" is registered for version "audit.k8s.io/v1beta1" in '
            'scheme "k8s.io/apiserver/pkg/audit/scheme.go:30"'
        ),
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_policies_are_refused(case: str) -> None:
    """In the words of kube-apiserver."""
    document, words = BAD[case]
    with pytest.raises(PolicyError) as refused:
        parse(orjson.dumps({**HEAD, **document}))
    assert str(refused.value) == words


@pytest.mark.parametrize("text", [b"", b"[]", b"\x00", b"a: [", b"rules: []"])
def test_what_is_no_policy_is_refused(text: bytes) -> None:
    """Whatever stands in the file, the error is one of policies."""
    with pytest.raises(PolicyError):
        parse(text)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """The error names it."""
    path = tmp_path / "none.yaml"
    with pytest.raises(PolicyError) as refused:
        load(path)
    assert str(refused.value) == (
        f'failed to read file path "{path}": open {path}: no such file or directory'
    )


def test_unknown_fields_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    """The policy is used all the same, as kube-apiserver does."""
    with caplog.at_level(logging.WARNING, "kubetrio"):
        assert made({"level": "None", "user": ["x"]}).rules[0].users == ()
    assert [one.message for one in caplog.records] == [
        "Audit policy contains errors, falling back to lenient decoding"
    ]
    assert caplog.records[0].__dict__["kubetrio_fields"]["err"] == (
        'strict decoding error: unknown field "rules[0].user"'
    )
