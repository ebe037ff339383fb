"""JSON bodies of requests to objects, and objects to JSON bytes.

What a body says about its kind is settled as kube-apiserver's serializer does it: kind and
apiVersion are looked for first, ignoring case; what is missing comes from the path; a registered
kind is decoded as itself, and only then it is found to be the wrong one.  Types are known to a
``Scheme``, which the rooms above provide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, Protocol

import orjson

from kubetrio.gotext.text import quote
from kubetrio.machinery.names import GroupVersion, GroupVersionKind
from kubetrio.machinery.status import ApiError, bad_request
from kubetrio.wire.gojson import (
    Float,
    GoJsonError,
    Parsed,
    float_text,
    parse,
    type_word,
)
from kubetrio.wire.goscan import Pairs
from kubetrio.wire.jsonpieces import LARGE_BYTES
from kubetrio.wire.report import Empties, Report

Json = dict[str, Any]

_SUMMARY_BYTES = 30
# The Go struct that kind and apiVersion are read into, as messages print it.
_FIND_KIND = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; '
    r'Kind string "json:\"kind,omitempty\"" }'
)


class Scheme(Protocol):
    """The types a decoder knows."""

    def location(self) -> str:
        """Where the scheme was made, as messages name it."""

    def knows(self, gvk: GroupVersionKind) -> bool:
        """Whether a kind is registered."""

    def go_names(self, gvk: GroupVersionKind) -> tuple[str, str]:
        """Names of the Go types of a registered kind: versioned and internal."""

    def decode(
        self,
        gvk: GroupVersionKind,
        value: Any,
        report: Report,
        repeated: Mapping[int, Pairs],
    ) -> Json:
        """Decode a value of a registered kind; the report receives what there is to tell.

        Raises:
            ValueError: the value does not fit, in Go's words.
        """


class Decoded(NamedTuple):
    """An object from a request (a tuple: every write makes one).

    Args:
        value: the object, with kind and apiVersion.
        gvk: what it is.
        strict: messages about unknown and duplicate fields in the order of the text: the warnings
            of ``fieldValidation=Warn``.
        empties: members that were given, are empty and so are not in the object.
    """

    value: Json
    gvk: GroupVersionKind
    strict: list[str]
    empties: Empties | None = None

    def check_strict(self) -> None:
        """Refuse what ``fieldValidation=Strict`` refuses.

        Raises:
            ApiError: 400, there are unknown or duplicate fields.
        """
        if self.strict:
            why = f"strict decoding error: {', '.join(self.strict)}"
            raise unfit(self.gvk, self.gvk.kind, why)


def decode_request(
    body: bytes,
    want: GroupVersionKind,
    scheme: Scheme,
    older: AbstractSet[GroupVersionKind] = frozenset(),
) -> Decoded:
    """Decode the JSON body of a write.

    Args:
        body: the request body.
        want: kind that the path takes: of the resource, or of the subresource.
        scheme: the types of the server that has the path.
        older: versions of that kind which the path takes too.

    Raises:
        ApiError: 400 with kube-apiserver's message.
    """
    try:
        parsed = parse(body)
    except GoJsonError as error:
        why = f"couldn't get version/kind; json parse error: {error}"
        raise unrecognised(body, want.kind, why) from None
    return decode_parsed(parsed, body, want, scheme, older)


def decode_parsed(
    parsed: Parsed,
    body: bytes,
    want: GroupVersionKind,
    scheme: Scheme,
    older: AbstractSet[GroupVersionKind] = frozenset(),
) -> Decoded:
    """Decode a body that is already parsed (from JSON or YAML).

    Args:
        parsed: the value; that of a large body is let go of.
        body: the request body, for messages.
        want: kind that the path takes.
        scheme: the types of the server that has the path.
        older: versions of that kind which the path takes too; they have the same members.

    Raises:
        ApiError: 400 with kube-apiserver's message.
    """
    if len(body) <= LARGE_BYTES:
        return _decode_parsed(parsed, body, want, scheme, older)
    try:
        return _decode_parsed(parsed, body, want, scheme, older)
    except ApiError as error:
        error.__context__ = None  # what went wrong holds on to the value
        raise error.with_traceback(None) from None
    finally:
        parsed.let_go()


def _decode_parsed(
    parsed: Parsed,
    body: bytes,
    want: GroupVersionKind,
    scheme: Scheme,
    older: AbstractSet[GroupVersionKind],
) -> Decoded:
    value, version = parsed.value, want.api_version
    if (
        type(value) is dict
        and value.get("kind") == want.kind
        and value.get("apiVersion") == version
        and scheme.knows(want)
    ):
        gvk = want  # what nearly every client sends
    else:
        gvk = _said_kind(parsed, body, want, scheme)
        version = gvk.api_version
    report = Report()
    try:
        value = scheme.decode(gvk, parsed.value, report, parsed.repeated)
    except ValueError as error:
        raise unfit(gvk, want.kind, str(error)) from None
    if gvk in older:
        version = want.api_version
    elif gvk != want:
        _refuse(gvk, want, scheme)
    if value.get("kind") != gvk.kind or value.get("apiVersion") != version:
        rest = {k: v for k, v in value.items() if k not in ("kind", "apiVersion")}
        value = {"kind": gvk.kind, "apiVersion": version, **rest}
    return Decoded(value, gvk, report.strict, report.empties)


def _said_kind(
    parsed: Parsed, body: bytes, want: GroupVersionKind, scheme: Scheme
) -> GroupVersionKind:
    """The registered kind a body says it is.

    Raises:
        ApiError: 400, it says none that is known.
    """
    try:
        said = find_kind(parsed)
    except ValueError as error:
        raise unrecognised(body, want.kind, str(error)) from None
    gvk = with_defaults(said, want)
    if not gvk.version:
        text = body.decode("utf-8", "replace")
        raise unfit(gvk, want.kind, f"Object 'apiVersion' is missing in '{text}'")
    if not scheme.knows(gvk):
        why = (
            f"no kind {quote(gvk.kind)} is registered for {_version_text(gvk)} "
            f'in scheme "{scheme.location()}"'
        )
        raise unfit(gvk, want.kind, why)
    return gvk


def _version_text(gvk: GroupVersionKind) -> str:
    if gvk.version == "__internal":
        return f"the internal version of group {quote(gvk.group)}"
    return f"version {quote(gvk.api_version)}"


def find_kind(parsed: Parsed) -> GroupVersionKind:
    """What an object says it is; parts that it does not say are empty.

    Raises:
        ValueError: not an object, or kind or apiVersion have a wrong type or form; Go's message.
    """
    prefix = "couldn't get version/kind; json parse error: json: cannot unmarshal"
    value = parsed.value
    if value is None:
        return GroupVersionKind("", "", "")
    if type(value) is not dict:
        raise ValueError(f"{prefix} {type_word(value)} into Go value of type {_FIND_KIND}")
    found = {"kind": "", "apiVersion": ""}
    pairs = parsed.repeated.get(id(value)) or value.items()
    for key, item in pairs:
        # Go's own decoder, used here only, takes names without regard to case.
        name = key if key in found else _FOLDED.get(key.casefold())
        if name is None or item is None:
            continue
        if type(item) is not str:
            word = type_word(item)
            raise ValueError(f"{prefix} {word} into Go struct field .{name} of type string")
        found[name] = item
    group, version = GroupVersion.parse(found["apiVersion"])
    return GroupVersionKind(group, version, found["kind"])


_FOLDED = {"kind": "kind", "apiversion": "apiVersion"}


def with_defaults(said: GroupVersionKind, want: GroupVersionKind) -> GroupVersionKind:
    """What a body says it is; what it leaves out comes from the path."""
    kind = said.kind or want.kind
    if not said.version and said.group in ("", want.group):
        return GroupVersionKind(want.group, want.version, kind)
    return said if said.kind else GroupVersionKind(said.group, said.version, kind)


def _refuse(gvk: GroupVersionKind, want: GroupVersionKind, scheme: Scheme) -> None:
    """Refuse a registered kind that the path does not take."""
    versioned, internal = scheme.go_names(gvk)
    wanted = scheme.go_names(want)[1]
    if internal == wanted:
        raise bad_request(
            f"the API version in the data ({gvk.api_version}) does not match "
            f"the expected API version ({want.api_version})"
        )
    raise unfit(gvk, want.kind, f"converting ({versioned}) to ({wanted}): unknown conversion")


def unfit(gvk: GroupVersionKind, kind: str, why: str) -> ApiError:
    """400 for a body that has a kind, and does not fit.

    Args:
        gvk: what the body says it is.
        kind: kind that the path takes.
        why: what is wrong.
    """
    return bad_request(
        f"{gvk.kind} in version {quote(gvk.version)} cannot be handled as a {kind}: {why}"
    )


def unrecognised(body: bytes, kind: str, why: str) -> ApiError:
    """400 for a body that does not get as far as having a kind.

    Args:
        body: the request body; the message shows its first 30 bytes, in hex unless it starts with
            a brace.
        kind: kind that the path takes.
        why: what is wrong.
    """
    if not body:
        summary = "<empty>"
    else:
        head = body[:_SUMMARY_BYTES]
        summary = head.decode("utf-8", "replace") if body.startswith(b"{") else head.hex()
        if len(body) > _SUMMARY_BYTES:
            summary += " ..."
    return bad_request(
        f"the object provided is unrecognized (must be of type {kind}): {why} ({summary})"
    )


_HTML_ESCAPES = ((b"<", rb"\u003c"), (b">", rb"\u003e"), (b"&", rb"\u0026"))
_SEPARATOR_ESCAPES = ((b"\xe2\x80\xa8", rb"\u2028"), (b"\xe2\x80\xa9", rb"\u2029"))


def _fragment(value: Any) -> orjson.Fragment:
    if type(value) is Float:
        return orjson.Fragment(value.text)
    raise TypeError(f"not a JSON value: {type(value).__name__}")


def encode(obj: Any) -> bytes:
    """JSON as Go's encoder prints it, keys in the order of the dicts, without a newline.

    Args:
        obj: a JSON value; fractions are ``Float`` and stay as they were written, integers may be
            of any size.

    Raises:
        TypeError: a value that JSON does not have.
    """
    try:
        out = orjson.dumps(obj, _fragment)
    except TypeError:
        # Integers beyond 64 bits, or nested deeper than orjson goes.
        out = _encode_any(obj)
    return _escaped(out)


def exact(text: bytes) -> bytes:
    """A text to be kept, in as many bytes as it has.

    What orjson 3.13 prints takes four kilobytes at least.
    """
    return bytes(memoryview(text))


def encode_indented(obj: Any) -> bytes:
    """JSON as Go's ``MarshalIndent`` prints it with two spaces; otherwise as `encode`.

    Args:
        obj: a JSON value.

    Raises:
        TypeError: a value that JSON does not have.
    """
    try:
        out = orjson.dumps(obj, _fragment, orjson.OPT_INDENT_2)
    except TypeError:
        out = _indent(_encode_any(obj))
    return _escaped(out)


def _escaped(out: bytes) -> bytes:
    """Text with the characters escaped that HTML would mind, as Go does it."""
    for char, escape in _HTML_ESCAPES:
        if char in out:
            out = out.replace(char, escape)
    if not out.isascii() and b"\xe2\x80" in out:  # looking for two bytes takes long
        for char, escape in _SEPARATOR_ESCAPES:
            out = out.replace(char, escape)
    return out


_token = re.compile(rb'"(?:[^"\\]|\\.)*"|\{\}|\[\]|[{}\[\],:]')


def _indent(compact: bytes) -> bytes:
    """Compact JSON on many lines."""
    depth = 0

    def spaced(found: re.Match[bytes]) -> bytes:
        nonlocal depth
        token = found.group()
        match token:
            case b"{" | b"[":
                depth += 1
                return token + b"\n" + b"  " * depth
            case b"}" | b"]":
                depth -= 1
                return b"\n" + b"  " * depth + token
            case b",":
                return b",\n" + b"  " * depth
            case b":":
                return b": "
        return token

    return _token.sub(spaced, compact)


def _encode_any(obj: Any) -> bytes:
    """Encode an object of any depth, piece by piece and without recursion."""
    out: list[str] = []
    # Values to print, with the text to print before each; a container leaves its end behind.
    waiting: list[tuple[str, Any]] = [("", obj)]
    while waiting:
        before, value = waiting.pop()
        out.append(before)
        if value is _END:
            continue
        kind = type(value)
        if kind is dict:
            out.append("{")
            waiting.append(("}", _END))
            items = [(f"{_text(key)}:", item) for key, item in value.items()]
            waiting.extend((f",{key}", item) for key, item in reversed(items[1:]))
            waiting.extend(items[:1])
        elif kind is list:
            out.append("[")
            waiting.append(("]", _END))
            waiting.extend((",", item) for item in reversed(value[1:]))
            waiting.extend(("", item) for item in value[:1])
        elif kind is int:
            out.append(str(value))
        elif kind is Float:
            out.append(value.text)
        elif isinstance(value, float):
            out.append(float_text(value))
        else:
            out.append(orjson.dumps(value, _fragment).decode())
    return "".join(out).encode()


_END = object()


def _text(key: str) -> str:
    return orjson.dumps(key).decode()
