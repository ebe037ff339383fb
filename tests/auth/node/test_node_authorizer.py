"""What a kubelet may do, compared with what kube-apiserver 1.36 answered to the same reviews."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from kubetrio.api.subresources.reviews import question
from kubetrio.auth.authorize import Rules
from kubetrio.auth.node.authorizer import NODES, NodeAuthorizer, node_of, rules_of
from kubetrio.auth.node.graph import Graph
from kubetrio.machinery.identity import Attributes, Decision, UserInfo
from kubetrio.schema import builtin

ANSWERS = orjson.loads((Path(__file__).parent / "answers.json").read_bytes())
"""Name of the node, ``resourceAttributes``, status: of a server with the objects of `graph`."""


def graph() -> Graph:
    """Two nodes with a pod each; a volume with a Secret, an attachment and a slice on the first."""
    made = Graph()
    for at in "12":
        uses = [("serviceAccount", "default")]
        uses += [("secret", f"s{at}"), ("configmap", f"cm{at}"), ("pvc", f"c{at}")]
        named = [(kind, "default", name) for kind, name in uses]
        made.bind(("pod", "default", f"p{at}"), f"n{at}", named)
    made.bind_volume("v1", ("pvc", "default", "c1"), [("secret", "default", "vs1")])
    made.bind(("volumeattachment", "", "a1"), "n1")
    made.bind(("resourceslice", "", "sl1"), "n1")
    return made


def authorizer() -> NodeAuthorizer:
    role = builtin.load("bootstrap")["ClusterRole system:node"]
    return NodeAuthorizer(graph(), rules_of(role))


def test_as_kube_apiserver() -> None:
    """Decision, reason and what is said of selectors that cannot be read, of 1,200 questions."""
    deciding = authorizer()
    different = []
    for node, attributes, wanted in ANSWERS:
        user = UserInfo(f"system:node:{node}", groups=(NODES,))
        asked, ignored = question({"resourceAttributes": attributes}, user)
        found = deciding.authorize(asked)
        status = {"allowed": found.decision is Decision.ALLOW}
        if found.reason:
            status["reason"] = found.reason  # type: ignore[assignment]
        if ignored:
            status["evaluationError"] = "; ".join(ignored)  # type: ignore[assignment]
        if status != wanted:
            different.append((node, attributes, wanted, status))
    assert not different
    assert len(ANSWERS) > 1_000


@pytest.mark.parametrize(
    ("user", "node"),
    [
        (UserInfo("system:node:n1", groups=(NODES,)), "n1"),
        (UserInfo("system:node:n1", groups=("a", NODES)), "n1"),
        (UserInfo("system:node:", groups=(NODES,)), ""),
        (UserInfo("system:node:a:b", groups=(NODES,)), "a:b"),
        (UserInfo("system:node:n1"), None),
        (UserInfo("system:node:n1", groups=("system:nodes ",)), None),
        (UserInfo("n1", groups=(NODES,)), None),
        (UserInfo("system:nodes:n1", groups=(NODES,)), None),
    ],
)
def test_who_is_a_kubelet(user: UserInfo, node: str | None) -> None:
    """By name and group, and not by one of them."""
    assert node_of(user) == node


def test_paths_are_nothing_to_it() -> None:
    """Nor is anybody who is no kubelet."""
    deciding = authorizer()
    kubelet = UserInfo("system:node:n1", groups=(NODES,))
    path = Attributes(user=kubelet, verb="get", resource_request=False, path="/api")
    assert deciding.authorize(path).decision is Decision.NO_OPINION
    other = Attributes(user=UserInfo("n1"), verb="get", resource="pods", name="p1")
    assert deciding.authorize(other).decision is Decision.NO_OPINION


def test_rules_cannot_be_listed_for_kubelets() -> None:
    """And are said to be incomplete; for others it has nothing to say."""
    said = "node authorizer does not support user rule resolution"
    deciding = authorizer()
    assert deciding.rules_for(UserInfo("system:node:n1", groups=(NODES,)), "x").error == said
    assert deciding.rules_for(UserInfo("alice"), "x") == Rules()
