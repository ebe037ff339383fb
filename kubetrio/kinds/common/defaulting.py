"""The words in which the tables of defaults are written.

A table is a tuple of rules about the members of one Go struct.  ``compiling`` checks every name
against the schema and makes one fast function of it.  The rules of one struct are applied in this
order: plain values and empty structs, then functions, then the members' own tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

Json = dict[str, Any]
Change = Callable[[Json], None]


@dataclass(frozen=True, slots=True)
class Default:
    """A member that gets a value when it has none.

    A member that is a pointer in Go has none when it is absent; any other also when it is zero.

    Args:
        name: the member.
        value: a JSON value; lists and objects are copied for every object.
    """

    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class Within:
    """A table for a member that is a struct; nothing happens where the member is absent.

    Args:
        name: the member.
        rules: its table.
    """

    name: str
    rules: Rules


@dataclass(frozen=True, slots=True)
class Each:
    """A table for every element of a list.

    Args:
        name: the member.
        rules: the table of one element.
    """

    name: str
    rules: Rules


@dataclass(frozen=True, slots=True)
class Call:
    """Whatever no table can say.

    Args:
        change: changes the struct in place; members it adds may be in any order.
        grows: members that are structs and may get members of their own from it.
    """

    change: Change
    grows: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Amounts:
    """A list of resources whose quantities are rounded up to thousandths.

    Args:
        name: the member, a map of quantities.
    """

    name: str


Rule = Default | Within | Each | Call | Amounts
Rules = tuple[Rule, ...]


def within(path: str, *rules: Rule) -> Within:
    """A table for the struct at a dotted path."""
    *parents, name = path.split(".")
    return _below(parents, Within(name, rules))


def each(path: str, *rules: Rule) -> Within | Each:
    """A table for every element of the list at a dotted path."""
    *parents, name = path.split(".")
    return _below(parents, Each(name, rules))


def ensure(name: str, *rules: Rule) -> Rules:
    """A table for a member that is made an empty struct where it is absent."""
    return (Default(name, {}), Within(name, rules))


_T = TypeVar("_T", bound=Within | Each)


def _below(parents: list[str], rule: _T) -> _T | Within:
    nested: _T | Within = rule
    for parent in reversed(parents):
        nested = Within(parent, (nested,))
    return nested


WEBHOOK_SERVICE = within("service", Default("port", 443))
"""A reference to a service that is called back, by HTTPS."""
