"""Classification, against the plain reading of the rules."""

from __future__ import annotations

from typing import Any

import pytest
from examples import shortened
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.flow.classify import Classified, Classifier, RequestDigest
from kubetrio.flow.config import (
    MANDATORY_SCHEMAS,
    Digest,
    Distinguisher,
    FlowSchema,
    LevelKind,
    NonResourceRule,
    PolicyRule,
    PriorityLevel,
    Queuing,
    ResourceRule,
    Subject,
    digest,
)
from kubetrio.flow.shuffle import flow_hash
from kubetrio.schema import builtin

AUTHENTICATED = "system:authenticated"
LEVELS = {
    "queue": PriorityLevel(name="queue", kind=LevelKind.QUEUE, queuing=Queuing(4, 2, 5), uid="lu"),
    "single": PriorityLevel(name="single", kind=LevelKind.QUEUE, queuing=Queuing(1, 1, 5)),
    "catch-all": PriorityLevel(name="catch-all", kind=LevelKind.REJECT),
    "exempt": PriorityLevel(name="exempt", kind=LevelKind.EXEMPT),
}
EVERYBODY = Subject("Group", AUTHENTICATED)
ANY = ResourceRule(("*",), ("*",), ("*",), cluster_scope=True, namespaces=("*",))


@pytest.fixture(scope="module")
def stock() -> Classifier:
    """The schemas of a fresh server."""
    objects = builtin.load("bootstrap").items()
    config: Digest = digest(
        [value for name, value in objects if name.startswith("FlowSchema ")],
        [value for name, value in objects if name.startswith("PriorityLevelConfiguration ")],
    )
    return Classifier(config.schemas, {level.name: level for level in config.levels}, {})


def custom(*schemas: FlowSchema, max_seats: int | None = None) -> Classifier:
    """Some schemas beside the mandatory ones."""
    return Classifier(
        [*MANDATORY_SCHEMAS.values(), *schemas], LEVELS, {"queue": max_seats}, generation=3
    )


def one(
    rule: ResourceRule | NonResourceRule = ANY,
    subject: Subject = EVERYBODY,
    distinguisher: Distinguisher = Distinguisher.NONE,
    level: str = "queue",
) -> FlowSchema:
    """A schema of one rule."""
    rules = ((rule,), ()) if isinstance(rule, ResourceRule) else ((), (rule,))
    return FlowSchema(
        name="one",
        uid="su",
        level=level,
        precedence=500,
        distinguisher=distinguisher,
        rules=(PolicyRule((subject,), *rules),),
    )


def matched(classifier: Classifier, request: RequestDigest) -> str:
    """Name of the schema that a request matches."""
    return classifier.classify(request).flow.schema


@pytest.mark.parametrize(
    ("request_", "schema"),
    [
        (RequestDigest("root", ("system:masters", AUTHENTICATED), "get"), "exempt"),
        (
            RequestDigest(
                "anonymous", ("system:unauthenticated",), "get", "/healthz", is_resource=False
            ),
            "probes",
        ),
        (
            RequestDigest("x", (AUTHENTICATED,), "get", "/livez/ping", is_resource=False),
            "probes",
        ),
        (
            RequestDigest("x", (AUTHENTICATED,), "get", "/version", is_resource=False),
            "global-default",
        ),
        (
            RequestDigest(
                "system:kube-scheduler",
                (AUTHENTICATED,),
                "update",
                namespace="kube-system",
                resource="leases",
                api_group="coordination.k8s.io",
            ),
            "system-leader-election",
        ),
        (
            RequestDigest("system:kube-scheduler", (AUTHENTICATED,), "list", resource="pods"),
            "kube-scheduler",
        ),
        (
            RequestDigest(
                "system:serviceaccount:kube-system:x",
                ("system:serviceaccounts", AUTHENTICATED),
                "list",
                resource="pods",
            ),
            "kube-system-service-accounts",
        ),
        (
            RequestDigest(
                "system:serviceaccount:kube-systems:x",
                ("system:serviceaccounts", AUTHENTICATED),
                "list",
                resource="pods",
            ),
            "service-accounts",
        ),
        (
            RequestDigest(
                "system:node:a",
                ("system:nodes", AUTHENTICATED),
                "patch",
                resource="nodes",
                subresource="status",
            ),
            "system-node-high",
        ),
        (
            RequestDigest(
                "system:node:a",
                ("system:nodes", AUTHENTICATED),
                "get",
                namespace="n",
                resource="secrets",
            ),
            "system-nodes",
        ),
        (RequestDigest("alice", (AUTHENTICATED,), "get", resource="pods"), "global-default"),
        (RequestDigest("nobody", (), "get", resource="pods"), "catch-all"),
    ],
)
def test_stock_schemas(stock: Classifier, request_: RequestDigest, schema: str) -> None:
    """Requests of a fresh server's usual clients match the schema meant for them."""
    assert matched(stock, request_) == schema


@pytest.mark.parametrize(
    ("rule", "request_", "matches"),
    [
        (ANY, {"namespace": "n"}, True),
        (ResourceRule(("*",), ("*",), ("*",), namespaces=("*",)), {}, False),
        (ResourceRule(("*",), ("*",), ("*",), cluster_scope=True), {}, True),
        (ResourceRule(("*",), ("*",), ("*",), cluster_scope=True), {"namespace": "n"}, False),
        (ResourceRule(("*",), ("*",), ("*",), namespaces=("n",)), {"namespace": "n"}, True),
        (ResourceRule(("*",), ("*",), ("*",), namespaces=("n",)), {"namespace": "m"}, False),
        (ResourceRule(("list",), ("*",), ("*",), cluster_scope=True), {}, False),
        (ResourceRule(("*",), ("apps",), ("*",), cluster_scope=True), {}, False),
        (ResourceRule(("*",), ("*",), ("pods",), cluster_scope=True), {}, True),
        (
            ResourceRule(("*",), ("*",), ("pods",), cluster_scope=True),
            {"subresource": "log"},
            False,
        ),
        (
            ResourceRule(("*",), ("*",), ("pods/log",), cluster_scope=True),
            {"subresource": "log"},
            True,
        ),
        (NonResourceRule(("*",), ("*",)), {}, False),
        (NonResourceRule(("*",), ("*",)), {"is_resource": False, "path": "/x"}, True),
        (NonResourceRule(("put",), ("*",)), {"is_resource": False, "path": "/x"}, False),
        (NonResourceRule(("*",), ("/x",)), {"is_resource": False, "path": "/x"}, True),
        (NonResourceRule(("*",), ("/x",)), {"is_resource": False, "path": "/xy"}, False),
        (NonResourceRule(("*",), ("/x/*",)), {"is_resource": False, "path": "/x/y/z"}, True),
        (NonResourceRule(("*",), ("/x/*",)), {"is_resource": False, "path": "/x"}, False),
        (ANY, {"is_resource": False, "path": "/x"}, False),
    ],
)
def test_rules(
    rule: ResourceRule | NonResourceRule, request_: dict[str, Any], matches: bool
) -> None:
    """Verbs, groups, resources with subresource, scope, namespaces, and path prefixes."""
    asked = RequestDigest("u", (AUTHENTICATED,), "get", resource="pods")._replace(**request_)
    assert (matched(custom(one(rule)), asked) == "one") is matches


@pytest.mark.parametrize(
    ("subject", "user", "groups", "matches"),
    [
        (Subject("User", "a"), "a", (), True),
        (Subject("User", "a"), "b", (), False),
        (Subject("User", "*"), "b", (), True),
        (Subject("Group", "g"), "a", ("f", "g"), True),
        (Subject("Group", "g"), "g", ("f",), False),
        (Subject("Group", "*"), "a", (), True),
        (Subject("ServiceAccount", "s", "n"), "system:serviceaccount:n:s", (), True),
        (Subject("ServiceAccount", "s", "n"), "system:serviceaccount:n:t", (), False),
        (Subject("ServiceAccount", "*", "n"), "system:serviceaccount:n:t", (), True),
        (Subject("ServiceAccount", "*", "n"), "system:serviceaccount:nn:t", (), False),
        (Subject("Martian", "a"), "a", (), False),
    ],
)
def test_subjects(subject: Subject, user: str, groups: tuple[str, ...], matches: bool) -> None:
    """Users, groups and service accounts, each with its wildcard."""
    asked = RequestDigest(user, groups, "get", resource="pods")
    assert (matched(custom(one(subject=subject)), asked) == "one") is matches


@pytest.mark.parametrize(
    ("method", "level", "expected"),
    [
        (Distinguisher.BY_USER, "queue", "u"),
        (Distinguisher.BY_NAMESPACE, "queue", "n"),
        (Distinguisher.NONE, "queue", ""),
        (Distinguisher.BY_USER, "single", ""),
        (Distinguisher.BY_USER, "exempt", ""),
    ],
)
def test_distinguishers(method: Distinguisher, level: str, expected: str) -> None:
    """Flows are told apart as configured, and only where there are queues to keep them apart."""
    found = custom(one(distinguisher=method, level=level)).classify(
        RequestDigest("u", (AUTHENTICATED,), "get", namespace="n", resource="pods")
    )
    assert found.flow.distinguisher == expected
    assert found.flow.hash == (flow_hash("one", expected) if level == "queue" else 0)


def test_what_the_answer_carries() -> None:
    """Names, uids for the headers, bound on width, and the generation of the configuration."""
    found = custom(one(), max_seats=7).classify(
        RequestDigest("u", (AUTHENTICATED,), "get", resource="pods")
    )
    assert found == Classified(
        flow=found.flow, level="queue", schema_uid="su", level_uid="lu", max_seats=7, generation=3
    )


def test_first_schema_wins() -> None:
    """Lower precedence first, then the lesser name."""
    schemas = [
        FlowSchema(name=name, level="queue", precedence=precedence, rules=one().rules)
        for name, precedence in (("c", 10), ("b", 9), ("a", 9), ("z", 8))
    ]
    asked = RequestDigest("u", (AUTHENTICATED,), "get", resource="pods")
    assert matched(custom(*schemas), asked) == "z"
    assert matched(custom(*schemas[:3]), asked) == "a"


def naive(schemas: list[FlowSchema], request: RequestDigest) -> str:
    """The documented loop over schemas, rules and lists."""

    def among(value: str, allowed: tuple[str, ...]) -> bool:
        return allowed == ("*",) or value in allowed

    def subject(which: Subject) -> bool:
        if which.kind == "User":
            return which.name in ("*", request.user)
        if which.kind == "Group":
            return which.name == "*" or which.name in request.groups
        prefix, _, name = request.user.rpartition(":")
        return prefix == f"system:serviceaccount:{which.namespace}" and which.name in ("*", name)

    for schema in sorted(schemas, key=lambda one: (one.precedence, one.name)):
        for rule in schema.rules:
            if any(map(subject, rule.subjects)) and any(
                among(request.verb, r.verbs)
                and among(request.resource, r.resources)
                and among(request.api_group, r.api_groups)
                and (
                    among(request.namespace, r.namespaces) if request.namespace else r.cluster_scope
                )
                for r in rule.resource_rules
            ):
                return schema.name
    return "catch-all"


names = st.sampled_from(["a", "b", "c"])
few = st.one_of(st.just(("*",)), st.lists(names, min_size=1, max_size=2, unique=True).map(tuple))
subjects = st.one_of(
    st.builds(Subject, st.just("User"), st.sampled_from(["*", "u", "v"])),
    st.builds(Subject, st.just("Group"), st.sampled_from(["*", "g", "h"])),
    st.builds(
        Subject, st.just("ServiceAccount"), st.sampled_from(["*", "s"]), st.sampled_from(["n", "m"])
    ),
)
rules = st.builds(
    PolicyRule,
    st.lists(subjects, min_size=1, max_size=2).map(tuple),
    st.lists(st.builds(ResourceRule, few, few, few, st.booleans(), few), max_size=2).map(tuple),
)
schemas_ = st.lists(
    st.tuples(st.integers(2, 5), st.lists(rules, max_size=2).map(tuple)), max_size=5
).map(
    lambda made: [
        FlowSchema(name=f"s{i}", level="queue", precedence=p, rules=r)
        for i, (p, r) in enumerate(made)
    ]
)
requests = st.builds(
    RequestDigest,
    user=st.sampled_from(["u", "v", "system:serviceaccount:n:s", "system:serviceaccount:m:t"]),
    groups=st.lists(st.sampled_from(["g", "h"]), unique=True).map(tuple),
    verb=names,
    namespace=st.sampled_from(["", "a", "b", "elsewhere"]),
    resource=names,
    api_group=names,
    path=st.just(""),
    subresource=st.just(""),
    name=st.just(""),
    api_version=st.just(""),
    is_resource=st.just(True),
)


@shortened(150)
@given(schemas_, st.lists(requests, min_size=1, max_size=6))
def test_compiled_rules_mean_the_same(
    schemas: list[FlowSchema], asked: list[RequestDigest]
) -> None:
    """The compiled form finds what the documented loop finds."""
    classifier = custom(*schemas)
    for request in asked * 2:  # the second time from memory
        assert matched(classifier, request) == naive(schemas, request)


def test_memory_is_bounded() -> None:
    """Ever new users and paths do not make a classifier grow without end."""
    classifier = custom(one(distinguisher=Distinguisher.BY_USER))
    for i in range(9000):
        classifier.classify(RequestDigest(f"u{i}", (AUTHENTICATED,), "get", resource="pods"))
        classifier.classify(RequestDigest("u", (AUTHENTICATED,), "get", f"/{i}", is_resource=False))
    memories = (classifier._subjects, classifier._targets, classifier._flows)
    assert all(len(memory) <= 4096 for memory in memories)


@pytest.mark.parametrize(("verb", "mutating"), [("get", False), ("watch", False), ("post", True)])
def test_mutating(verb: str, mutating: bool) -> None:
    """All but get, list and watch count as mutating in the metrics."""
    assert RequestDigest("u", (), verb).mutating is mutating
