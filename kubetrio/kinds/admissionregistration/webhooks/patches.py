"""JSON patches of webhooks: applied to the object as the webhook saw it.

Source: RFC 6902; the texts are those of kube-apiserver's library (``gopkg.in/evanphx/json-patch``).
"""

from __future__ import annotations

from typing import Any

from kubetrio.machinery.gotext import quote
from kubetrio.machinery.jsonpatch import apply_json_patch
from kubetrio.machinery.status import ApiError
from kubetrio.wire import gojson
from kubetrio.wire.goscan import GoJsonError

Object = dict[str, Any]
_HOLDERS = (dict, list)


class UndecodablePatch(Exception):
    """A patch that is none; the text is Go's."""


class FailedPatch(Exception):
    """A patch that does not apply; the text is that of kube-apiserver's library."""


def operations_in(patch: bytes) -> list[Any]:
    """The operations of a patch.

    Raises:
        UndecodablePatch: it is no list of objects.
    """
    try:
        found = gojson.parse(patch).value
    except GoJsonError as error:
        raise UndecodablePatch(str(error)) from None
    if found is None:
        return []
    if not isinstance(found, list):
        raise UndecodablePatch(_unfit(found, "Patch"))
    for item in found:
        if item is not None and not isinstance(item, dict):
            raise UndecodablePatch(_unfit(item, "Operation"))
    return found


def _unfit(value: Any, what: str) -> str:
    word = gojson.type_word(value)
    return f"json: cannot unmarshal {word} into Go value of type jsonpatch.{what}"


def applied(obj: Object, operations: list[Any]) -> Any:
    """An object after a patch.

    Args:
        obj: not changed.
        operations: of the patch.

    Raises:
        FailedPatch: an operation does not apply.
    """
    try:
        return apply_json_patch(obj, operations, lenient=True)
    except ApiError as error:
        if error.code != 422:
            raise FailedPatch(error.message) from None
    raise FailedPatch(_reason(obj, operations))


def _reason(doc: Any, operations: list[Any]) -> str:
    """Why a patch fails: what the first operation that does not apply lacks."""
    for index, operation in enumerate(operations):
        try:
            doc = apply_json_patch(doc, operations[index : index + 1], lenient=True)
        except ApiError:
            return _words(doc, operation or {})
    return "copy operations add up to more than is taken"


def _words(doc: Any, operation: Object) -> str:
    op = operation.get("op")
    path, source = operation.get("path"), operation.get("from")
    shown = path if isinstance(path, str) else ""
    match op:
        case "add":
            holder, key = _holder(doc, path)
            if holder is None:
                return (
                    "add operation does not apply: doc is missing path: "
                    f"{quote(shown)}: missing value"
                )
            return f"error in add for path: '{shown}': {_item(holder, key)}"
        case "remove":
            holder, key = _holder(doc, path)
            if holder is None:
                return (
                    "remove operation does not apply: doc is missing path: "
                    f"{quote(shown)}: missing value"
                )
            return f"error in remove for path: '{shown}': {_lacking(holder, key)}"
        case "replace":
            holder, key = _holder(doc, path)
            if holder is None:
                return (
                    f"replace operation does not apply: doc is missing path: {shown}: missing value"
                )
            return f"replace operation does not apply: doc is missing key: {shown}: missing value"
        case "move":
            return _moved(doc, shown, source if isinstance(source, str) else "")
        case "copy":
            return _copied(doc, shown, source if isinstance(source, str) else "")
        case "test":
            return f"testing value {shown} failed: test failed"
    return f"Unexpected kind: {op if isinstance(op, str) else 'unknown'}"


def _moved(doc: Any, path: str, source: str) -> str:
    holder, key = _holder(doc, source)
    if holder is None:
        return f"move operation does not apply: doc is missing from path: {source}: missing value"
    if _found(holder, key) is None:
        return f"error in move for path: '{key}': {_lacking(holder, key)}"
    holder, key = _holder(doc, path)
    if holder is None:
        return (
            f"move operation does not apply: doc is missing destination path: {path}: missing value"
        )
    return f"error in move for path: '{path}': {_item(holder, key)}"


def _copied(doc: Any, path: str, source: str) -> str:
    holder, key = _holder(doc, source)
    if holder is None:
        return f"copy operation does not apply: doc is missing from path: {source}: missing value"
    if isinstance(holder, list) and _found(holder, key) is None:
        return f"error in copy for from: '{source}': {_item(holder, key)}"
    holder, key = _holder(doc, path)
    if holder is None:
        return (
            f"copy operation does not apply: doc is missing destination path: {path}: missing value"
        )
    return f"error while adding value during copy: '{path}': {_item(holder, key)}"


def _holder(doc: Any, path: object) -> tuple[Any, str]:
    """What holds the value at a path, None when that is not there, and its key."""
    if not isinstance(path, str) or "/" not in path:
        return None, ""
    *steps, last = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
    at = doc
    for step in steps:
        at = _found(at, step)
        if not isinstance(at, _HOLDERS):
            return None, last
    return at, last


def _found(holder: Any, key: str) -> Any:
    if isinstance(holder, dict):
        return holder.get(key)
    index = _number(key)
    if index is None or not -len(holder) <= index < len(holder):
        return None
    return holder[index]


def _number(key: str) -> int | None:
    try:
        return int(key)
    except ValueError:
        return None


def _item(_: Any, key: str) -> str:
    """Why nothing can be put at a place of a list."""
    index = _number(key)
    if index is None:
        return (
            f"value was not a proper array index: '{key}': strconv.Atoi: parsing {quote(key)}: "
            "invalid syntax"
        )
    return f"Unable to access invalid index: {index}: invalid index referenced"


def _lacking(holder: Any, key: str) -> str:
    """Why nothing can be taken away."""
    if isinstance(holder, dict):
        return f"Unable to remove nonexistent key: {key}: missing value"
    return _item(holder, key)
