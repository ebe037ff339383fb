"""YAML bodies in and out, as kube-apiserver reads and prints them.

Events of libyaml are turned into JSON values here, without recursion, so depth and the size of
what aliases stand for are bounded.  Only the first document of a stream is read, as by Go.
Errors have the words of the Go library, which shares its parser's ancestry with libyaml.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from kubetrio.wire import gojson
from kubetrio.wire.weights import too_heavy
from kubetrio.wire.yamlorder import sorted_keys
from kubetrio.wire.yamlscalars import json_number, needs_quotes, number_text, resolve

MAX_DEPTH = 200
"""Nesting of collections; printing as JSON must stay within orjson's 254."""
MAX_ALIASED_NODES = 100_000
"""How many nodes all aliases of a document may stand for."""
MAX_NODES = 700_000
"""Nodes of a document, keys and what aliases make counted."""
MAX_DUPLICATES = 1000
"""How many repeated keys are told, the first ones; Go tells all."""
MAX_TAG_DIRECTIVES = 5000
"""How often a document may say ``%TAG``: libyaml compares each with all others."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_TAGS = "tag:yaml.org,2002:"
_LINE_WIDTH = 80


class YamlError(ValueError):
    """Not YAML, or not YAML with a meaning in JSON; the text is that of the Go library."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A key that was there before in the same mapping; the last one counts.

    Args:
        key: the key.
        line: line of its value, from 1.
    """

    key: str
    line: int

    @property
    def message(self) -> str:
        """What a warning says."""
        quoted = json.dumps(self.key, ensure_ascii=False)
        return f"line {self.line}: key {quoted} already set in map"


@dataclass(frozen=True, slots=True)
class Document:
    """What a body says.

    Args:
        value: the JSON value; None for an empty body.
        duplicates: keys given twice, in order; at most `MAX_DUPLICATES`.
    """

    value: Any
    duplicates: tuple[Duplicate, ...] = ()

    @property
    def strict_error(self) -> str:
        """What strict decoding says of the duplicates; empty if there are none."""
        if not self.duplicates:
            return ""
        lines = "".join(f"\n  {duplicate.message}" for duplicate in self.duplicates)
        return f"yaml: unmarshal errors:{lines}"


def decode(data: bytes) -> Document:
    """Read the first document of a YAML stream.

    Raises:
        YamlError: malformed, without JSON meaning, too deep, or with too much behind aliases.
    """
    plain = _as_json(data)
    return _as_yaml(data) if plain is None else plain


def _as_json(data: bytes) -> Document | None:
    """What YAML that is JSON says: most clients apply JSON, and reading that takes a twentieth.

    None for whatever the two might read differently: escapes, characters that are not printable
    ASCII, keys far from their colon, repeated keys, fractions, large numbers and deep nesting.
    """
    if not data.startswith(b"{") or _PRINTABLE(data) is None or _FAR_COLON(data) is not None:
        return None
    if too_heavy(data, "application/json"):
        return None
    value = gojson.parse_plain(data)
    return None if value is None or not _reads_alike(value, MAX_DEPTH) else Document(value)


_PRINTABLE = re.compile(rb"[\n\r -\[\]-~]*").fullmatch
_FAR_COLON = re.compile(rb'"\s+:').search
_LONG_KEY = 1000
"""YAML gives up on a key at 1024 characters."""


def _reads_alike(value: Any, depth: int) -> bool:
    if isinstance(value, dict):
        return depth > 0 and all(
            len(key) < _LONG_KEY and _reads_alike(item, depth - 1) for key, item in value.items()
        )
    if isinstance(value, list):
        return depth > 0 and all(_reads_alike(item, depth - 1) for item in value)
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return not isinstance(value, float)


def _as_yaml(data: bytes) -> Document:
    builder = _Builder()
    source = _Source(data)
    try:
        for event in yaml.parse(source, Loader=_Loader):
            source.begun = type(event) is not yaml.StreamStartEvent
            if builder.take(event):
                break
    except yaml.YAMLError as error:
        raise YamlError(f"yaml: {_go_message(error)}") from error
    return Document(builder.result, tuple(builder.duplicates))


class _Source:
    """Gives the parser its text in pieces, so that it can be stopped before its first event.

    Args:
        data: the text.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._directives = 0
        self.begun = False
        """Whether the document has begun; directives come before."""

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes.

        Raises:
            YamlError: too many directives.
        """
        piece = self._data[self._at : self._at + size if size >= 0 else None]
        self._at += len(piece)
        if not self.begun:
            self._directives += sum(piece.count(word) for word in _TAG_DIRECTIVE)
            if self._directives > MAX_TAG_DIRECTIVES:
                raise YamlError("yaml: document contains excessive %TAG directives")
        return piece


_TAG_DIRECTIVE = tuple("%TAG".encode(coding) for coding in ("utf-8", "utf-16-le", "utf-16-be"))


_TOO_DEEP = "exceeded maximum nesting depth"
"""What libyaml says since 0.2.6 of a thousand flow collections in each other."""


def _go_message(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError):
        return str(getattr(error, "reason", error))
    if error.problem == _TOO_DEEP:
        return f"exceeded max depth of {MAX_DEPTH}"
    line = 0
    if error.problem_mark is not None and error.problem_mark.line:
        # The scanner has not counted the line it is in.
        line = error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
    elif error.context_mark is not None:
        line = error.context_mark.line
    where = f"line {line}: " if line else ""
    return f"{where}{error.problem or 'unknown problem parsing YAML content'}"


_MERGE = object()
_NO_KEY = object()


@dataclass(slots=True)
class _Open:
    """A collection that is being read.

    Args:
        container: the dict or list.
        anchor: its name for aliases, or None.
        line: where it began, from 1.
        first_node: number of nodes read before it.
        key: of the value to come, in a dict.
    """

    container: dict[str, Any] | list[Any]
    anchor: str | None
    line: int
    first_node: int
    key: Any = field(default=_NO_KEY)


class _Builder:
    """Makes a value of events."""

    def __init__(self) -> None:
        self.result: Any = None
        self.duplicates: list[Duplicate] = []
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._inside: Counter[str] = Counter()  # anchors of the collections being read
        self._nodes = 0
        self._aliased = 0

    def take(self, event: Any) -> bool:
        """Take the next event; True at the end of the document."""
        kind = type(event)  # a chain of `match` takes as long as the parser
        if self._nodes > MAX_NODES:
            raise YamlError("yaml: document has too many nodes")
        if kind is yaml.ScalarEvent:
            self._nodes += 1
            self._scalar(event)
        elif kind is yaml.MappingStartEvent:
            self._start({}, event)
        elif kind is yaml.SequenceStartEvent:
            self._start([], event)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._end()
        elif kind is yaml.AliasEvent:
            self._alias(event)
        return kind is yaml.DocumentEndEvent

    def _wants_key(self) -> bool:
        top = self._open[-1] if self._open else None
        return top is not None and isinstance(top.container, dict) and top.key is _NO_KEY

    def _scalar(self, event: Any) -> None:
        line = event.start_mark.line + 1
        if not self._wants_key():
            value = _json_value(_scalar_value(event))
            self._put(value, line)
        elif event.value == "<<" and (event.implicit[0] or event.tag == f"{_TAGS}merge"):
            value = "<<"
            self._open[-1].key = _MERGE
        else:
            value = _scalar_value(event)
            self._open[-1].key = _key_text(value)
        if event.anchor:
            self._anchors[event.anchor] = (value, 1)

    def _start(self, container: dict[str, Any] | list[Any], event: Any) -> None:
        self._nodes += 1
        if self._wants_key():
            raise YamlError("yaml: invalid map key")
        if len(self._open) == MAX_DEPTH:
            raise YamlError(f"yaml: exceeded max depth of {MAX_DEPTH}")
        if event.anchor:
            self._anchors.pop(event.anchor, None)
            self._inside[event.anchor] += 1
        line = event.start_mark.line + 1
        self._open.append(_Open(container, event.anchor, line, self._nodes - 1))

    def _end(self) -> None:
        done = self._open.pop()
        if done.anchor:
            self._inside[done.anchor] -= 1
            self._anchors[done.anchor] = (done.container, self._nodes - done.first_node)
        self._put(done.container, done.line)

    def _alias(self, event: Any) -> None:
        name, line = event.anchor, event.start_mark.line + 1
        if self._inside[name]:
            raise YamlError(f"yaml: anchor '{name}' value contains itself")
        if name not in self._anchors:
            raise YamlError(f"yaml: unknown anchor '{name}' referenced")
        value, nodes = self._anchors[name]
        self._nodes += nodes
        self._aliased += nodes
        if self._aliased > MAX_ALIASED_NODES:
            raise YamlError("yaml: document contains excessive aliasing")
        if self._wants_key():
            self._open[-1].key = _key_text(value)
        else:
            self._put(_copy(_json_value(value), MAX_DEPTH - len(self._open)), line)

    def _put(self, value: Any, line: int) -> None:
        if not self._open:
            self.result = value
            return
        top = self._open[-1]
        if isinstance(top.container, list):
            top.container.append(value)
            return
        key, top.key = top.key, _NO_KEY
        if key is not _MERGE:
            self._set(top.container, key, value, line)
            return
        # In a list of mappings, earlier ones take precedence.
        for mapping in reversed(value) if isinstance(value, list) else (value,):
            if not isinstance(mapping, dict):
                raise YamlError("yaml: map merge requires map or sequence of maps as the value")
            for inner_key, inner in mapping.items():
                self._set(top.container, inner_key, inner, line)

    def _set(self, container: dict[str, Any], key: str, value: Any, line: int) -> None:
        if key in container and len(self.duplicates) < MAX_DUPLICATES:
            self.duplicates.append(Duplicate(key, line))
        container[key] = value


def _copy(value: Any, depth: int) -> Any:
    if isinstance(value, dict | list):
        if depth <= 0:
            raise YamlError(f"yaml: exceeded max depth of {MAX_DEPTH}")
        if isinstance(value, dict):
            return {key: _copy(item, depth - 1) for key, item in value.items()}
        return [_copy(item, depth - 1) for item in value]
    return value


def _scalar_value(event: Any) -> Any:
    text: str = event.value
    if event.implicit[0]:
        return resolve(text)
    tag = (event.tag or "").removeprefix(_TAGS)
    if event.implicit[1] or tag not in _RESOLVED:
        return text
    if tag == "binary":
        return _binary(text)
    value = resolve(text)
    found = _tag_of(value)
    if found == tag or (tag == "float" and found == "int"):
        return value
    raise YamlError(f"yaml: cannot decode !!{found} `{text}` as a !!{tag}")


_RESOLVED = frozenset(("int", "float", "bool", "null", "binary"))


def _binary(text: str) -> str:
    try:
        return base64.b64decode(text, validate=False).decode("utf-8", "replace")
    except binascii.Error:
        raise YamlError("yaml: !!binary value contains invalid base64 data") from None


def _tag_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    return "float" if isinstance(value, float) else "str"


def _json_value(value: Any) -> Any:
    if type(value) is int or type(value) is float:
        try:
            return json_number(value)
        except ValueError as error:
            raise YamlError(str(error)) from None
    return value


def _key_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if value - value != 0:
            return {"inf": ".inf", "-inf": "-.inf"}.get(repr(value), ".nan")
        return number_text(value)
    raise YamlError("yaml: invalid map key")


def encode(value: Any) -> bytes:
    """Print a JSON value as YAML: block style, keys sorted, ended by a line break.

    Raises:
        ValueError: a number that is not finite, or nested too deeply.
    """
    try:
        text: str = yaml.emit(_events(value), Dumper=_Dumper, allow_unicode=True, width=_LINE_WIDTH)
    except RecursionError:
        raise ValueError(f"yaml: exceeded max depth of {MAX_DEPTH}") from None
    return text.encode("utf-8", "replace")


def _events(value: Any) -> Iterator[yaml.Event]:
    yield yaml.StreamStartEvent(encoding=None)
    yield yaml.DocumentStartEvent(explicit=False)
    yield from _node(value, 1)
    yield yaml.DocumentEndEvent(explicit=False)
    yield yaml.StreamEndEvent()


_ANY_STYLE = (True, True)


def _node(value: Any, depth: int) -> Iterator[yaml.Event]:
    if isinstance(value, str):
        style = None
        if "\n" in value:
            style = "|"
        elif needs_quotes(value):
            style = '"'
        yield yaml.ScalarEvent(None, None, _ANY_STYLE, value, style=style)
    elif isinstance(value, dict):
        if depth > MAX_DEPTH:
            raise RecursionError
        yield yaml.MappingStartEvent(None, None, True, flow_style=False)
        for key in sorted_keys(value):
            yield from _node(key, depth)
            yield from _node(value[key], depth + 1)
        yield yaml.MappingEndEvent()
    elif isinstance(value, list):
        if depth > MAX_DEPTH:
            raise RecursionError
        yield yaml.SequenceStartEvent(None, None, True, flow_style=False)
        for item in value:
            yield from _node(item, depth + 1)
        yield yaml.SequenceEndEvent()
    else:
        yield yaml.ScalarEvent(None, None, _ANY_STYLE, _plain_text(value))


def _plain_text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value)
