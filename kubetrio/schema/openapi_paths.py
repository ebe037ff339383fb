"""Operations of OpenAPI documents, the same for both versions of OpenAPI.

Built-in operations are rows of ``schemas/operations``, a file for each version.  A resource without
rows, which is one from a CustomResourceDefinition, gets the rows of a plain built-in resource under
its own name (kube-apiserver writes them by the same rule).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final

from kubetrio.machinery.names import GroupVersion, GroupVersionKind
from kubetrio.schema import builtin
from kubetrio.schema.kind import Kind
from kubetrio.schema.openapi_types import META, type_name
from kubetrio.schema.registry import Registry
from kubetrio.wire import negotiate

Json = dict[str, Any]
Rows = Mapping[str, Mapping[str, Json]]

JSON_YAML: Final = ("application/json", "application/yaml")
OBJECT_TYPES: Final = tuple(negotiate.MEDIA_TYPES[item] for item in negotiate.STANDARD)
STREAM_TYPES: Final = (
    *OBJECT_TYPES,
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
)
ANYTHING: Final = ("*/*",)
CODES: Final = {"200": "OK", "201": "Created", "202": "Accepted", "401": "Unauthorized"}
INTEGERS: Final = frozenset(
    {"gracePeriodSeconds", "limit", "limitBytes", "ports", "sinceSeconds", "tailLines"}
    | {"timeoutSeconds"}
)
BOOLEANS: Final = frozenset(
    {"allowWatchBookmarks", "follow", "force", "ignoreStoreReadErrorWithClusterBreakingPotential"}
    | {"insecureSkipTLSVerifyBackend", "orphanDependents", "previous", "sendInitialEvents"}
    | {"stderr", "stdin", "stdout", "timestamps", "tty", "watch"}
)
# Kinds whose DELETE answers with the object that was removed; the others answer with a Status.
RETURNED_WHEN_DELETED: Final = frozenset(
    {"/v1/PersistentVolume", "/v1/PersistentVolumeClaim", "/v1/Pod", "/v1/PodTemplate"}
    | {"/v1/ResourceQuota", "/v1/Service", "/v1/ServiceAccount"}
    | {"resource.k8s.io/v1/DeviceClass", "resource.k8s.io/v1/ResourceClaim"}
    | {"resource.k8s.io/v1/ResourceClaimTemplate", "resource.k8s.io/v1/ResourceSlice"}
    | {"storage.k8s.io/v1/CSIDriver", "storage.k8s.io/v1/CSINode"}
    | {"storage.k8s.io/v1/StorageClass", "storage.k8s.io/v1/VolumeAttachment"}
    | {"storage.k8s.io/v1/VolumeAttributesClass"}
)
# Answers of the paths that serve no API object: type name (empty: text) and media types.
DOCUMENTS: Final = {
    "/.well-known/openid-configuration/": ("", ("application/json",)),
    "/api/": (f"{META}APIVersions", OBJECT_TYPES),
    "/apis/": (f"{META}APIGroupList", OBJECT_TYPES),
    "/openid/v1/jwks/": ("", ("application/jwk-set+json",)),
    "/version/": ("io.k8s.apimachinery.pkg.version.Info", ("application/json",)),
}
# Those of them that do not say what they take.
UNREAD: Final = frozenset({"/.well-known/openid-configuration/", "/openid/v1/jwks/"})
METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch")
PATHS: Final = 4
"""Paths that are written in a step."""
# Whose rows a custom resource gets; a namespaced resource that nothing special is known about.
TEMPLATE: Final = "/api/v1/namespaces/{namespace}/configmaps"
TEMPLATE_SUBRESOURCE: Final = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/status"
STRATEGIC: Final = "application/strategic-merge-patch+json"
# API verb of a subresource to method and first word of the operation's name.
SUBRESOURCE_METHODS: Final = {
    "get": ("get", "read"),
    "update": ("put", "replace"),
    "patch": ("patch", "patch"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter in the path or the query.

    Args:
        name: as sent.
        location: ``path`` or ``query``.
        type: OpenAPI type.
        shared: name under which a v2 document says it once; empty if each operation says it.
    """

    name: str
    location: str
    type: str
    shared: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What a document says about one method of one path.

    Args:
        method: HTTP method in lower case.
        id: ``operationId``.
        tag: group and version, such as ``apps_v1``.
        action: ``x-kubernetes-action`` or empty.
        gvk: kind it is about, or None.
        parameters: sorted by name.
        codes: status codes.
        produces: media types of answers; empty when there is no body.
        response: type name of answers, or empty for text.
        accepts: media types of request bodies; empty when there is none.
        consumes: media types that a v2 document names, also for a method without a body.
        body: type name of request bodies.
        body_required: whether a request without body is an error.
    """

    method: str
    id: str
    tag: str
    action: str
    gvk: GroupVersionKind | None
    parameters: tuple[Parameter, ...]
    codes: tuple[str, ...]
    produces: tuple[str, ...]
    response: str
    accepts: tuple[str, ...]
    consumes: tuple[str, ...]
    body: str
    body_required: bool

    def type_names(self) -> Iterator[str]:
        """Names of the types it refers to."""
        if self.response:
            yield self.response
        if self.accepts:
            yield self.body


@cache
def _root_rows() -> Mapping[str, Rows]:
    """Built-in rows of what is above versions by document path, such as ``apis/apps``."""
    table: dict[str, dict[str, Mapping[str, Json]]] = {}
    for path, methods in builtin.load("operations/root").items():
        table.setdefault(path.strip("/"), {})[path] = methods
    return table


def _rows(document: str) -> Rows:
    """Built-in rows of a document; none for a version that is not built in."""
    group_version = group_version_of(document)
    if group_version is None:
        return _root_rows().get(document, {})
    try:
        return builtin.load(f"operations/{group_version.group or 'core'}.{group_version.version}")
    except FileNotFoundError:
        return {}


def document_paths(registry: Registry) -> list[str]:
    """Paths of all documents, sorted: those of served groups and versions, and the plain ones."""
    root = _root_rows()
    paths = {"api", "apis", *_plain_paths()}
    for group, versions in registry.groups.items():
        if f"apis/{group}" in root:
            paths.add(f"apis/{group}")
        paths.update(document_path(GroupVersion(group, version)) for version in versions)
    return sorted(paths)


def has_document(registry: Registry, path: str) -> bool:
    """Whether there is a document at a path; `document_paths` names them all."""
    group_version = group_version_of(path)
    if group_version is not None:
        return group_version in registry.by_group_version
    root, _, group = path.partition("/")
    if root == "apis" and group:
        return path in _root_rows() and group in registry.groups
    return path in ("api", "apis") or path in _plain_paths()


@cache
def _plain_paths() -> frozenset[str]:
    """Paths of documents that are about no group."""
    root = _root_rows()
    handlers = (path.strip("/") for path in builtin.load("resources")["rootPaths"])
    return frozenset(path for path in handlers if path in root)


def document_path(group_version: GroupVersion) -> str:
    """Path of the document of a version."""
    return f"apis/{group_version.api_version}" if group_version.group else "api/v1"


def is_custom(document: str) -> bool:
    """Whether a document is about custom resources alone."""
    return group_version_of(document) is not None and not _rows(document)


def group_version_of(document: str) -> GroupVersion | None:
    """The version a document is about, or None for the other documents."""
    match document.split("/"):
        case ["api", version]:
            return GroupVersion("", version)
        case ["apis", group, version]:
            return GroupVersion(group, version)
        case _:
            return None


def operations(registry: Registry, document: str) -> dict[str, tuple[Operation, ...]]:
    """Operations of a document by path, sorted by path."""
    return dict(each_path(registry, document))


def each_path(registry: Registry, document: str) -> Iterator[tuple[str, tuple[Operation, ...]]]:
    """Paths of a document, sorted, with their operations."""
    rows = dict(_rows(document))
    group_version = group_version_of(document)
    if group_version is not None:
        root = f"/{document}/"
        served = {item.resource: item for item in registry.by_group_version[group_version]}
        known = {_resource_in(path, root) for path in rows}
        rows = {path: rows[path] for path in rows if _resource_in(path, root) in {"", *served}}
        for name in served.keys() - known:
            rows.update(_custom_rows(root, served[name]))
    for path in sorted(rows):
        yield path, tuple(_operation(path, method, row) for method, row in rows[path].items())


def shared_parameters(items: Sequence[Operation]) -> tuple[Parameter, ...]:
    """Parameters that all operations of a path take; documents say them once, at the path."""
    shared = set(items[0].parameters).intersection(*(item.parameters for item in items))
    return tuple(item for item in items[0].parameters if item in shared)


def path_item(
    items: Sequence[Operation],
    operation: Callable[[Operation, Sequence[Parameter]], Json],
    parameter: Callable[[Parameter], Json],
) -> Json:
    """The operations of a path in a version of OpenAPI.

    Args:
        items: operations, at least one.
        operation: writes one of them, given the parameters that stand at the path.
        parameter: writes one of those.
    """
    shared = shared_parameters(items)
    ordered = sorted(items, key=lambda item: METHODS.index(item.method))
    result: Json = {item.method: operation(item, shared) for item in ordered}
    if shared:
        result["parameters"] = [parameter(item) for item in shared]
    return result


def _resource_in(path: str, root: str) -> str:
    """Plural name in a path below a version; empty for the version itself."""
    rest = path.removeprefix(root).removeprefix("watch/")
    return rest.removeprefix("namespaces/{namespace}/").split("/")[0]


def _operation(path: str, method: str, row: Json) -> Operation:
    gvk = GroupVersionKind(*row["gvk"].split("/"))
    about = GroupVersionKind(*row["type"].split("/")) if "type" in row else gvk
    action = row.get("action", "")
    response, produces = _answer(path, row, about)
    accepts = tuple(sorted(row.get("accepts", ()), key=_patch_order))
    return Operation(
        method=method,
        id=row["id"],
        tag=_tag(path),
        action=action,
        gvk=gvk if gvk.kind else None,
        parameters=tuple(_parameters(path, action, row.get("params", ()))),
        codes=tuple(row["codes"]),
        produces=produces,
        response=response,
        accepts=accepts,
        consumes=_consumes(path, row, accepts, produces),
        body=_body(action, about),
        body_required=action in {"patch", "post", "put"},
    )


def _answer(path: str, row: Json, gvk: GroupVersionKind) -> tuple[str, tuple[str, ...]]:
    produces = tuple(row.get("produces", OBJECT_TYPES))
    match row.get("action", ""):
        case "":
            return _document_answer(path)
        case "connect":
            return "", ("*/*",)
        case "list":
            kind = row.get("lists", f"{gvk.kind}List")
            name = type_name(GroupVersionKind(gvk.group, gvk.version, kind))
            return name, tuple(row.get("produces", STREAM_TYPES))
        case "watch" | "watchlist":
            return f"{META}WatchEvent", STREAM_TYPES
        case "deletecollection":
            return f"{META}Status", produces
        case "delete" if row["gvk"] not in RETURNED_WHEN_DELETED:
            return f"{META}Status", produces
        case "get" if path.endswith("/{name}/log"):
            return "", ("text/plain", *produces)
        case _:
            return type_name(gvk), produces


def _document_answer(path: str) -> tuple[str, tuple[str, ...]]:
    if path in DOCUMENTS:
        return DOCUMENTS[path]
    versioned = group_version_of(path.strip("/")) is not None
    return f"{META}{'APIResourceList' if versioned else 'APIGroup'}", OBJECT_TYPES


def _body(action: str, gvk: GroupVersionKind) -> str:
    match action:
        case "delete" | "deletecollection":
            return f"{META}DeleteOptions"
        case "patch":
            return f"{META}Patch"
        case "post" | "put":
            return type_name(gvk)
        case _:
            return ""


def _patch_order(media_type: str) -> int:
    """Place among the patch types as kube-apiserver lists them; other types stay as they come."""
    known = negotiate.PATCH_TYPES
    return known.index(media_type) if media_type in known else len(known)


def _consumes(
    path: str, row: Json, accepts: tuple[str, ...], produces: tuple[str, ...]
) -> tuple[str, ...]:
    match row.get("action", ""):
        case "":
            return () if path in UNREAD else produces
        case "patch":
            return accepts
        case _:
            return tuple(row.get("consumes", ANYTHING))


def _parameters(path: str, action: str, names: Iterable[str]) -> Iterator[Parameter]:
    in_path: set[str] = set()
    shared = builtin.load("parameters")
    # Words about a parameter differ by what it is for, and so do the names it is shared under.
    place = _subresource_in(path)
    for name in names:
        # A proxy has "path" twice: the rest of the URL, and a query parameter.
        location = "path" if f"{{{name}}}" in path and name not in in_path else "query"
        if location == "path":
            in_path.add(name)
        kind = "integer" if name in INTEGERS else "boolean" if name in BOOLEANS else "string"
        key = f"{name} {location}"
        known = (f"{key} {place}", f"{key} {action}", key)
        reference = next((shared[item] for item in known if item in shared), "")
        yield Parameter(name=name, location=location, type=kind, shared=reference)


def _subresource_in(path: str) -> str:
    """Resource and subresource of a path, such as ``pods/exec``; empty without a subresource."""
    before, separator, after = path.partition("/{name}/")
    return f"{before.rpartition('/')[2]}/{after.split('/')[0]}" if separator else ""


def _camel(text: str, *, capital: bool) -> str:
    """Drop what is not a letter, digit or underscore; a capital letter follows what was dropped."""
    result = ""
    for character in text:
        if not (character.isalpha() or character == "_" or (result and character.isdigit())):
            capital = True
            continue
        result += character.upper() if capital else character
        capital = False
    return result


def _tag(path: str) -> str:
    match path.strip("/").split("/"):
        case ["api"]:
            return "core"
        case ["api", version, *_]:
            return f"core_{_camel(version, capital=False)}"
        case ["apis", group]:
            return _camel(group.removesuffix(".k8s.io"), capital=False)
        case ["apis", group, version, *_]:
            name = _camel(group.removesuffix(".k8s.io"), capital=False)
            return f"{name}_{_camel(version, capital=False)}"
        case [first, *_]:
            return _camel(first, capital=False)
        case _:
            raise ValueError(f"no path: {path!r}")


def _custom_row(resource: Kind, source: Json, verb: str, name: str) -> Json:
    """Return the row of one operation of a resource, from the row of a built-in one."""
    group = _camel(resource.group.removesuffix(".k8s.io"), capital=True)
    version = _camel(resource.version, capital=True)
    params = [item for item in source["params"] if resource.namespaced or item != "namespace"]
    if verb == "read":
        # Only custom resources document this parameter of a GET.
        params.append("resourceVersion")
    row = {
        **source,
        "id": f"{verb}{group}{version}{name}",
        "gvk": "/".join(resource.group_version_kind),
        "lists": resource.list_kind,
        "params": sorted(params),
        "produces": JSON_YAML,
        "consumes": JSON_YAML,
    }
    if verb == "patch":
        row["accepts"] = [item for item in source["accepts"] if item != STRATEGIC]
        row["codes"] = [code for code in source["codes"] if code != "201"]
    elif "accepts" in source:
        row["accepts"] = JSON_YAML
    return row


def _custom_rows(root: str, resource: Kind) -> dict[str, dict[str, Json]]:
    """Rows of a resource that has none, in the shape of ``schemas/operations``."""
    place = "namespaces/{namespace}/" if resource.namespaced else ""
    base = f"{root}{place}{resource.resource}"
    scope = "Namespaced" if resource.namespaced else ""
    row = partial(_custom_row, resource)
    table = builtin.load("operations/core.v1")
    many, one = table[TEMPLATE], table[f"{TEMPLATE}/{{name}}"]
    kind = f"{scope}{resource.kind}"
    rows: dict[str, dict[str, Json]] = {
        base: {
            "get": row(many["get"], "list", kind),
            "post": row(many["post"], "create", kind),
            "delete": {
                **row(many["get"], "delete", f"Collection{kind}"),
                "action": "deletecollection",
            },
        },
        f"{base}/{{name}}": {
            "get": row(one["get"], "read", kind),
            "put": row(one["put"], "replace", kind),
            "patch": row(one["patch"], "patch", kind),
            "delete": row(one["delete"], "delete", kind),
        },
    }
    if resource.namespaced:
        everywhere = row(many["get"], "list", f"{resource.kind}ForAllNamespaces")
        everywhere["params"] = [item for item in everywhere["params"] if item != "namespace"]
        rows[f"{root}{resource.resource}"] = {"get": everywhere}
    below = builtin.load("operations/apps.v1")[TEMPLATE_SUBRESOURCE]
    for sub in resource.subresources.values():
        name = f"{kind}{_camel(sub.name, capital=True)}"
        rows[f"{base}/{{name}}/{sub.name}"] = {
            method: {**row(below[method], verb, name), "type": "/".join(sub.kind)}
            for api_verb, (method, verb) in SUBRESOURCE_METHODS.items()
            if api_verb in sub.verbs
        }
    return rows
