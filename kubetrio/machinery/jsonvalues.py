"""JSON values as patches handle them: copied, compared and walked, however deep they are nested.

Bodies may be nested 10,000 levels deep, which is more than Python's stack takes; nothing here
recurses.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def copy_json(value: Any) -> Any:
    """A deep copy."""
    return _copy(value, nulls=True)


def without_nulls(value: Any) -> Any:
    """A deep copy without null members of objects, at any depth."""
    return _copy(value, nulls=False)


def _copy(value: Any, *, nulls: bool) -> Any:
    if not isinstance(value, (dict, list)):
        return value
    out: Any = type(value)()
    waiting = [(value, out)]
    while waiting:
        source, target = waiting.pop()
        if isinstance(source, dict):
            for key, item in source.items():
                if isinstance(item, (dict, list)):
                    target[key] = inner = type(item)()
                    waiting.append((item, inner))
                elif nulls or item is not None:
                    target[key] = item
        else:
            for item in source:
                if isinstance(item, (dict, list)):
                    inner = type(item)()
                    target.append(inner)
                    waiting.append((item, inner))
                else:
                    target.append(item)
    return out


def same_json(one: Any, two: Any) -> bool:
    """Equality of JSON values; 1, 1.0 and true are three different ones."""
    waiting = [(one, two)]
    while waiting:
        left, right = waiting.pop()
        if isinstance(left, dict):
            if not isinstance(right, dict) or left.keys() != right.keys():
                return False
            waiting += [(item, right[key]) for key, item in left.items()]
        elif isinstance(left, list):
            if not isinstance(right, list) or len(left) != len(right):
                return False
            waiting += zip(left, right, strict=True)
        elif type(left) is not type(right) or left != right:
            return False
    return True


def is_deeper(value: Any, depth: int) -> bool:
    """Whether a JSON value is made of more than so many levels of objects and lists."""
    level = [value] if isinstance(value, (dict, list)) else []
    while level and depth >= 0:
        level = [
            item
            for each in level
            for item in (each.values() if isinstance(each, dict) else each)
            if isinstance(item, (dict, list))
        ]
        depth -= 1
    return depth < 0
