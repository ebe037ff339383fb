"""What the pods of nodes use, as counts."""

from __future__ import annotations

from kubetrio.auth.node.graph import Graph

NODES = ["n1", "n2"]


def test_equal_uses_cost_one_edge() -> None:
    """A pod that names a thing twice gives it up once."""
    graph = Graph()
    secret = ("secret", "x", "s")
    graph.bind(("pod", "x", "p"), "n1", [secret, secret])
    graph.bind(("pod", "x", "q"), "n1", [secret])
    graph.release(("pod", "x", "p"))
    assert graph.leads(secret, "n1")
    graph.release(("pod", "x", "q"))
    assert not graph.leads(secret, "n1")


def test_a_pod_that_comes_again_elsewhere_leaves_its_node() -> None:
    """Under the same name."""
    graph = Graph()
    secret = ("secret", "x", "s")
    graph.bind(("pod", "x", "p"), "n1", [secret])
    graph.bind(("pod", "x", "p"), "n2", [secret])
    assert [graph.leads(secret, node) for node in NODES] == [False, True]


def test_names_with_slashes_are_not_mixed_up() -> None:
    """A namespace and a name stay two things."""
    graph = Graph()
    graph.bind(("pod", "a", "p"), "n1", [("secret", "a", "b/c")])
    assert not graph.leads(("secret", "a/b", "c"), "n1")
