"""The file of ``--admission-control-config-file``: what plugins are configured with.

Source: docs "Admission Control in Kubernetes" (AdmissionConfiguration), "kube-apiserver
Configuration (v1)".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from kubetrio.gotext.text import quote
from kubetrio.schema.structural_shapes import Field, Shape, ShapeKind, Struct
from kubetrio.schema.structural_strict import Walk
from kubetrio.wire.gojson import GoJsonError, Parsed, parse
from kubetrio.wire.jsonwire import find_kind

Object = dict[str, Any]

GROUP = "apiserver.config.k8s.io"
OLD_GROUP = "apiserver.k8s.io"
UNVERSIONED = {
    "imagePolicy": "ImagePolicyWebhook",
    "podNodeSelectorPluginConfig": "PodNodeSelector",
}
"""Members of files that are no AdmissionConfiguration but that of one plugin, and which."""


class ConfigurationError(ValueError):
    """Plugins cannot be configured so; the text is one line in kube-apiserver's words."""


class NotRegistered(ConfigurationError):
    """A file says of no kind that is known what it is."""


class Uninitialized(ConfigurationError):
    """A configuration can be read, and its plugin cannot begin with it."""


class _Declared(Struct):
    """A Go struct that is declared here, not in the API's schemas."""

    def __init__(self, go_name: str, members: Mapping[str, Shape]) -> None:
        super().__init__(go_name)
        self._members = members

    @property
    def fields(self) -> dict[str, Field]:
        """Members by JSON name."""
        return {
            name: Field(name, shape, pointer=False, omit=True, place=name)
            for name, shape in self._members.items()
        }


TEXT = Shape(ShapeKind.STRING, "string")
INT32 = Shape(ShapeKind.INT32, "int32")
BOOLEAN = Shape(ShapeKind.BOOL, "bool")
ANY = Shape(ShapeKind.RAW, "runtime.Unknown")


DURATION = Shape(ShapeKind.INT64, "time.Duration")


def listed(element: Shape) -> Shape:
    """A list."""
    return Shape(ShapeKind.LIST, f"[]{element.go_type}", element)


def declared(go_type: str, **members: Shape) -> Shape:
    """A struct.

    Args:
        go_type: its name in messages, such as ``v1.LimitedResource``.
        **members: by JSON name, with ``_`` for the dashes of those that have some.
    """
    shapes = {name.replace("_", "-"): shape for name, shape in members.items()}
    name = go_type.rpartition(".")[2]
    return Shape(ShapeKind.STRUCT, go_type, struct=_Declared(name, shapes))


def of_type_meta(go_type: str, **members: Shape) -> Shape:
    """A struct with kind and apiVersion; the rest as `declared`."""
    return declared(go_type, kind=TEXT, apiVersion=TEXT, **members)


def decode(
    data: bytes,
    kinds: Mapping[tuple[str, str], Shape],
    *,
    location: str,
    strict: bool = True,
) -> Object:
    """Read an object of one of several kinds.

    Args:
        data: YAML or JSON.
        kinds: types by apiVersion and kind.
        location: where the scheme is made, as messages name it.
        strict: whether unknown and duplicate fields are mistakes.

    Raises:
        NotRegistered: it says of none of these that it is one.
        ConfigurationError: it is none.
    """
    parsed, duplicates = _parsed(data)
    try:
        gvk = find_kind(parsed)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    text = data.decode("utf-8", "replace")
    if not gvk.kind:
        raise NotRegistered(f"Object 'Kind' is missing in '{text}'")
    if not gvk.version:
        raise NotRegistered(f"Object 'apiVersion' is missing in '{text}'")
    shape = kinds.get((gvk.api_version, gvk.kind))
    if shape is None:
        raise NotRegistered(
            f"no kind {quote(gvk.kind)} is registered for version {quote(gvk.api_version)} "
            f'in scheme "{location}"'
        )
    notes = [duplicates] if duplicates else []
    value = _cleaned(shape, parsed, notes)
    if strict and notes:
        raise ConfigurationError(f"strict decoding error: {', '.join(notes)}")
    return {**value, "apiVersion": gvk.api_version, "kind": gvk.kind}


def decode_unversioned(data: bytes, shape: Shape) -> Object:
    """Read what has no kind; nothing is strict.

    Raises:
        ConfigurationError: it is none of the type.
    """
    parsed, _ = _parsed(data)
    return _cleaned(shape, parsed, [])


def _parsed(data: bytes) -> tuple[Parsed, str]:
    """The value, and what strict decoding says of its duplicate keys."""
    if data.lstrip().startswith(b"{"):
        try:
            return parse(data), ""
        except GoJsonError as error:
            raise ConfigurationError(
                f"couldn't get version/kind; json parse error: {error}"
            ) from None
    from kubetrio.wire import yamlwire

    try:
        document = yamlwire.decode(data)
    except yamlwire.YamlError as error:
        raise ConfigurationError(f"error converting YAML to JSON: {error}") from None
    return Parsed(document.value), document.strict_error


def _cleaned(shape: Shape, parsed: Parsed, notes: list[str]) -> Object:
    try:
        value = Walk(parsed.repeated, notes).clean(shape, parsed.value)
    except GoJsonError as error:
        raise ConfigurationError(str(error)) from None
    return dict(value or {})


_LOCATION = "k8s.io/apiserver/pkg/server/options/admission.go:51"


def _admission_configuration(version: str) -> Shape:
    plugin = declared(
        f"{version}.AdmissionPluginConfiguration", name=TEXT, path=TEXT, configuration=ANY
    )
    return of_type_meta(f"{version}.AdmissionConfiguration", plugins=listed(plugin))


_KINDS = {
    (f"{GROUP}/v1", "AdmissionConfiguration"): _admission_configuration("v1"),
    (f"{OLD_GROUP}/v1alpha1", "AdmissionConfiguration"): _admission_configuration("v1alpha1"),
}
# Kinds of the same scheme that configure other things.
_OTHERS = {
    (GROUP, version, kind)
    for version in ("v1", "v1beta1", "v1alpha1")
    for kind in ("AuthenticationConfiguration", "AuthorizationConfiguration")
}


class Configurations:
    """What plugins are configured with.

    Args:
        given: name of a plugin, its inline configuration, the file that has it; in order.
    """

    def __init__(self, given: Sequence[tuple[str, bytes | None, Path | None]] = ()) -> None:
        self._given = tuple(given)

    def of(self, name: str) -> bytes | None:
        """The configuration of a plugin, None when there is none.

        Raises:
            ConfigurationError: its file cannot be read.
        """
        for known, inline, path in self._given:
            if known != name:
                continue
            if inline is not None or path is None:
                return inline
            try:
                return path.read_bytes()
            except OSError as error:
                raise ConfigurationError(
                    f"Couldn't open admission plugin configuration {path}: {_opening(path, error)}"
                ) from error
        return None


def read(path: Path | None, names: Sequence[str]) -> Configurations:
    """Read the file.

    Args:
        path: of the file, None when there is none.
        names: of the plugins that are on; old files configure those of them that they can.

    Raises:
        ConfigurationError: it cannot be read, or makes no sense.
    """
    if path is None:
        return Configurations()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f'unable to read admission control configuration from "{path}" '
            f"[{_opening(path, error)}]"
        ) from error
    try:
        value = decode(data, _KINDS, location=_LOCATION)
    except NotRegistered:
        if _is_other(data):
            kind = str(_parsed(data)[0].value["kind"])
            raise ConfigurationError(f"unexpected type: *apiserver.{kind}") from None
        if not _is_unversioned(data):
            raise
        old = set(UNVERSIONED.values())
        return Configurations([(name, None, path) for name in names if name in old])
    return Configurations([_entry(plugin, path) for plugin in value.get("plugins") or ()])


def _entry(plugin: Object, path: Path) -> tuple[str, bytes | None, Path | None]:
    inline = plugin.get("configuration")
    file = plugin.get("path")
    return (
        plugin.get("name") or "",
        None if inline is None else orjson.dumps(inline, _number, orjson.OPT_SORT_KEYS),
        path.parent / file if file else None,
    )


def _number(value: Any) -> orjson.Fragment:
    """A number with a fraction, as it was written."""
    return orjson.Fragment(value.text)


def _is_other(data: bytes) -> bool:
    gvk = find_kind(_parsed(data)[0])
    return (gvk.group, gvk.version, gvk.kind) in _OTHERS


def _is_unversioned(data: bytes) -> bool:
    value = _parsed(data)[0].value
    return isinstance(value, dict) and any(name in value for name in UNVERSIONED)


def _opening(path: Path, error: OSError) -> str:
    return f"open {path}: {(error.strerror or str(error)).lower()}"
