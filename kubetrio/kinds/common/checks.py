"""A small library of declarative checks.

A check is a closure over a value, its path and the list that receives causes.  Tables of rows are
data, compiled once by :func:`table` when a module is imported; a rule that spans fields is a plain
function that stands among the rows and runs in its place, so causes come in the order written.

    PORT = table(
        row("name", port_name),
        row("containerPort", between(1, 65535), missing=""),
        row("protocol", one_of("SCTP", "TCP", "UDP")),
    )
    PORTS = each(PORT)

A decoded object leaves out empty members, so "absent", null, ``[]`` and ``{}`` are one case:
missing.  Zero and false are values where they are present, and so is ``""``: it is there where Go
has a pointer, and what is pointed at is checked.  Only a member that must be given takes ``""`` for
missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubetrio.machinery.fielderrors import (
    Named,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kubetrio.machinery.members import (
    IMMUTABLE,
    NOT_INTEGER,
    NOT_NEGATIVE,
    NOT_POSITIVE,
    child,
    is_missing,
    member,
)
from kubetrio.schema.rules import Causes, Check, Json, Messages, UpdateCheck, Validation

__all__ = [
    "IMMUTABLE",
    "NOT_INTEGER",
    "NOT_NEGATIVE",
    "NOT_POSITIVE",
    "Causes",
    "Check",
    "Json",
    "Messages",
    "UpdateCheck",
    "Validation",
    "child",
    "is_missing",
    "member",
]


# --- tables ---


@dataclass(frozen=True, slots=True)
class FieldCheck:
    """One member of an object.

    Args:
        name: its name.
        check: check of its value, or None.
        missing: check of a member that is missing, or None; it gets None as the value.
        texts: whether the empty text is missing too.
    """

    name: str
    check: Check | None
    missing: Check | None
    texts: bool


def row(
    name: str,
    *checks: Check,
    missing: str | None = None,
    unset: str | None = None,
    zero: Any = None,
    absent: Check | None = None,
) -> FieldCheck:
    """A row of a table.

    Args:
        name: name of the member.
        checks: checks of its value, all of them, in order.
        missing: detail of a "Required value" when it is missing; empty for none.
        unset: the same for a member that may be the empty text as far as this goes.
        zero: when it is missing, the checks get this value instead (after ``missing``).
        absent: what else to check when it is missing.
    """
    check = every(*checks) if checks else None
    steps: list[Check] = []
    detail = missing if unset is None else unset
    if detail is not None:
        steps.append(_required(detail))
    if zero is not None and check is not None:
        steps.append(_with(zero, check))
    if absent is not None:
        steps.append(absent)
    texts = check is None or (bool(steps) and unset is None)
    return FieldCheck(name, check, every(*steps) if steps else None, texts)


def _required(detail: str) -> Check:
    def check(_: Any, path: str, out: Causes) -> None:
        out.append(required(path, detail))

    return check


def _with(zero: Any, check: Check) -> Check:
    return lambda _, path, out: check(zero, path, out)


def every(*checks: Check) -> Check:
    """All checks of one value, in order.

    Args:
        checks: one or more.
    """
    if len(checks) == 1:
        return checks[0]

    def run(value: Any, path: str, out: Causes) -> None:
        for check in checks:
            check(value, path, out)

    return run


def until(*checks: Check) -> Check:
    """Checks of one value, in order, until one finds a cause.

    Args:
        checks: one or more.
    """

    def run(value: Any, path: str, out: Causes) -> None:
        before = len(out)
        for check in checks:
            check(value, path, out)
            if len(out) != before:
                return

    return run


def unless_empty(check: Check) -> Check:
    """A check of a text that may be empty though it is set.

    Args:
        check: check of any other text.
    """

    def run(value: Any, path: str, out: Causes) -> None:
        if value != "":
            check(value, path, out)

    return run


def table(*rows: FieldCheck | Check) -> Check:
    """A check of an object.

    Args:
        rows: members, and checks of the whole object, in the order in which causes are wanted.
    """
    steps = tuple(
        (entry.name, entry.check, entry.missing, entry.texts)
        if isinstance(entry, FieldCheck)
        else ("", entry, None, False)
        for entry in rows
    )

    def run(obj: Mapping[str, Any], path: str, out: Causes) -> None:
        get = obj.get
        prefix = f"{path}." if path else ""
        for name, check, missing, texts in steps:
            if not name:
                if check is not None:
                    check(obj, path, out)
                continue
            value = get(name)
            if not value and (
                value is None
                or isinstance(value, (list, dict))
                or (texts and isinstance(value, str))
            ):
                if missing is not None:
                    missing(value, prefix + name, out)
            elif check is not None:
                check(value, prefix + name, out)

    return run


def each(check: Check) -> Check:
    """A check of every item of a list.

    Args:
        check: check of an item.
    """

    def run(items: Sequence[Any], path: str, out: Causes) -> None:
        for index, item in enumerate(items):
            check(item, f"{path}[{index}]", out)

    return run


def each_value(check: Check, key: Check | None = None) -> Check:
    """A check of every value of a map.

    Args:
        check: check of a value; its path ends with ``[key]``.
        key: check of a key, at the same path, before the value.
    """

    def run(items: Mapping[str, Any], path: str, out: Causes) -> None:
        for name, value in items.items():
            where = f"{path}[{name}]"
            if key is not None:
                key(name, where, out)
            check(value, where, out)

    return run


def unique(*, by: str = "", at: str = "", skip_empty: bool = True) -> Check:
    """A check that items of a list differ.

    Args:
        by: member that identifies an item; empty for items that are texts.
        at: member whose path is named; empty for the item.
        skip_empty: whether items without the member may repeat.
    """
    suffix = f".{at}" if at else ""

    def run(items: Sequence[Any], path: str, out: Causes) -> None:
        if len(items) < 2:
            return
        seen: set[Any] = set()
        for index, item in enumerate(items):
            value = (item.get(by) or "") if by else item
            if value in seen:
                out.append(duplicate(f"{path}[{index}]{suffix}", value))
            elif value or not skip_empty:
                seen.add(value)

    return run


def union(
    parts: Mapping[str, Check | None],
    *,
    more: str,
    none: str | None = None,
    paths: Mapping[str, str] | None = None,
    besides: Sequence[str] = (),
) -> Check:
    """A check of an object of which exactly one member is set; only the first is looked into.

    Args:
        parts: members to their checks, in the order in which they are tried.
        more: detail of the "Forbidden" at every further member.
        none: detail of the "Required value" at the object when none is set; None accepts that.
        paths: members whose name in the path of a further member is another one.
        besides: members that are looked into whatever stands before them.
    """
    steps = tuple(parts.items())
    renamed = paths or {}

    def run(obj: Mapping[str, Any], path: str, out: Causes) -> None:
        has_member = False
        for name, check in steps:
            value = obj.get(name)
            if value is None:
                continue
            if has_member and name not in besides:
                out.append(forbidden(child(path, renamed.get(name, name)), more))
                continue
            has_member = True
            if check is not None:
                check(value, child(path, name), out)
        if not has_member and none is not None:
            out.append(required(path, none))

    return run


# --- values ---


def one_of(*supported: str, shown: Sequence[str] = (), named: bool = True) -> Check:
    """A check of a text against an enumeration.

    Args:
        supported: the values allowed, in the order in which they are listed.
        shown: the values listed, when they are others.
        named: whether Go has a type for the enumeration.
    """
    allowed = frozenset(supported)
    listed = tuple(shown) or supported

    def run(value: Any, path: str, out: Causes) -> None:
        if value not in allowed:
            out.append(not_supported(path, value, listed, named=named))

    return run


def matches(messages: Messages) -> Check:
    """A check of a text by its format.

    Args:
        messages: the format, such as those of ``machinery.names_validation``.
    """

    def run(value: str, path: str, out: Causes) -> None:
        for message in messages(value):
            out.append(invalid(path, value, message))

    return run


def minimum(limit: int, detail: str = "") -> Check:
    """A check of a number.

    Args:
        limit: the least value allowed.
        detail: what to say; by default that it must be greater than or equal to the limit.
    """
    text = detail or f"must be greater than or equal to {limit}"

    def run(value: int, path: str, out: Causes) -> None:
        if value < limit:
            out.append(invalid(path, value, text))

    return run


def maximum(limit: int, detail: str = "") -> Check:
    """A check of a number.

    Args:
        limit: the greatest value allowed.
        detail: what to say; by default that it must be less than or equal to the limit.
    """
    text = detail or f"must be less than or equal to {limit}"

    def run(value: int, path: str, out: Causes) -> None:
        if value > limit:
            out.append(invalid(path, value, text))

    return run


def between(low: int, high: int, detail: str = "") -> Check:
    """A check of a number.

    Args:
        low: the least value allowed.
        high: the greatest value allowed.
        detail: what to say; by default that it must be between both, inclusive.
    """
    text = detail or f"must be between {low} and {high}, inclusive"

    def run(value: int, path: str, out: Causes) -> None:
        if not low <= value <= high:
            out.append(invalid(path, value, text))

    return run


not_negative = minimum(0)


# --- changes ---


def immutable(
    *paths: str, detail: str = IMMUTABLE, named: Sequence[str] = (), zero: str | None = None
) -> UpdateCheck:
    """A check that members never change.

    Args:
        paths: dotted paths from the root.
        detail: what to say.
        named: those of them whose text Go has a type for, or points to.
        zero: what is printed of a member that is not there.
    """
    split = tuple((path, path.split(".")) for path in paths)

    def run(new: Json, old: Json, out: Causes) -> None:
        for path, names in split:
            mine = walk(new, names)
            if not same(mine, walk(old, names)):
                shown = Named(mine) if path in named and isinstance(mine, str) else mine
                out.append(invalid(path, zero if shown is None else shown, detail))

    return run


def walk(obj: Any, names: Sequence[str]) -> Any:
    """The value below some members, or None.

    Args:
        obj: where to start.
        names: members, outermost first.
    """
    for name in names:
        if not obj:
            return None
        obj = obj.get(name)
    return obj


def same(one: Any, two: Any) -> bool:
    """Semantic equality: no list and an empty one are equal, but what is set is not missing.

    Args:
        one: a JSON value.
        two: another one.
    """
    return one == two or (one in (None, []) and two in (None, []))


def changes(*checks: UpdateCheck) -> UpdateCheck:
    """All checks of a change, in order.

    Args:
        checks: any number.
    """

    def run(new: Json, old: Json, out: Causes) -> None:
        for check in checks:
            check(new, old, out)

    return run


def unchanged(check: Check) -> UpdateCheck:
    """A check of the new object alone.

    Args:
        check: check of a whole object.
    """
    return lambda new, _, out: check(new, "", out)


# --- printing ---


def go_struct(**members_: tuple[str, Any]) -> Callable[[Mapping[str, Any]], Json]:
    """How Go prints an internal struct as JSON: its own names, every member, declared order.

    Args:
        members_: Go names to (JSON name, zero value).

    Returns:
        A function from the object to what ``fielderrors`` prints.
    """

    def show(obj: Mapping[str, Any]) -> Json:
        out = {}
        for name, (source, zero) in members_.items():
            value = obj.get(source)
            out[name] = zero if value is None else value
        return out

    return show
