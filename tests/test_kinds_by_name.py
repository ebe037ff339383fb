"""No module outside `kinds` knows built-in kinds by name, and modules do not import in circles."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from kubetrio.kinds.builtin import registry

PACKAGE = Path(__file__).parent.parent / "kubetrio"
# Rooms that are about built-in kinds: what they are, what exists at start, and tests.
ABOUT_KINDS = (
    "kinds",
    "crd",
    "plugins",
    "controllers",
    "allocation",
    "quota",
    "aggregation",
    "auth/rbac",
    "auth/node",
    "auth/trust.py",
    "bootstrap",
    "testing",
)
# The one list of names that the API itself gives meaning to.
LISTED = "schema/wellknown.py"
# Words that are plural names by chance.
OTHER_WORDS = {
    ("api/proxy/locations.py", "endpoints"): "a member of EndpointSlices",
    ("audit/lookup.py", "namespaces"): "the kind whose requests are said to be in itself",
    ("harness/reply.py", "events"): "a member of an answer in a script",
    ("harness/account.py", "events"): "a member of what a page shows of an answer",
    ("harness/operators/oracles.py", "events"): "those that operators write again and again",
    ("harness/operators/oracles.py", "leases"): "the same",
    ("simulation/nodeobjects.py", "pods"): "a resource that nodes have",
    ("simulation/kubelet.py", "pods"): "a path of kubelets",
    ("simulation/summary.py", "pods"): "a member of what a kubelet tells",
    ("simulation/metricskinds.py", "nodes"): "a kind of metrics.k8s.io",
    ("simulation/metricskinds.py", "pods"): "a kind of metrics.k8s.io",
    ("cli/commands.py", "nodes"): "a command",
    ("cli/nodes.py", "pods"): "a resource that nodes have",
    ("config/network.py", "services"): "a section of the configuration",
    ("cel/programs.py", "bindings"): "an extension of the CEL engine",
    ("flow/config.py", "namespaces"): "a member of FlowSchemas",
    ("store/sqlite/flights.py", "events"): "an attribute of a batch",
    ("watch/window.py", "events"): "the same",
    ("audit/policy.py", "namespaces"): "a member of an audit policy",
    ("store/etcd/fields.py", "events"): "a member of etcd's WatchResponse",
    ("ui/history.py", "namespaces"): "a part of the paths of pages",
    # Facts of the layout that kube-apiserver has in etcd: stored in another version than the rest.
    ("storagevalues/table.py", "customresourcedefinitions"): "stored in v1beta1",
    ("storagevalues/table.py", "mutatingadmissionpolicies"): "stored in v1beta1",
    ("storagevalues/table.py", "mutatingadmissionpolicybindings"): "stored in v1beta1",
}


@cache
def modules() -> dict[str, ast.Module]:
    """Every module by its path in the package."""
    return {
        str(path.relative_to(PACKAGE)): ast.parse(path.read_text())
        for path in sorted(PACKAGE.rglob("*.py"))
        if "_schemas" not in path.parts
    }


def outside() -> Iterator[tuple[str, ast.Module]]:
    """The modules that are not about kinds."""
    for name, tree in modules().items():
        if not name.startswith(ABOUT_KINDS) and name != LISTED:
            yield name, tree


def texts(tree: ast.AST) -> Iterator[str]:
    """Texts of a tree; documentation counts as one long text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_no_module_names_a_built_in_resource() -> None:
    """Plural names stand in `kinds`, and in one list with the reasons."""
    plural = {kind.resource for kind in registry().resources.values()}
    found = {(name, text) for name, tree in outside() for text in texts(tree) if text in plural}
    assert found == set(OTHER_WORDS)


def test_few_tables_name_kinds() -> None:
    """A table of two or more kinds is a property of kinds in the wrong place."""
    kinds = registry().resources.values()
    names = {kind.resource for kind in kinds} | {kind.kind for kind in kinds}
    tables = {
        name
        for name, tree in modules().items()
        if not name.startswith(tuple(room for room in ABOUT_KINDS if room != "bootstrap"))
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        if len({text for text in texts(node.value) if text in names}) > 1
    }
    assert len(tables) < 9, sorted(tables)


# ---------------------------------------------------------------- circles


def _imported(name: str, tree: ast.Module) -> set[str]:
    """Modules of the package that a module imports, wherever in it and for whatever reason."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kubetrio"):
            base = (node.module or "").removeprefix("kubetrio").strip(".").replace(".", "/")
            for alias in node.names:
                below = (f"{base}/{alias.name}.py", f"{base}/{alias.name}/__init__.py")
                paths = {path.strip("/") for path in below} & modules().keys()
                found |= paths or {f"{base}.py", f"{base}/__init__.py"} & modules().keys()
    return found - {name}


def circles() -> list[list[str]]:
    """Groups of modules that import each other (strongly connected components, Tarjan 1972)."""
    graph = {name: _imported(name, tree) for name, tree in modules().items()}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for name in graph:
        if name not in index:
            visit(name)
    return found


def test_no_modules_import_in_a_circle() -> None:
    """Nor is there one that only works because an import stands in a function or is for types."""
    assert circles() == []
