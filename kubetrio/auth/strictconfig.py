"""Configuration files of authentication, decoded strictly as kube-apiserver decodes them.

A file is YAML or JSON with kind and apiVersion.  What fields it may have is a table; a field that
is not in it, one given twice and one of another type are errors in the words of Go's decoder.

Source: k8s.io/apimachinery/pkg/runtime/serializer (strict decoding), sigs.k8s.io/json.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubetrio.gotext.text import quote
from kubetrio.wire import gojson

MOST_BYTES = 3 * 1024 * 1024
_FIND_KIND = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; '
    r'Kind string "json:\"kind,omitempty\"" }'
)


class StrictError(ValueError):
    """A file does not say what it should; the text is kube-apiserver's."""


@dataclass(frozen=True, slots=True)
class Struct:
    """The fields of a JSON object.

    Args:
        name: of its Go type, which errors name.
        fields: name to what is in it: ``string``, ``bool``, a `Struct`, or a list with one of
            these.
    """

    name: str
    fields: Mapping[str, Any]


def decode(
    data: bytes, kinds: Mapping[str, Struct], group: str, versions: tuple[str, ...], scheme: str
) -> tuple[dict[str, Any], str]:
    """The object in a file, and its kind.

    Args:
        data: content of the file.
        kinds: kinds that there are, and their fields.
        group: API group of them.
        versions: versions of the group, which are alike.
        scheme: where kube-apiserver knows these kinds from, for its messages.

    Raises:
        StrictError: it is not an object of one of these kinds.
    """
    if not data:
        raise StrictError("empty config data")
    if len(data) > MOST_BYTES:
        raise StrictError(f"more than {MOST_BYTES} bytes")
    value, strict = _read(data)
    if value is not None and not isinstance(value, dict):
        word = gojson.type_word(value)
        raise StrictError(
            f"couldn't get version/kind; json parse error: json: cannot unmarshal {word} "
            f"into Go value of type {_FIND_KIND}"
        )
    value = value or {}
    said = {}
    for name, called in (("kind", "Kind"), ("apiVersion", "apiVersion")):
        found = value.get(name)
        if not isinstance(found, str) or not found:
            shown = data.decode(errors="replace")
            raise StrictError(f"Object '{called}' is missing in '{shown}'")
        said[name] = found
    kind, version = said["kind"], said["apiVersion"]
    if kind not in kinds or version not in {f"{group}/{one}" for one in versions}:
        raise StrictError(
            f'no kind {quote(kind)} is registered for version {quote(version)} in scheme "{scheme}"'
        )
    shape = kinds[kind]
    whole = Struct(shape.name, {**shape.fields, "kind": "string", "apiVersion": "string"})
    _check(value, whole, "", "", version.rpartition("/")[2], whole.name, strict)
    if strict:
        raise StrictError(f"strict decoding error: {', '.join(strict)}")
    return value, kind


def _read(data: bytes) -> tuple[Any, list[str]]:
    """The value, and what is said of repeated fields."""
    if data.lstrip().startswith(b"{"):
        try:
            parsed = gojson.parse(data)
        except gojson.GoJsonError as error:
            raise StrictError(f"couldn't get version/kind; json parse error: {error}") from None
        return parsed.value, [f"duplicate field {quote(one)}" for one in parsed.duplicates]
    from kubetrio.wire import yamlwire

    try:
        document = yamlwire.decode(data)
    except yamlwire.YamlError as error:
        raise StrictError(f"couldn't get version/kind; json parse error: {error}") from None
    value = _sorted(document.value)
    return value, [document.strict_error] if document.strict_error else []


def _sorted(value: Any) -> Any:
    """YAML becomes JSON with sorted keys before it is decoded."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _check(
    value: Any, shape: Any, path: str, names: str, version: str, holder: str, strict: list[str]
) -> None:
    """Look whether a value fits.

    Args:
        value: the value.
        shape: what it should be.
        path: where it is, with indexes.
        names: the same without.
        version: of the API, a part of names of Go types.
        holder: Go type of what it is in.
        strict: receives fields that are unknown.

    Raises:
        StrictError: it does not fit.
    """
    if value is None:
        return
    kind = type(value).__name__
    type_name = {"string": "str", "bool": "bool"}.get(shape) if isinstance(shape, str) else None
    fits = (
        kind == type_name
        or (isinstance(shape, list) and kind == "list")
        or (isinstance(shape, Struct) and kind == "dict")
    )
    if not fits:
        raise StrictError(
            f"json: cannot unmarshal {gojson.type_word(value)} into Go struct field "
            f"{holder}.{names} of type {_go_type(shape, version)}"
        )
    if isinstance(shape, list):
        for at, item in enumerate(value):
            _check(item, shape[0], f"{path}[{at}]", names, version, holder, strict)
    elif isinstance(shape, Struct):
        for name, item in value.items():
            inside = f"{path}.{name}" if path else name
            if name not in shape.fields:
                strict.append(f"unknown field {quote(inside)}")
                continue
            below = f"{names}.{name}" if names else name
            _check(item, shape.fields[name], inside, below, version, shape.name, strict)


def _go_type(shape: Any, version: str) -> str:
    if isinstance(shape, list):
        return f"[]{_go_type(shape[0], version)}"
    return f"{version}.{shape.name}" if isinstance(shape, Struct) else str(shape)
