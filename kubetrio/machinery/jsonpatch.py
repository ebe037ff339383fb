"""JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386) as kube-apiserver applies them.

Its library goes beyond the RFC: negative indices count from the end, ``replace`` and ``copy`` take
a missing member of an object for null, the first element of a pointer is ignored whatever it is,
and merging prunes null members also from objects inside new lists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.jsonvalues import copy_json, same_json, without_nulls
from kubetrio.machinery.status import ApiError, bad_request

MAX_OPERATIONS = 10_000
"""Operations in one JSON patch."""
MAX_COPY_BYTES = 3 * 1024 * 1024
"""Bytes of compact JSON that all ``copy`` operations of one patch may add."""

BAD_MERGE_PATCH = "Invalid JSON Patch"
"""What is said of a merge patch that is none, where it was not looked at before."""

_index = re.compile(r"[+-]?[0-9]{1,18}")
_MEMBERS = ("op", "path", "from", "value")


class _Failed(Exception):
    """An operation does not apply.  kube-apiserver does not tell the client which, or why."""


def _rejected() -> ApiError:
    return ApiError(
        422, "Invalid", "the server rejected our request due to an error in our request", {}
    )


def _type_name(value: Any) -> str:
    """What Go's decoder calls the type of a JSON value."""
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    if isinstance(value, str):
        return "string"
    return "bool" if isinstance(value, bool) else "number"


def _list_index(key: str) -> int:
    if not _index.fullmatch(key):
        raise _Failed
    return int(key)


def _item_index(items: list[Any], key: str) -> int:
    """The position of an existing item; negative ones count from the end."""
    index = _list_index(key)
    if index < 0:
        index += len(items)
    if not 0 <= index < len(items):
        raise _Failed
    return index


def _get(holder: Any, key: str) -> Any:
    """A member or item; a missing member is null."""
    return holder.get(key) if isinstance(holder, dict) else holder[_item_index(holder, key)]


def _add(holder: Any, key: str, value: Any) -> None:
    if isinstance(holder, dict):
        holder[key] = value
        return
    if key == "-":
        holder.append(value)
        return
    index = _list_index(key)
    if index < 0:
        index += len(holder) + 1
    if not 0 <= index <= len(holder):
        raise _Failed
    holder.insert(index, value)


def _remove(holder: Any, key: str) -> None:
    if isinstance(holder, dict):
        if key not in holder:
            raise _Failed
        del holder[key]
    else:
        del holder[_item_index(holder, key)]


class _Patcher:
    """One document while a patch is applied to it."""

    def __init__(self, doc: Any) -> None:
        self.doc = doc
        self._copied = 0
        self.opened: dict[int, Any] = {}
        """Objects that operations looked into, by identity: kube-apiserver sorts their members."""

    def _find(self, path: Any) -> tuple[Any, str]:
        """The object or list that holds what a pointer names, and the last element."""
        if not isinstance(path, str):
            raise _Failed
        elements = path.split("/")
        if len(elements) < 2:
            raise _Failed
        elements = [item.replace("~1", "/").replace("~0", "~") for item in elements[1:]]
        holder = self.doc
        for element in elements[:-1]:
            holder = _get(holder, element)
            if not isinstance(holder, (dict, list)):
                raise _Failed
            self.opened[id(holder)] = holder
        return holder, elements[-1]

    def add(self, op: dict[str, Any]) -> None:
        holder, key = self._find(op.get("path"))
        _add(holder, key, copy_json(op.get("value")))

    def remove(self, op: dict[str, Any]) -> None:
        holder, key = self._find(op.get("path"))
        _remove(holder, key)

    def replace(self, op: dict[str, Any]) -> None:
        value = copy_json(op.get("value"))
        if op.get("path") == "":
            if not isinstance(value, (dict, list)):
                raise _Failed
            self.doc = value
            return
        holder, key = self._find(op.get("path"))
        if isinstance(holder, dict):
            holder[key] = value
        else:
            holder[_item_index(holder, key)] = value

    def move(self, op: dict[str, Any]) -> None:
        holder, key = self._find(op.get("from"))
        value = _get(holder, key)
        _remove(holder, key)
        holder, key = self._find(op.get("path"))
        _add(holder, key, value)

    def copy(self, op: dict[str, Any]) -> None:
        holder, key = self._find(op.get("from"))
        value = copy_json(_get(holder, key))
        holder, key = self._find(op.get("path"))
        if value is not None:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            self._copied += len(text.encode("utf-8", "surrogatepass"))
            if self._copied > MAX_COPY_BYTES:
                raise _Failed
        _add(holder, key, value)

    def test(self, op: dict[str, Any]) -> None:
        expected = op.get("value")
        if op.get("path") == "":
            actual = self.doc
        else:
            holder, key = self._find(op.get("path"))
            actual = _get(holder, key)
        self._open_all(actual)
        if not same_json(actual, expected):
            raise _Failed

    def _open_all(self, value: Any) -> None:
        waiting = [value]
        while waiting:
            holder = waiting.pop()
            if isinstance(holder, (dict, list)):
                self.opened[id(holder)] = holder
                waiting.extend(holder.values() if isinstance(holder, dict) else holder)

    def marshalled(self) -> Any:
        """The document with its members in the order in which Go prints them: see `opened`."""
        return _sorted_where(
            self.doc, lambda holder: holder is self.doc or id(holder) in self.opened
        )


def _sorted_where(value: Any, opened: Callable[[Any], bool]) -> Any:
    """A copy in which the members of some objects, and of what is in them, are sorted.

    Args:
        value: a JSON value.
        opened: whether an object or list was looked into; what was not is taken as it is.
    """
    if not isinstance(value, (dict, list)) or not opened(value):
        return value
    whole = value.copy()
    waiting = [whole]
    while waiting:
        holder = waiting.pop()
        if isinstance(holder, dict):
            members = [(name, holder[name]) for name in sorted(holder)]
            holder.clear()
        else:
            members = list(enumerate(holder))
        for name, item in members:
            inner = item
            if isinstance(item, (dict, list)) and opened(item):
                inner = item.copy()
                waiting.append(inner)
            holder[name] = inner
    return whole


_OPERATIONS: dict[str, Callable[[_Patcher, dict[str, Any]], None]] = {
    "add": _Patcher.add,
    "copy": _Patcher.copy,
    "move": _Patcher.move,
    "remove": _Patcher.remove,
    "replace": _Patcher.replace,
    "test": _Patcher.test,
}


def _check_operations(ops: Any, *, lenient: bool) -> list[Any]:
    """The operations, if they are a list of objects with texts where texts belong.

    Raises:
        ApiError: 400 they are not; 413 there are too many.
    """
    if ops is None:
        return []
    prefix = "" if lenient else "error decoding patch: "
    if not isinstance(ops, list):
        type_ = "jsonpatch.Patch" if lenient else "[]handlers.jsonPatchOp"
        raise _undecodable(ops, "value", type_, prefix)
    for op in ops:
        if op is None:
            continue
        if not isinstance(op, dict):
            type_ = "jsonpatch.Operation" if lenient else "handlers.jsonPatchOp"
            raise _undecodable(op, "value", type_, prefix)
        for name in () if lenient else ("op", "path", "from"):
            value = op.get(name)
            if value is not None and not isinstance(value, str):
                raise _undecodable(value, f"struct field jsonPatchOp.{name}", "string", prefix)
    if len(ops) > MAX_OPERATIONS:
        raise ApiError(
            413,
            "RequestEntityTooLarge",
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{MAX_OPERATIONS}, got {len(ops)}",
        )
    return ops


def _undecodable(
    value: Any, into: str, type_: str, prefix: str = "error decoding patch: "
) -> ApiError:
    return bad_request(
        f"{prefix}json: cannot unmarshal {_type_name(value)} into Go {into} of type {type_}"
    )


def unknown_members(ops: Any) -> Iterator[str]:
    """Strict decoding errors of a JSON patch: members of operations that mean nothing.

    Args:
        ops: the patch as parsed from JSON.

    Yields:
        Texts such as ``json patch unknown field "[0].extra"``, for warnings or for a strict error.
    """
    for index, op in enumerate(ops if isinstance(ops, list) else ()):
        if isinstance(op, dict):
            for name in op:
                if name not in _MEMBERS:
                    yield f"json patch unknown field {quote(f'[{index}].{name}')}"


def apply_json_patch(doc: Any, ops: Any, *, lenient: bool = False) -> Any:
    """Apply a JSON Patch (RFC 6902).

    Returns:
        The new document; see `patched_json`.
    """
    return patched_json(doc, ops, lenient=lenient)[0]


def patched_json(doc: Any, ops: Any, *, lenient: bool = False) -> tuple[Any, Callable[[], Any]]:
    """Apply a JSON Patch (RFC 6902), and tell how kube-apiserver prints what comes of it.

    Args:
        doc: an object or list; not changed.
        ops: the patch as parsed from JSON.
        lenient: unknown fields are ignored (``fieldValidation=Ignore``): only the library reads
            the patch, and says in its words what is wrong with it.

    Returns:
        The new document, which shares nothing with the old one; and what makes it one whose members
        are in the order in which messages have them.

    Raises:
        ApiError: 400 the patch is not a list of operations, 413 it has more than 10,000, 422 an
            operation does not apply or copies add up to more than 3 MiB.
    """
    patcher = _Patcher(copy_json(doc))
    for op in _check_operations(ops, lenient=lenient):
        kind = op.get("op") if op else None
        apply = _OPERATIONS.get(kind) if isinstance(kind, str) else None
        try:
            if apply is None:
                raise _Failed
            apply(patcher, op)
        except _Failed:
            raise _rejected() from None
    return patcher.doc, patcher.marshalled


def _merge(current: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    out = dict(current)
    waiting = [(out, patch)]
    while waiting:
        target, changes = waiting.pop()
        for key, value in changes.items():
            if value is None:
                target.pop(key, None)
                continue
            present = target.get(key)
            if not isinstance(present, dict):
                target[key] = without_nulls(value)
            elif isinstance(value, dict):
                target[key] = inner = dict(present)
                waiting.append((inner, value))
            else:
                target[key] = copy_json(value)
    return out


def sorted_members(value: Any) -> Any:
    """A copy of a JSON value in which the members of all objects are sorted, as Go prints maps."""
    return _sorted_where(value, lambda _: True)


def marshalled_merge(doc: Any, patch: Any, result: Any) -> Any:
    """What came of a merge patch, with its members in the order in which Go prints them.

    Objects that the patch looked into, and what is new, have their members sorted; the others are
    as they were.

    Args:
        doc: the object that was patched.
        patch: the patch.
        result: what `apply_merge_patch` made of both.
    """
    if not isinstance(result, dict) or not isinstance(doc, dict):
        return _sorted_where(result, lambda _: True)
    whole: Any = {}
    waiting = [(whole, doc, patch, result)]
    while waiting:
        out, was, changes, now = waiting.pop()
        for name in sorted(now):
            value, before, change = now[name], was.get(name), changes.get(name)
            if change is None:
                out[name] = value
            elif not isinstance(before, dict):
                out[name] = _sorted_where(value, lambda _: True)
            elif isinstance(change, dict):
                inner: dict[str, Any] = {}
                out[name] = inner
                waiting.append((inner, before, change, value))
            else:
                out[name] = value
    return whole


def apply_merge_patch(doc: dict[str, Any], patch: Any, *, lenient: bool = False) -> Any:
    """Apply a JSON Merge Patch (RFC 7386).

    Args:
        doc: an object; not changed.
        patch: the patch as parsed from JSON.
        lenient: unknown fields are ignored (``fieldValidation=Ignore``): only the library reads
            the patch, which takes a list for the new document.

    Returns:
        The new object; it shares what did not change with the old one.

    Raises:
        ApiError: 400, the patch is not an object.
    """
    if lenient and isinstance(patch, list):
        return without_nulls(patch)
    if patch is None or (lenient and not isinstance(patch, dict)):
        raise bad_request(BAD_MERGE_PATCH)
    if not isinstance(patch, dict):
        raise _undecodable(patch, "value", "map[string]interface {}")
    return _merge(doc, patch)
