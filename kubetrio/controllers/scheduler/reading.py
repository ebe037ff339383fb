"""Reads objects of a configuration, of which each member is understood or refused."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


class ConfigurationError(Exception):
    """A configuration cannot be used; the text says where and why."""


class Members:
    """An object whose members are taken one by one, until none is left.

    Args:
        value: the object; None is an empty one.
        path: of it in the configuration, empty for all of it.

    Raises:
        ConfigurationError: it is no object.
    """

    def __init__(self, value: Any, path: str) -> None:
        if not isinstance(value, dict | None):
            raise ConfigurationError(f"{path or 'it'} must be an object")
        self.path = path
        self._left: Object = dict(value or {})

    def _at(self, name: str) -> str:
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
            raise ConfigurationError(f"{self._at(name)} must be a text")
        return default if value is None else value

    def flag(self, name: str) -> bool:
        """Take a boolean, false where it is missing.

        Raises:
            ConfigurationError: it is none.
        """
        value = self.take(name)
        if not isinstance(value, bool | None):
            raise ConfigurationError(f"{self._at(name)} must be true or false")
        return bool(value)

    def number(self, name: str, default: int, least: int, most: int = (1 << 31) - 1) -> int:
        """Take a whole number.

        Args:
            name: of the member.
            default: where it is missing.
            least: what it is at least.
            most: what it is at most.

        Raises:
            ConfigurationError: it is none, or is not in the range.
        """
        value = self.take(name)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise ConfigurationError(
                f"{self._at(name)} must be a whole number from {least} to {most}"
            )
        return value

    def member(self, name: str) -> Members:
        """Take an object.

        Raises:
            ConfigurationError: it is none.
        """
        return Members(self.take(name), self._at(name))

    def items(self, name: str) -> list[Any]:
        """Take a list, empty where it is missing.

        Raises:
            ConfigurationError: it is none.
        """
        value = self.take(name)
        if not isinstance(value, list | None):
            raise ConfigurationError(f"{self._at(name)} must be a list")
        return value or []

    def each(self, name: str) -> list[Members]:
        """Take a list of objects.

        Raises:
            ConfigurationError: it is none.
        """
        return [
            Members(value, f"{self._at(name)}[{number}]")
            for number, value in enumerate(self.items(name))
        ]

    def texts(self, name: str) -> frozenset[str]:
        """Take a list of texts.

        Raises:
            ConfigurationError: it is none.
        """
        values = self.items(name)
        if not all(isinstance(one, str) for one in values):
            raise ConfigurationError(f"{self._at(name)} must be a list of texts")
        return frozenset(values)

    def end(self) -> None:
        """See that nothing is left.

        Raises:
            ConfigurationError: something is.
        """
        for name in self._left:
            raise ConfigurationError(f"{self._at(name)}: is not known")
