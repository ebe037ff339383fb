"""What users of an operator do: they make, change and delete a few of its objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from kubetrio.harness.operators.runs import FOREIGN
from kubetrio.harness.script import Request
from kubetrio.harness.strategies import custom_objects, objects, path_of

Object = dict[str, Any]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACE = "default"
NAMES = ("a", "b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The kind that an operator is for.

    Args:
        bodies: objects of it, whose names do not count.
        path: of a collection of it, or with a name of an object.
        before: requests that make the server ready for it.
    """

    bodies: SearchStrategy[Object]
    path: Callable[[str], str]
    before: Sequence[Request] = ()

    def create(self, name: str, body: Mapping[str, Any], finalizers: Sequence[str] = ()) -> Request:
        """The request that makes an object.

        Args:
            name: of the object.
            body: what it is otherwise.
            finalizers: that it has from the start.
        """
        return Request(method="POST", path=self.path(""), body=_named(body, name, finalizers))

    def change(self, name: str, body: Mapping[str, Any]) -> Request:
        """The request that makes an object what another one is, but for its metadata."""
        kept = ("apiVersion", "kind", "metadata", "status")
        patch = [
            {"op": "add", "path": f"/{_pointer(key)}", "value": value}
            for key, value in body.items()
            if key not in kept
        ]
        headers = {"Content-Type": "application/json-patch+json"}
        return Request(method="PATCH", path=self.path(name), headers=headers, body=patch)

    def delete(self, name: str) -> Request:
        """The request that deletes an object."""
        return Request(method="DELETE", path=self.path(name))

    def users(self) -> SearchStrategy[Request]:
        """What users do after the first object is there."""
        names = st.sampled_from(NAMES)
        return st.one_of(
            st.builds(self.change, names, self.bodies),
            st.builds(self.delete, names),
            st.builds(self.create, names, self.bodies, self.finalizers()),
        )

    def finalizers(self) -> SearchStrategy[Sequence[str]]:
        """Finalizers that an object is made with: none, or that of another controller."""
        return st.sampled_from(((), (FOREIGN,)))


def subject(
    kind: str | Mapping[str, Any],
    *,
    bodies: SearchStrategy[Object] | None = None,
    before: Sequence[Request] = (),
) -> Subject:
    """Return the kind that an operator is for.

    Args:
        kind: a CustomResourceDefinition, or the name of a built-in kind: ``apps/v1 Deployment``.
        bodies: objects of it; drawn from its schema when None.
        before: further requests that make the server ready.
    """
    if isinstance(kind, str):
        drawn = objects(kind, namespace=NAMESPACE) if bodies is None else bodies
        return Subject(
            bodies=drawn, path=lambda name: path_of(kind, NAMESPACE, name), before=tuple(before)
        )
    spec = kind["spec"]
    [version] = [one["name"] for one in spec["versions"] if one["storage"]]
    inside = f"/namespaces/{NAMESPACE}" if spec["scope"] == "Namespaced" else ""
    root = f"/apis/{spec['group']}/{version}{inside}/{spec['names']['plural']}"
    define = Request(method="POST", path=DEFINITIONS, body=dict(kind))
    return Subject(
        bodies=custom_objects(kind, namespace=NAMESPACE) if bodies is None else bodies,
        path=lambda name: f"{root}/{name}" if name else root,
        before=(define, *before),
    )


def _named(body: Mapping[str, Any], name: str, finalizers: Sequence[str]) -> Object:
    """An object with a name, and of its metadata nothing else but the namespace."""
    meta: Object = {"name": name}
    if space := body["metadata"].get("namespace"):
        meta["namespace"] = space
    if finalizers:
        meta["finalizers"] = list(finalizers)
    return {**body, "metadata": meta}


def _pointer(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
