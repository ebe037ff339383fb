"""What requests and answers carry, as the JSON that stands in the audit log."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from kubetrio.api.encoding import serializers
from kubetrio.api.request import Request
from kubetrio.api.response import JSON, Response
from kubetrio.machinery.jsonvalues import copy_json
from kubetrio.machinery.names import GroupVersion, GroupVersionKind
from kubetrio.machinery.remember import counted
from kubetrio.resources.objects import canonical
from kubetrio.schema import builtin
from kubetrio.schema.kind import Kind
from kubetrio.wire import gojson, protowire
from kubetrio.wire.jsonwire import encode

Object = dict[str, Any]


class Told(NamedTuple):
    """Code and ``responseStatus`` of an answer, for the last events of its request.

    Args:
        code: status code.
        status: the `Status` as JSON.
    """

    code: int
    status: bytes


def patch_json(body: bytes) -> Callable[[], bytes]:
    """Makes a patch as it came; nothing of one that is no JSON, which cannot stand in an event."""

    def make() -> bytes:
        with suppress(gojson.GoJsonError):
            return encode(gojson.parse(body).value)
        return b""

    return make


def delete_json(body: Object) -> Callable[[], bytes]:
    """Makes the options of a deletion, under the name that kube-apiserver writes for them."""
    named = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/__internal"}
    return lambda: encode({**named, **{k: v for k, v in body.items() if k not in named}})


def object_json(request: Request, resource: Kind, *, omit: bool) -> Callable[[], bytes]:
    """An object as it came, with its defaults: Kubernetes sets those when it decodes."""
    from kubetrio.api.subresources.tokens import default_request
    from kubetrio.kinds.authentication.tokenrequests import TOKEN_REQUEST as TOKENS

    own = request.info.subresource in resource.subresources
    body = request.body

    def make() -> bytes:
        obj = copy_json(body)
        if not request.info.subresource or (
            own
            and resource.subresources[request.info.subresource].kind == resource.group_version_kind
        ):
            resource.rules.default(obj)
        elif (
            own
            and resource.subresources[request.info.subresource].kind == TOKENS.group_version_kind
        ):
            default_request(obj)
        if omit:
            _drop_managed(obj)
        return encode(canonical(obj, obj.get("kind") or "", obj.get("apiVersion") or ""))

    return make


@counted
@lru_cache(128)
def code_json(code: int) -> bytes:
    """``responseStatus`` of an answer that is no `Status`."""
    return b'{"metadata":{},"code":%d}' % code


def _drop_managed(doc: Object) -> None:
    """Take managed fields out of an object, a list or a table."""
    rows = [row.get("object") for row in doc.get("rows") or () if isinstance(row, dict)]
    items = doc.get("items")
    for one in (doc, *(items if isinstance(items, list) else ()), *rows):
        if isinstance(one, dict) and isinstance(one.get("metadata"), dict):
            one["metadata"].pop("managedFields", None)


def document_json(answer: Response, *, omit: bool) -> bytes:
    """The object in an answer as JSON, empty if there is none."""
    body, media = answer.body, answer.content_type
    if media.startswith(JSON) and body.startswith(b'{"kind"') and not omit:
        return body.rstrip(b"\n")
    doc = _decoded(body, media)
    if not isinstance(doc, dict) or "kind" not in doc:
        return b""
    if omit:
        _drop_managed(doc)
    # YAML and CBOR have their members in other orders.
    first = {name: doc[name] for name in ("kind", "apiVersion", "metadata") if name in doc}
    return encode({**first, **doc})


def _decoded(body: bytes, media: bytes) -> Any:
    """The value of an answer in any representation, None if it has none that is known."""
    kind = media.partition(b";")[0].strip()
    try:
        match kind:
            case b"application/json":
                return gojson.parse(body).value
            case b"application/yaml":
                from kubetrio.wire import yamlwire

                return yamlwire.decode(body).value
            case b"application/cbor":
                from kubetrio.wire import cborwire

                return cborwire.decode(body)
            case b"application/vnd.kubernetes.protobuf":
                envelope = protowire.unwrap(body)
                version = GroupVersion.parse(envelope.api_version)
                name = builtin.type_name_of(GroupVersionKind(*version, envelope.kind))
                value = serializers.protobuf().decode(envelope.raw, name) if name else {}
                named = {"kind": envelope.kind, "apiVersion": envelope.api_version}
                return {**named, **value}
    except ValueError:
        return None
    return None
