"""Prebuilt requests: bytes with holes for the object's number and a serial that never repeats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.endpoint import Endpoint

Slot = Literal["key", "serial"]

OBJECT_BYTES = 1024  # JSON of a ConfigMap as it is sent
NUMBER = "%08d"
NAME = f"cm-{NUMBER}"
SERIAL = "%020d"
SENTENCE = "The quick brown fox jumps over the lazy dog. "


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One kind of request.

    Args:
        label: name in results.
        template: the request; `%` formats for `slots`, in latin-1.
        slots: what each format is filled with.
        first: smallest object number.
        span: how many object numbers; they are visited over and over in a scattered order.
        endless: count up from `first` instead, never repeating a number.
        weight: share of this request among the others of a load.
        expect: status codes that are right.
    """

    label: str
    template: str
    slots: tuple[Slot, ...] = ()
    first: int = 0
    span: int = 1
    endless: bool = False
    weight: int = 1
    expect: tuple[int, ...] = (200,)


PROTOBUF = "application/vnd.kubernetes.protobuf"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON = "application/json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


def collection(namespace: str) -> str:
    """Path of the ConfigMaps of a namespace."""
    return f"/api/v1/namespaces/{namespace}/configmaps"


def body(size: int = OBJECT_BYTES) -> str:
    """A ConfigMap of so many bytes with holes for its number and a serial."""
    front = (
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"'
        + NAME
        + '","labels":{"app":"bench"}},"data":{"serial":"'
        + SERIAL
        + '","text":"'
    )
    back = '"}}'
    room = size - len((front + back) % (0, 0))
    return front + (SENTENCE * (room // len(SENTENCE) + 1))[:room] + back


def _request(
    endpoint: Endpoint,
    method: str,
    path: str,
    content: str = "",
    *,
    content_type: str = "application/json",
    accept: str = "",
    encoding: str = "",
) -> str:
    headers = {name: value.replace("%", "%%") for name, value in endpoint.headers().items()}
    if accept:
        headers["Accept"] = accept
    if encoding:
        headers["Accept-Encoding"] = encoding
    if content:
        headers["Content-Type"] = content_type
        holes = content.count(NUMBER) + content.count(SERIAL)
        headers["Content-Length"] = str(len(content % ((0,) * holes)))
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines) + "\r\n\r\n" + content


def fixed(
    endpoint: Endpoint,
    path: str,
    *,
    label: str = "get",
    weight: int = 1,
    accept: str = "",
    encoding: str = "",
) -> Op:
    """GET of one path, the same bytes each time."""
    escaped = path.replace("%", "%%")
    return Op(
        label=label,
        template=_request(endpoint, "GET", escaped, accept=accept, encoding=encoding),
        weight=weight,
    )


def get(
    endpoint: Endpoint,
    namespace: str,
    span: int,
    *,
    weight: int = 1,
    accept: str = "",
    query: str = "",
) -> Op:
    """GET of the first `span` objects of a namespace, scattered."""
    path = f"{collection(namespace)}/{NAME}{query}"
    return Op(
        label="get",
        template=_request(endpoint, "GET", path, accept=accept),
        slots=("key",),
        span=span,
        weight=weight,
    )


def post(endpoint: Endpoint, namespace: str, first: int, *, size: int = OBJECT_BYTES) -> Op:
    """POST of new objects, numbered upward from `first`."""
    return Op(
        label="post",
        template=_request(endpoint, "POST", collection(namespace), body(size)),
        slots=("key", "serial"),
        first=first,
        endless=True,
        expect=(201,),
    )


def put(
    endpoint: Endpoint, namespace: str, span: int, *, weight: int = 1, size: int = OBJECT_BYTES
) -> Op:
    """Unconditional PUT of the first `span` objects; the serial makes each one a change."""
    path = f"{collection(namespace)}/{NAME}"
    return Op(
        label="put",
        template=_request(endpoint, "PUT", path, body(size)),
        slots=("key", "key", "serial"),
        span=span,
        weight=weight,
    )


def delete(endpoint: Endpoint, namespace: str, first: int) -> Op:
    """DELETE of objects, numbered upward from `first`."""
    path = f"{collection(namespace)}/{NAME}"
    return Op(
        label="delete",
        template=_request(endpoint, "DELETE", path),
        slots=("key",),
        first=first,
        endless=True,
    )


def create(endpoint: Endpoint, collection_path: str, content: str, first: int) -> Op:
    """POST of new objects of any kind, numbered upward from `first`.

    Args:
        endpoint: where to.
        collection_path: path of their collection.
        content: the object with holes for its number and a serial, see `manifests`.
        first: smallest number.
    """
    return Op(
        label="create",
        template=_request(endpoint, "POST", collection_path, content),
        slots=("key", "serial"),
        first=first,
        endless=True,
        expect=(201,),
    )


def apply(endpoint: Endpoint, collection_path: str, content: str, span: int) -> Op:
    """Server-side apply of the first `span` objects; the serial makes each one a change.

    Args:
        endpoint: where to.
        collection_path: path of their collection.
        content: as for `create`.
        span: how many objects; the first round creates them.
    """
    path = f"{collection_path}/{NAME}?fieldManager=bench"
    return Op(
        label="apply",
        template=_request(endpoint, "PATCH", path, content, content_type=APPLY),
        slots=("key", "key", "serial"),
        span=span,
        expect=(200, 201),
    )


def change(
    endpoint: Endpoint, method: str, path: str, content: str, span: int, *, content_type: str
) -> Op:
    """A change of the first `span` objects of any kind, by a body with a hole for a serial.

    Args:
        endpoint: where to.
        method: PUT or PATCH.
        path: of an object, with a hole for its number.
        content: what is sent; the serial makes each one a change.
        span: how many objects.
        content_type: of the body.
    """
    slots: tuple[Slot, ...] = ("key", "key", "serial") if NAME in content else ("key", "serial")
    return Op(
        label=method.lower(),
        template=_request(endpoint, method, path, content, content_type=content_type),
        slots=slots,
        span=span,
    )
