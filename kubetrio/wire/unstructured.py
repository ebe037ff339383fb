"""Bodies of custom resources to objects: kinds that no Go type is made for.

They are read as any JSON.  A kind is insisted on; that it is the one of the path, and its version
too, is found later.
Source: ``Decode`` of serializer/json, and of the codec of customresource_handler.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubetrio.machinery.names import GroupVersion, GroupVersionKind
from kubetrio.wire.gojson import GoJsonError, Parsed
from kubetrio.wire.jsonwire import Decoded, find_kind, unfit, unrecognised, with_defaults

Json = dict[str, Any]
Coerce = Callable[[Json, list[str]], Json]
"""An object with its metadata decoded: from any object, and a list for messages about fields."""
NO_TEXT = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"


def decode_unstructured(
    parsed: Parsed, body: bytes, want: GroupVersionKind, coerce: Coerce
) -> Decoded:
    """Decode a body that is already parsed.

    Args:
        parsed: the value.
        body: the request body, for messages.
        want: kind that the path takes.
        coerce: decodes what every object has.

    Returns:
        The object, which may be of another kind or version than wanted.

    Raises:
        ApiError: 400 with kube-apiserver's message.
    """
    try:
        guessed = with_defaults(find_kind(parsed), want)
    except ValueError as error:
        raise unrecognised(body, want.kind, str(error)) from None
    value: Json = {} if parsed.value is None else parsed.value
    kind = value.get("kind")
    if not kind:
        text = body.decode("utf-8", "replace")
        raise unrecognised(body, want.kind, f"Object 'Kind' is missing in '{text}'")
    try:
        version = value.get("apiVersion", "")
        if version is None:
            raise GoJsonError(NO_TEXT)
        gvk = GroupVersionKind(*GroupVersion.parse(version), kind)
        strict = [f'duplicate field "{path}"' for path in parsed.duplicates]
        value = coerce(value, strict)
    except ValueError as error:
        raise unfit(guessed, want.kind, str(error)) from None
    rest = {key: item for key, item in value.items() if key not in ("kind", "apiVersion")}
    return Decoded({"kind": kind, "apiVersion": gvk.api_version, **rest}, gvk, strict)
