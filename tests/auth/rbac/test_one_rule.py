"""A user with one rule may do what the documentation says of it: drawn rules and questions.

The expected answer is written from docs "Using RBAC Authorization" ("Referring to resources",
"Aggregated ClusterRoles" apart), and asked for through SubjectAccessReview.
"""

from __future__ import annotations

import random  # noqa: TID251  (the type of Env.rng, which is what draws)
from typing import Any

from kubetrio.env import seeded
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess

RBAC = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "*")
GROUPS = ("", "apps", "x.io", "*")
RESOURCES = ("pods", "deployments", "pods/log", "*/scale", "pods/*", "*", "deployments/scale")
ASKED = (("pods", ""), ("pods", "log"), ("deployments", ""), ("deployments", "scale"))
NAMES = ("a", "b", "*")
PATHS = ("/healthz", "/healthz/*", "/logs*", "*", "/*", "/api")
ASKED_PATHS = ("/healthz", "/healthz/ping", "/logs", "/logsfile", "/", "/api", "/apis", "/healthz/")
RULES, QUESTIONS = 120, 12

Rule = dict[str, Any]


def allows(rule: Rule, asked: dict[str, str]) -> bool:
    """What the documentation says of a rule about a resource."""
    wanted = asked["resource"]
    if asked["subresource"]:
        wanted += f"/{asked['subresource']}"
    resources = {wanted, "*"}
    if asked["subresource"]:
        resources.add(f"*/{asked['subresource']}")
    names = rule.get("resourceNames") or []
    return (
        bool({asked["verb"], "*"} & set(rule["verbs"]))
        and bool({asked["group"], "*"} & set(rule.get("apiGroups", ())))
        and bool(resources & set(rule.get("resources", ())))
        and (not names or asked["name"] in names)
    )


def allows_path(rule: Rule, asked: dict[str, str]) -> bool:
    """What the documentation says of a rule about a path."""
    return bool({asked["verb"], "*"} & set(rule["verbs"])) and any(
        asked["path"] == each or (each.endswith("*") and asked["path"].startswith(each[:-1]))
        for each in rule.get("nonResourceURLs", ())
    )


def some(rng: random.Random, values: tuple[str, ...]) -> list[str]:
    return rng.sample(values, rng.randint(1, min(4, len(values))))


def drawn_rule(rng: random.Random) -> Rule:
    if rng.random() < 0.2:
        return {"verbs": some(rng, VERBS), "nonResourceURLs": some(rng, PATHS)}
    rule: Rule = {
        "verbs": some(rng, VERBS),
        "apiGroups": some(rng, GROUPS),
        "resources": some(rng, RESOURCES),
    }
    if rng.random() < 0.4:
        rule["resourceNames"] = some(rng, NAMES)
    return rule


def drawn_question(rng: random.Random) -> dict[str, str]:
    resource, below = rng.choice(ASKED)
    return {
        "verb": rng.choice(VERBS[:-1]), "group": rng.choice(GROUPS[:-1]), "resource": resource,
        "subresource": below, "name": rng.choice(("", "a", "b", "c")),
        "namespace": rng.choice(("here", "there", "")),
    }  # fmt: skip


async def answer(client: Client, spec: dict[str, Any]) -> bool:
    reply = await client.request("POST", REVIEWS, json={"spec": {"user": "one", **spec}})
    assert reply.status == 201, reply.json()
    allowed: bool = reply.json()["status"]["allowed"]
    return allowed


async def bind(client: Client, number: int, rule: Rule, namespace: str) -> None:
    """Give the user the rule, in the cluster or in a namespace; and take the last one away."""
    places = ("", "/namespaces/here")
    for place in places:
        kind = "rolebindings" if place else "clusterrolebindings"
        await client.request("DELETE", f"{RBAC}{place}/{kind}/one")
    name = f"rule-{number}"
    role = {"metadata": {"name": name}, "rules": [rule]}
    assert (await client.request("POST", f"{RBAC}/clusterroles", json=role)).status == 201
    place = f"/namespaces/{namespace}" if namespace else ""
    kind = "rolebindings" if place else "clusterrolebindings"
    binding = {
        "metadata": {"name": "one"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "name": "one"}],
    }
    made = await client.request("POST", f"{RBAC}{place}/{kind}", json=binding)
    assert made.status == 201, made.json()


async def test_one_rule_allows_what_is_documented(server: InProcess, client: Client) -> None:
    """In the whole cluster, or in the namespace of its binding and there for resources alone."""
    rng = seeded(7).rng
    body = {"metadata": {"name": "here"}}
    assert (await client.request("POST", "/api/v1/namespaces", json=body)).status == 201
    yes = no = 0
    for number in range(RULES):
        rule, place = drawn_rule(rng), rng.choice(("", "here"))
        await bind(client, number, rule, place)
        for _ in range(QUESTIONS):
            asked = drawn_question(rng)
            inside = place in ("", asked["namespace"])
            expected = inside and "resources" in rule and allows(rule, asked)
            found = await answer(client, {"resourceAttributes": asked})
            assert found is expected, (rule, place, asked)
            yes, no = yes + found, no + (not found)
        for path in ASKED_PATHS:
            question = {"verb": rng.choice(VERBS[:-1]), "path": path}
            expected = not place and allows_path(rule, question)
            found = await answer(client, {"nonResourceAttributes": question})
            assert found is expected, (rule, place, question)
            yes, no = yes + found, no + (not found)
    assert min(yes, no) > RULES
