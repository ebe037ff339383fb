"""Request bodies to objects: media types, field validation, delete options."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

from kubetrio.api import options
from kubetrio.api.encoding import serializers
from kubetrio.api.encoding.accepting import accept, object_offer, offered
from kubetrio.api.offloop import INLINE_BYTES, WEIGHED_BYTES, OffLoop
from kubetrio.api.request import Request
from kubetrio.gotext.text import quote
from kubetrio.machinery.names import GroupVersion, GroupVersionKind
from kubetrio.machinery.status import bad_request, too_many_values
from kubetrio.schema import builtin
from kubetrio.schema.kind import Kind
from kubetrio.schema.objecttype import ObjectType
from kubetrio.schema.structural_scheme import scheme_of
from kubetrio.wire import gojson, jsonwire, negotiate, protowire, weights
from kubetrio.wire.report import Report
from kubetrio.wire.unstructured import decode_unstructured

MAX_REVIEW_BYTES = 64 * 1024
"""Bound of bodies that every authenticated user may send without a right (`Kind.open`)."""
META = "io.k8s.apimachinery.pkg.apis.meta.v1."


async def decode_body(
    request: Request, resource: Kind, max_bytes: int, off_loop: OffLoop, *, cbor: bool = False
) -> None:
    """Read and decode the body of a write into ``request.body``.

    What the client accepts and the options in the query are looked at first, so that of several
    mistakes the same one is answered as by kube-apiserver; the verbs read them again.

    Raises:
        ApiError: 400, 406, 413, 415 or 422.
    """
    verb = request.info.verb
    media = request.header(b"content-type") or None
    if verb == "patch":
        request.patch_type = negotiate.patch_type(media, custom=not resource.builtin, cbor=cbor)
    offer = negotiate.COLLECTION if verb == "deletecollection" else object_offer(request, resource)
    accept(request, offered(resource, offer, cbor=cbor))
    readable = negotiate.WITH_CBOR if cbor else negotiate.STANDARD
    codec = negotiate.body_codec(media, readable) if verb == "create" else None
    if verb == "deletecollection" and request.query:
        options.list_options(request, resource)
    if resource.open:
        max_bytes = min(max_bytes, MAX_REVIEW_BYTES)
    body = await request.read_body(max_bytes)
    request.body_bytes = len(body)
    if len(body) > INLINE_BYTES:
        await _begin(request, body, media or "", off_loop)
    if verb in ("delete", "deletecollection"):
        if body:  # the media type of no body does not matter
            codec = negotiate.body_codec(media, readable)
            request.body = await off_loop.run(request, _delete_options, body, codec)
        return
    if request.query:
        _check_options(request)
    if verb == "patch":
        request.body = body
        return
    if codec is None:
        codec = negotiate.body_codec(media, readable)
    value, request.given = request.given, None
    below = resource.subresources.get(request.info.subresource)
    gvk = resource.group_version_kind if below is None else below.kind
    older = frozenset[GroupVersionKind]() if below is None else below.older
    custom = None if resource.builtin or gvk != resource.group_version_kind else resource.type
    if custom is not None and value is not None:
        decoded = await off_loop.run(request, decode_value, value, gvk, older, custom)
    elif value is not None:
        decoded = decode_value(value, gvk, older)
    elif custom is None and not request.heavy:
        decoded = decode_object(body, gvk, codec, older)
    else:  # of a custom resource too: its schema may make much work of few bytes
        if codec == "protobuf" and custom is None:
            _prepare_type(body)
        decoded = await off_loop.run(request, decode_object, body, gvk, codec, older, custom)
    check_fields(request, decoded)
    if custom is not None:
        _check_custom(resource, decoded)
    request.body, request.empties = decoded.value, decoded.empties


async def _begin(request: Request, body: bytes, media: str, off_loop: OffLoop) -> None:
    """Wait until the work over a large body may begin, which counts by its weight.

    Raises:
        ApiError: 413.
    """
    request.heavy = True
    weigh = partial(weights.weight, change=request.info.verb in ("update", "patch"))
    if len(body) <= WEIGHED_BYTES:
        size = weigh(body, media)
    else:
        size = await off_loop.beside(request, weigh, body, media)
        if size > weights.MOST_WEIGHT and await off_loop.beside(
            request, weights.too_heavy, body, media
        ):
            raise too_many_values()
    await off_loop.begin(request, size)


def _prepare_type(body: bytes) -> None:
    """Have the plan of a message made here: those who make plans must not be interrupted."""
    try:
        envelope = protowire.unwrap(body)
        gvk = GroupVersionKind(*GroupVersion.parse(envelope.api_version), envelope.kind)
    except ValueError:
        return
    name = builtin.type_name_of(gvk)
    if name:
        serializers.protobuf().prepare(name)


def _check_options(request: Request) -> None:
    """Refuse options of a write.

    Raises:
        ApiError: 422.
    """
    if request.info.verb == "patch":
        options.patch_options(request)
    else:
        kind = "CreateOptions" if request.info.verb == "create" else "UpdateOptions"
        options.write_options(request, kind)


def decode_object(
    body: bytes,
    gvk: GroupVersionKind,
    codec: negotiate.Serializer,
    older: AbstractSet[GroupVersionKind] = frozenset(),
    custom: ObjectType | None = None,
) -> jsonwire.Decoded:
    """An object of a known kind from bytes in one of the media types.

    Args:
        body: the bytes.
        gvk: the kind.
        codec: of the media type.
        older: versions of the kind that will do too.
        custom: type of a custom resource, None for what a scheme knows; whether what is decoded is
            of the kind is not looked at then.

    Raises:
        ApiError: 400.
    """
    if custom is not None:
        return _decode_custom(body, gvk, codec, custom)
    scheme = scheme_of(gvk.group)
    match codec:
        case "json":
            return jsonwire.decode_request(body, gvk, scheme, older)
        case "yaml":
            from kubetrio.wire import yamlwire

            try:
                document = yamlwire.decode(body)
            except yamlwire.YamlError as error:
                raise jsonwire.unrecognised(body, gvk.kind, str(error)) from None
            parsed = gojson.Parsed(document.value, [], {})
            strict = [document.strict_error] if document.duplicates else []
            del document  # nothing else is to hold the value
            decoded = jsonwire.decode_parsed(parsed, body, gvk, scheme, older)
            return decoded._replace(strict=strict + decoded.strict)
        case _:
            return _decode_protobuf(body, gvk, codec, older)


def decode_value(
    value: Any,
    gvk: GroupVersionKind,
    older: AbstractSet[GroupVersionKind] = frozenset(),
    custom: ObjectType | None = None,
) -> jsonwire.Decoded:
    """Decode a value of a client that sends no bytes; the value is not changed."""
    parsed = gojson.Parsed(value, [], {})
    if custom is None:
        return jsonwire.decode_parsed(parsed, b"", gvk, scheme_of(gvk.group), older)
    return decode_unstructured(parsed, b"", gvk, _coercing(custom))


def _coercing(custom: ObjectType) -> Callable[[dict[str, Any], list[str]], dict[str, Any]]:
    def coerce(value: dict[str, Any], strict: list[str]) -> dict[str, Any]:
        return custom.decode(value, Report(strict))

    return coerce


def _decode_custom(
    body: bytes, gvk: GroupVersionKind, codec: negotiate.Serializer, custom: ObjectType
) -> jsonwire.Decoded:
    """A custom resource from bytes, of whatever kind it says it is.

    Raises:
        ApiError: 400.
    """
    repeated: list[str] = []
    try:
        match codec:
            case "json":
                parsed = gojson.parse(body)
            case "yaml":
                from kubetrio.wire import yamlwire

                document = yamlwire.decode(body)
                parsed = gojson.Parsed(document.value, [], {})
                repeated = [document.strict_error] if document.duplicates else []
            case "cbor":
                from kubetrio.wire import cborwire

                parsed = gojson.Parsed(cborwire.decode(body), [], {})
            case _:
                envelope = protowire.unwrap(body)
                version = envelope.api_version or gvk.api_version
                sent = GroupVersionKind(*GroupVersion.parse(version), envelope.kind or gvk.kind)
                raise jsonwire.unfit(sent, gvk.kind, NO_PROTOBUF)
    except gojson.GoJsonError as error:
        why = f"couldn't get version/kind; json parse error: {error}"
        raise jsonwire.unrecognised(body, gvk.kind, why) from None
    except ValueError as error:
        raise jsonwire.unrecognised(body, gvk.kind, str(error)) from None
    decoded = decode_unstructured(parsed, body, gvk, _coercing(custom))
    return decoded._replace(strict=repeated + decoded.strict)


# Source: crdserverscheme; nothing can be decoded into an object without a kind.
NO_PROTOBUF = "Object 'Kind' is missing in 'object has no kind field '"


def _check_custom(resource: Kind, decoded: jsonwire.Decoded) -> None:
    """Refuse a custom resource of another version than the path's; validation finds its kind.

    Raises:
        ApiError: 400.
    """
    sent, want = decoded.gvk, resource.group_version_kind
    if sent[:2] != want[:2]:
        raise bad_request(
            f"the API version in the data ({sent.api_version}) does not match "
            f"the expected API version ({want.api_version})"
        )


def _decode_protobuf(
    body: bytes,
    gvk: GroupVersionKind,
    codec: negotiate.Serializer,
    older: AbstractSet[GroupVersionKind],
) -> jsonwire.Decoded:
    scheme = scheme_of(gvk.group)
    if codec == "cbor":
        from kubetrio.wire import cborwire

        try:
            value = cborwire.decode(body)
        except ValueError as error:
            raise jsonwire.unrecognised(body, gvk.kind, str(error)) from None
    else:
        try:
            envelope = protowire.unwrap(body)
            sent = GroupVersionKind(
                *GroupVersion.parse(envelope.api_version or gvk.api_version),
                envelope.kind or gvk.kind,
            )
            name = builtin.type_name_of(sent)
            value = serializers.protobuf().decode(envelope.raw, name) if name else {}
        except ValueError as error:
            raise jsonwire.unrecognised(body, gvk.kind, str(error)) from None
        value = {"kind": sent.kind, "apiVersion": sent.api_version, **value}
    parsed = gojson.Parsed(value, [], {})
    del value  # nothing else is to hold it
    return jsonwire.decode_parsed(parsed, body, gvk, scheme, older)


def check_fields(request: Request, decoded: jsonwire.Decoded) -> None:
    """Refuse or warn of unknown and duplicate fields, as ``fieldValidation`` says.

    Raises:
        ApiError: 400 for ``Strict``.
    """
    if not decoded.strict:
        return
    validation = request.query.get("fieldValidation") or "Warn"
    if validation == "Strict":
        decoded.check_strict()
    if validation == "Warn":
        warn_strict(request, decoded.strict)


YAML_ERRORS = re.compile(r"(?:error converting YAML to JSON: )?yaml: unmarshal errors:\n")


def warn_strict(request: Request, strict: Iterable[str]) -> None:
    """Warn of what a strict decoder found; repeated keys of YAML are warnings of their own."""
    for text in strict:
        prefix = YAML_ERRORS.match(text)
        if prefix is None:
            request.warn([text])
        else:
            request.warn(line.strip() for line in text[prefix.end() :].split("\n"))


DELETE_OPTIONS = frozenset({"DeleteOptions", ""})
OPTIONS_SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"


def _delete_options(body: bytes, codec: negotiate.Serializer) -> dict[str, Any]:
    if codec == "protobuf":
        try:
            raw = protowire.unwrap(body).raw
            return serializers.protobuf().decode(raw, f"{META}DeleteOptions")
        except ValueError as error:
            raise bad_request(str(error)) from None
    if codec == "cbor":
        return decode_object(body, GroupVersionKind("", "v1", "DeleteOptions"), codec).value
    parsed = _parsed_options(body, codec)
    try:
        sent = jsonwire.find_kind(parsed)
    except ValueError as error:
        raise bad_request(str(error)) from None
    if sent.kind not in DELETE_OPTIONS:
        version = sent.api_version
        raise bad_request(
            f"no kind {quote(sent.kind)} is registered for version {quote(version)} "
            f'in scheme "{OPTIONS_SCHEME}"'
        )
    gvk = GroupVersionKind("", "v1", "DeleteOptions")
    try:
        return scheme_of("").decode(gvk, parsed.value, Report(), parsed.repeated)
    except ValueError as error:
        raise bad_request(str(error)) from None


def _parsed_options(body: bytes, codec: negotiate.Serializer) -> gojson.Parsed:
    """Delete options in JSON or YAML.

    Raises:
        ApiError: 400.
    """
    if codec == "yaml":
        from kubetrio.wire import yamlwire

        try:
            return gojson.Parsed(yamlwire.decode(body).value, [], {})
        except yamlwire.YamlError as error:
            raise bad_request(str(error)) from None
    try:
        return gojson.parse(body)
    except gojson.GoJsonError as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
