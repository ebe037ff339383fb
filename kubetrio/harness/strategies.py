"""Hypothesis strategies for objects, changes of them and requests about them.

Needs hypothesis.  `objects` and `custom_objects` are valid: a server takes them.  `mutated` breaks
what they draw.  `requests` are about few objects, so that they meet each other.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from kubetrio.harness import examples
from kubetrio.harness.schemavalues import values
from kubetrio.harness.script import Request, Script
from kubetrio.harness.setup import Setup
from kubetrio.kinds.builtin import registry

Object = dict[str, Any]
PATCHES: Mapping[str, str] = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
}
FEW_NAMES = ("a", "b", "c")
MANAGER = "fieldManager"


def names() -> SearchStrategy[str]:
    """Names of objects that every kind takes which does not make them itself."""
    return st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)


def labels() -> SearchStrategy[dict[str, str]]:
    """Labels, few of them, that selectors find."""
    keys = st.sampled_from(("app", "tier", "example.com/part"))
    return st.dictionaries(keys, st.sampled_from(("", "a", "b-1", "c.d_e")), max_size=3)


def notes() -> SearchStrategy[dict[str, str]]:
    """Annotations, few of them, with any text."""
    keys = st.sampled_from(("note", "example.com/note"))
    text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
    return st.dictionaries(keys, text, max_size=2)


@st.composite
def objects(
    draw: DrawFn, kind: str | SearchStrategy[str] | None = None, *, namespace: str = "default"
) -> Object:
    """Valid objects of built-in kinds, with names, labels and annotations that are drawn.

    Args:
        draw: of hypothesis.
        kind: a name such as ``apps/v1 Deployment``, or a strategy for them; all when None.
        namespace: of those that have one.
    """
    if not isinstance(kind, str):
        kind = draw(st.sampled_from(examples.kinds()) if kind is None else kind)
    obj = examples.example(kind)
    fixed = kind in examples.NAMED_BY_RULE
    return _with_metadata(draw, obj, namespace, obj["metadata"]["name"] if fixed else None)


@st.composite
def custom_objects(
    draw: DrawFn, definition: Mapping[str, Any], *, version: str = "", namespace: str = "default"
) -> Object:
    """Objects of a CustomResourceDefinition that its schema takes.

    Rules in CEL (``x-kubernetes-validations``) are not known here: an object may break one.

    Args:
        draw: of hypothesis.
        definition: the CustomResourceDefinition.
        version: of the objects; the stored one when empty.
        namespace: of those that have one.
    """
    spec = definition["spec"]
    [chosen] = [
        one for one in spec["versions"] if (one["name"] == version if version else one["storage"])
    ]
    schema = dict(chosen["schema"]["openAPIV3Schema"])
    for name in ("apiVersion", "kind", "metadata", "status"):
        schema["properties"] = {**schema.get("properties", {})}
        schema["properties"].pop(name, None)
    body: Object = draw(values(schema))
    for name in ("apiVersion", "kind", "metadata", "status"):
        body.pop(name, None)
    meta = {"namespace": namespace} if spec["scope"] == "Namespaced" else {}
    head = {"apiVersion": f"{spec['group']}/{chosen['name']}", "kind": spec["names"]["kind"]}
    return _with_metadata(draw, {**head, "metadata": meta, **body}, namespace, None)


def _with_metadata(draw: DrawFn, obj: Object, namespace: str, name: str | None) -> Object:
    meta = obj["metadata"]
    meta["name"] = name or draw(names())
    if "namespace" in meta:
        meta["namespace"] = namespace
    for field, strategy in (("labels", labels()), ("annotations", notes())):
        if drawn := draw(strategy):
            meta[field] = {**meta.get(field, {}), **drawn}
    return obj


@st.composite
def mutated(draw: DrawFn, base: SearchStrategy[Object], *, changes: int = 3) -> Object:
    """Objects that were valid before some changes: values of other types, nulls, what is missing.

    Kind, version, name and namespace stay, so that they reach the server's own checks.

    Args:
        draw: of hypothesis.
        base: valid objects.
        changes: so many at most.
    """
    obj = copy.deepcopy(draw(base))
    for _ in range(draw(st.integers(1, changes))):
        places = [place for place in _places(obj) if place not in _KEPT]
        if not places:
            break
        *parents, last = draw(st.sampled_from(places))
        holder: Any = obj
        for part in parents:
            holder = holder[part]
        match draw(st.sampled_from(("drop", "other", "more"))):
            case "drop":
                del holder[last]
            case "other":
                holder[last] = draw(anything())
            case _ if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[last]))
            case _:
                holder[draw(st.sampled_from(("unknown", "spec", "")))] = draw(anything())
    return obj


_KEPT = {
    ("apiVersion",), ("kind",), ("metadata",), ("metadata", "name"), ("metadata", "namespace"),
}  # fmt: skip


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all members of a value."""
    rows: Any = ()
    if isinstance(value, Mapping):
        rows = value.items()
    elif isinstance(value, list):
        rows = enumerate(value)
    for key, inner in rows:
        yield (*path, key)
        yield from _places(inner, (*path, key))


def anything() -> SearchStrategy[Any]:
    """JSON of any type, small, with numbers at the limits of their types."""
    numbers = st.sampled_from((0, -1, 1, 2**31, -(2**31) - 1, 2**63 - 1, 0.5, 1e300))
    text = st.sampled_from(("", "a", "x" * 300, "ä\u2028", "1", "true", "2023-11-14T22:13:20Z"))
    leaves = st.none() | st.booleans() | numbers | text
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(st.sampled_from(("a", "name", "")), inner, max_size=2)
        ),
        max_leaves=4,
    )


@st.composite
def patches(draw: DrawFn, base: SearchStrategy[Object]) -> tuple[str, Any]:
    """A content type and the body of a patch that is of an object's own members, mostly.

    Args:
        draw: of hypothesis.
        base: objects that are patched.
    """
    obj = draw(base)
    form = draw(st.sampled_from(tuple(PATCHES)))
    places = [place for place in _places(obj) if place not in _KEPT]
    chosen = draw(st.lists(st.sampled_from(places), max_size=3)) if places else []
    if form == "json":
        operations = []
        for place in chosen:
            pointer = "".join(
                f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in place
            )
            op = draw(st.sampled_from(("add", "replace", "remove", "test")))
            operations.append({"op": op, "path": pointer, "value": draw(anything())})
        return PATCHES[form], operations
    patch: Object = {"metadata": {"labels": draw(labels())}}
    for place in chosen:
        holder = patch
        names_of = [part for part in place if isinstance(part, str)]
        for part in names_of[:-1]:
            inner = holder.setdefault(part, {})
            holder = inner if isinstance(inner, dict) else {}
        holder[names_of[-1]] = draw(anything())
    return PATCHES[form], patch


def selectors() -> SearchStrategy[dict[str, str]]:
    """Query parameters of a selector: by labels, by the name, or none; some are mistakes."""
    by_label = st.sampled_from(
        ("app", "!app", "app=a", "app!=a", "app in (a,b-1)", "tier notin (a),app", "app=", "in(")
    )
    by_field = st.sampled_from(
        ("metadata.name=a", "metadata.name!=a", "metadata.namespace=default", "spec.nothing=a")
    )
    return (
        st.just({})
        | by_label.map(lambda text: {"labelSelector": text})
        | by_field.map(lambda text: {"fieldSelector": text})
    )


def resource_versions(step: int | None = None) -> SearchStrategy[str]:
    """ResourceVersions of a read: none, any, old, future, none at all, or that of a step's answer.

    Args:
        step: number of a step whose answer has one.
    """
    known = ("", "0", "1", "999999999", "x")
    return st.sampled_from(
        known if step is None else (*known, f"{{{{{step}.metadata.resourceVersion}}}}")
    )


def write_options() -> SearchStrategy[dict[str, str]]:
    """Query parameters of a write."""
    return st.fixed_dictionaries(
        {},
        optional={
            "dryRun": st.just("All"),
            MANAGER: st.sampled_from(("one", "other")),
            "fieldValidation": st.sampled_from(("Strict", "Warn", "Ignore")),
        },
    )


def delete_options() -> SearchStrategy[Object | None]:
    """Bodies of a deletion: none, or DeleteOptions."""
    return st.none() | st.fixed_dictionaries(
        {"kind": st.just("DeleteOptions"), "apiVersion": st.just("v1")},
        optional={
            "propagationPolicy": st.sampled_from(("Foreground", "Background", "Orphan")),
            "gracePeriodSeconds": st.sampled_from((0, 30)),
            "preconditions": st.just({"resourceVersion": "1"}),
        },
    )


def path_of(kind: str, namespace: str = "default", name: str = "") -> str:
    """The path of a collection of a built-in kind, or of an object in it.

    Args:
        kind: such as ``apps/v1 Deployment``.
        namespace: of objects that have one.
        name: of the object, or empty.

    Raises:
        KeyError: there is no such kind.
    """
    for resource in registry().resources.values():
        if examples.named(resource) == kind and resource.storage_prefix:
            root = f"/apis/{resource.group}" if resource.group else "/api"
            inside = f"/namespaces/{namespace}" if resource.namespaced else ""
            tail = f"/{name}" if name else ""
            return f"{root}/{resource.version}{inside}/{resource.resource}{tail}"
    raise KeyError(kind)


@st.composite
def requests(
    draw: DrawFn, kind: str | SearchStrategy[str] = "v1 ConfigMap", *, broken: bool = True
) -> Request:
    """Requests about a few objects of a kind: creates, reads, lists, updates, patches, deletions.

    Args:
        draw: of hypothesis.
        kind: such as ``apps/v1 Deployment``, or a strategy for them.
        broken: whether some objects are `mutated`.
    """
    kind = kind if isinstance(kind, str) else draw(kind)
    name = draw(st.sampled_from(FEW_NAMES))
    if kind in examples.NAMED_BY_RULE:
        name = examples.example(kind)["metadata"]["name"]
    valid = objects(kind).map(lambda one: _renamed(one, name))
    bodies = st.one_of(valid, valid, mutated(valid)) if broken else valid
    collection, path = path_of(kind), path_of(kind, name=name)
    match draw(st.sampled_from(("create", "create", "update", "patch", "get", "list", "delete"))):
        case "create":
            query = draw(write_options())
            return Request(method="POST", path=_asked(collection, query), body=draw(bodies))
        case "update":
            query = draw(write_options())
            return Request(method="PUT", path=_asked(path, query), body=draw(bodies))
        case "patch":
            media, body = draw(patches(valid))
            query, headers = draw(write_options()), {"Content-Type": media}
            return Request(method="PATCH", path=_asked(path, query), headers=headers, body=body)
        case "get":
            # One that is no number is answered 500, as by kube-apiserver.
            version = draw(resource_versions().filter(lambda text: text != "x"))
            return Request(path=_asked(path, {"resourceVersion": version} if version else {}))
        case "list":
            return Request(path=_asked(collection, draw(selectors())))
        case _:
            return Request(method="DELETE", path=path, body=draw(delete_options()))


def scripts(
    kind: str | SearchStrategy[str] = "v1 ConfigMap",
    *,
    setup: Setup | None = None,
    longest: int = 10,
    broken: bool = True,
) -> SearchStrategy[Script]:
    """Scripts of requests about a few objects.

    Args:
        kind: see `requests`.
        setup: how the server is made.
        longest: most steps.
        broken: see `requests`.
    """
    steps = st.lists(requests(kind, broken=broken), min_size=1, max_size=longest)
    return steps.map(lambda drawn: Script(setup=setup or Setup(), steps=tuple(drawn)))


def _renamed(obj: Object, name: str) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "name": name}}


def _asked(path: str, query: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path
