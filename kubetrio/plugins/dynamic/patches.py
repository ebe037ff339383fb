"""JSON patches of webhooks: applied to the object as the webhook saw it.

Source: RFC 6902; the texts are those of kube-apiserver's library (``gopkg.in/evanphx/json-patch``).
"""

from __future__ import annotations

from typing import Any

from kubetrio.gotext.text import quote
from kubetrio.machinery.jsonpatch import apply_json_patch
from kubetrio.machinery.status import ApiError
from kubetrio.wire import gojson
from kubetrio.wire.goscan import GoJsonError

Object = dict[str, Any]
_HOLDERS = (dict, list)


class UndecodablePatch(Exception):
    """A patch that is none; the text is Go's."""


class FailedPatch(Exception):
    """A patch that does not apply.

    Args:
        text: why, in the words of kube-apiserver's library.
        tested: whether a test found another value; not that it found nothing to look at.
    """

    def __init__(self, text: str, *, tested: bool = False) -> None:
        super().__init__(text)
        self.tested = tested


def operations_in(patch: bytes) -> list[Any]:
    """The operations of a patch.

    Raises:
        UndecodablePatch: it is no list of objects.
    """
    try:
        operations = gojson.parse(patch).value
    except GoJsonError as error:
        raise UndecodablePatch(str(error)) from None
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise UndecodablePatch(_unfit(operations, "Patch"))
    for item in operations:
        if item is not None and not isinstance(item, dict):
            raise UndecodablePatch(_unfit(item, "Operation"))
    return operations


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
    why = _reason(obj, operations)
    raise FailedPatch(why, tested=why.endswith(_TEST_FAILED))


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
    if op in ("move", "copy") and (wrong := _unreadable(source, "from")):
        return f"{op} operation failed to decode from: {wrong}"
    if op in _BY_PATH and (wrong := _unreadable(path, "path")):
        # Some of them do not say why.
        why = "missing value" if op in ("add", "remove") else wrong
        return f"{op} operation failed to decode path: {why}"
    shown = path if isinstance(path, str) else ""
    match op:
        case "add":
            return _added(doc, shown)
        case "remove":
            return _removed(doc, shown)
        case "replace":
            return _replaced(doc, shown)
        case "move":
            return _moved(doc, path, source if isinstance(source, str) else "")
        case "copy":
            return _copied(doc, path, source if isinstance(source, str) else "")
        case "test":
            return _tested(doc, shown)
    return f"Unexpected kind: {op if isinstance(op, str) else 'unknown'}"


_BY_PATH = frozenset({"add", "remove", "replace", "test"})
_TEST_FAILED = ": test failed"


def _unreadable(value: Any, member: str) -> str:
    """Why a pointer of an operation cannot be read, empty if it can."""
    if isinstance(value, str):
        return ""
    if value is None:
        comma = "," if member == "from" else ""
        return f"operation{comma} missing {member} field: missing value"
    return f"json: cannot unmarshal {gojson.type_word(value)} into Go value of type string"


def _added(doc: Any, path: str) -> str:
    holder, key = _holder(doc, path)
    if holder is None:
        return f"add operation does not apply: doc is missing path: {quote(path)}: missing value"
    return f"error in add for path: '{path}': {_no_place(key)}"


def _removed(doc: Any, path: str) -> str:
    holder, key = _holder(doc, path)
    if holder is None:
        return f"remove operation does not apply: doc is missing path: {quote(path)}: missing value"
    return f"error in remove for path: '{path}': {_lacking(holder, key)}"


def _replaced(doc: Any, path: str) -> str:
    if not path:
        return "replace operation value must be object or array: %!w(<nil>)"
    holder, _ = _holder(doc, path)
    what = "path" if holder is None else "key"
    return f"replace operation does not apply: doc is missing {what}: {path}: missing value"


def _tested(doc: Any, path: str) -> str:
    holder, key = _holder(doc, path)
    if path and holder is None:
        return f"test operation does not apply: is missing path: {path}: missing value"
    if path and isinstance(holder, list) and (why := _no_item(holder, key)):
        return f"error in test for path: '{path}': {why}"
    return f"testing value {path} failed{_TEST_FAILED}"


def _moved(doc: Any, path: Any, source: str) -> str:
    holder, key = _holder(doc, source)
    if holder is None:
        return f"move operation does not apply: doc is missing from path: {source}: missing value"
    if isinstance(holder, list) and (why := _no_item(holder, key)):
        return f"error in move for path: '{key}': {why}"
    if isinstance(holder, dict) and key not in holder:
        return f"error in move for path: '{key}': {_lacking(holder, key)}"
    if wrong := _unreadable(path, "path"):
        return f"move operation failed to decode path: {wrong}"
    holder, key = _holder(doc, path)
    if holder is None:
        return (
            f"move operation does not apply: doc is missing destination path: {path}: missing value"
        )
    return f"error in move for path: '{path}': {_no_place(key)}"


def _copied(doc: Any, path: Any, source: str) -> str:
    holder, key = _holder(doc, source)
    if holder is None:
        return f"copy operation does not apply: doc is missing from path: {source}: missing value"
    if isinstance(holder, list) and (why := _no_item(holder, key)):
        return f"error in copy for from: '{source}': {why}"
    if _unreadable(path, "path"):
        return "copy operation failed to decode path: missing value"
    holder, key = _holder(doc, path)
    if holder is None:
        return (
            f"copy operation does not apply: doc is missing destination path: {path}: missing value"
        )
    return f"error while adding value during copy: {_no_place(key)}"


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


def _no_place(key: str) -> str:
    """Why nothing can be put at a place of a list."""
    index = _number(key)
    if index is None:
        return f"value was not a proper array index: '{key}': {_no_number(key)}"
    return _no_index(index)


def _no_item(items: list[Any], key: str) -> str:
    """Why there is nothing at a place of a list, empty if there is something."""
    index = _number(key)
    if index is None:
        return _no_number(key)
    return "" if -len(items) <= index < len(items) else _no_index(index)


def _no_number(key: str) -> str:
    return f"strconv.Atoi: parsing {quote(key)}: invalid syntax"


def _no_index(index: int) -> str:
    return f"Unable to access invalid index: {index}: invalid index referenced"


def _lacking(holder: Any, key: str) -> str:
    """Why nothing can be taken away."""
    if isinstance(holder, dict):
        return f"Unable to remove nonexistent key: {key}: missing value"
    return _no_item(holder, key)
