"""Reads objects of a configuration, of which each member is understood or refused.

Values that make no sense are collected, and told together in kube-scheduler's words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kubetrio.machinery.fielderrors import invalid
from kubetrio.machinery.status import Cause

Object = dict[str, Any]
MOST = (1 << 31) - 1
"""The largest number of most members."""


class ConfigurationError(Exception):
    """A configuration cannot be used; the text says where and why."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What the objects of one document share.

    Args:
        decoding: what kube-scheduler says before the name of an unknown field.
        path: of the document; names of unknown fields are told without it.
        causes: what makes no sense.
    """

    decoding: str = "strict decoding error: "
    path: str = ""
    causes: list[Cause] = field(default_factory=list)


def told(causes: Sequence[Cause]) -> str:
    """Several problems as one text, as Go prints an aggregate of errors."""
    texts = list(dict.fromkeys(str(one) for one in causes))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


class Members:
    """An object whose members are taken one by one, until none is left.

    Args:
        value: the object; None is an empty one.
        path: of it in the configuration, empty for all of it.
        scope: of the document that it is in, None for a new one.

    Attributes:
        there: whether there is an object.

    Raises:
        ConfigurationError: it is no object.
    """

    def __init__(self, value: Any, path: str, scope: Scope | None = None) -> None:
        if not isinstance(value, dict | None):
            raise ConfigurationError(f"{path or 'it'} must be an object")
        self.path = path
        self.there = value is not None
        self.scope = scope or Scope()
        self._left: Object = dict(value or {})

    def at(self, name: str) -> str:
        """The path of a member."""
        return f"{self.path}.{name}" if self.path else name

    def take(self, name: str) -> Any:
        """Take a member as it is, None where it is missing."""
        return self._left.pop(name, None)

    def text(self, name: str, default: str = "") -> str:
        """Take a text.

        Raises:
            ConfigurationError: it is none.
        """
        value = self.take(name)
        if value is not None and not isinstance(value, str):
            raise ConfigurationError(f"{self.at(name)} must be a text")
        return default if value is None else value

    def flag(self, name: str) -> bool:
        """Take a boolean, false where it is missing.

        Raises:
            ConfigurationError: it is none.
        """
        value = self.take(name)
        if not isinstance(value, bool | None):
            raise ConfigurationError(f"{self.at(name)} must be true or false")
        return bool(value)

    def whole(self, name: str, default: int) -> int:
        """Take a whole number, whatever it is.

        Args:
            name: of the member.
            default: where it is missing.

        Raises:
            ConfigurationError: it is none, or takes more than 32 bits.
        """
        value = self.take(name)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or not -MOST <= value <= MOST:
            raise ConfigurationError(
                f"{self.at(name)} must be a whole number from {-MOST} to {MOST}"
            )
        return value

    def number(self, name: str, default: int, least: int, most: int = MOST, text: str = "") -> int:
        """Take a whole number; one out of its range is a cause.

        Args:
            name: of the member.
            default: where it is missing.
            least: what it is at least.
            most: what it is at most.
            text: what is said of one out of the range, if not the usual.

        Raises:
            ConfigurationError: it is none, or takes more than 32 bits.
        """
        value = self.whole(name, default)
        if not least <= value <= most:
            usual = f"not in valid range [{least}, {most}]"
            if most == MOST:
                usual = f"not in valid range [{least}, inf)"
            self.say(invalid(self.at(name), value, text or usual))
        return value

    def say(self, *causes: Cause) -> None:
        """Note what makes no sense."""
        self.scope.causes.extend(causes)

    def member(self, name: str) -> Members:
        """Take an object.

        Raises:
            ConfigurationError: it is none.
        """
        return Members(self.take(name), self.at(name), self.scope)

    def items(self, name: str) -> list[Any]:
        """Take a list, empty where it is missing.

        Raises:
            ConfigurationError: it is none.
        """
        value = self.take(name)
        if not isinstance(value, list | None):
            raise ConfigurationError(f"{self.at(name)} must be a list")
        return value or []

    def each(self, name: str) -> list[Members]:
        """Take a list of objects.

        Raises:
            ConfigurationError: it is none.
        """
        return [
            Members(value, f"{self.at(name)}[{number}]", self.scope)
            for number, value in enumerate(self.items(name))
        ]

    def texts(self, name: str) -> list[str]:
        """Take a list of texts.

        Raises:
            ConfigurationError: it is none.
        """
        values = self.items(name)
        if not all(isinstance(one, str) for one in values):
            raise ConfigurationError(f"{self.at(name)} must be a list of texts")
        return values

    def end(self) -> None:
        """See that nothing is left.

        Raises:
            ConfigurationError: something is.
        """
        for name in self._left:
            field_path = self.at(name).removeprefix(self.scope.path).removeprefix(".")
            raise ConfigurationError(f'{self.scope.decoding}unknown field "{field_path}"')
