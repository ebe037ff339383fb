"""A flag: the field of the configuration that it sets, declared once with all that is said of it.

A field of a `Section` whose value is `flag(...)` is a flag of the command line, a field of the
configuration with its default and its check, and a line of the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from typing import Any, ClassVar, NamedTuple, TypeVar, cast, dataclass_transform

from kubetrio.config.kinds import Kind

T = TypeVar("T")
_FLAG = "flag"


class ConfigError(ValueError):
    """A configuration cannot be used; the text is one line that names the fields.

    Args:
        fields: names of what is wrong, or does not go together.
        why: what is wrong with it and what is allowed.
        flags: what sets these fields on the command line.
    """

    def __init__(
        self, fields: tuple[str, ...], why: str, flags: tuple[str, ...] | None = None
    ) -> None:
        super().__init__(f"{' and '.join(fields)}: {why}")
        self.fields = fields
        self.why = why
        self.flags = flags or fields

    def by_flag(self) -> str:
        """The text with the names of flags for those of fields."""
        return f"{' and '.join(self.flags)}: {self.why}"


class Flag(NamedTuple):
    """What is said of a field that the command line sets.

    Args:
        name: of the flag, without dashes; empty for a field that has none.
        kind: of value.
        help: what it is for.
        more: what the reference adds, Markdown; names in braces are filled in by what makes the
            reference (`kubetrio/cli/flagsreference.py`).
        unset: what holds when it is not given, where that is no value.
        short: one letter that is another name of it.
        group: heading that it stands under; that of the section when empty.
        command_default: default of the command line for a field that has none.
    """

    name: str
    kind: Kind
    help: str
    more: str = ""
    unset: str = ""
    short: str = ""
    group: str = ""
    command_default: object = None


class FlagRow(NamedTuple):
    """A flag and where it goes.

    Args:
        flag: what is said of it.
        section: name of the section in the configuration, empty for a field of its own.
        field: name of the field.
        group: heading that it stands under.
        default: value when the flag is not given.
    """

    flag: Flag
    section: str
    field: str
    group: str
    default: Any

    @property
    def path(self) -> str:
        """The field as Python code finds it in the configuration."""
        return f"{self.section}.{self.field}" if self.section else self.field

    def default_text(self) -> str:
        """The default as the command line would be given it; empty for none."""
        return self.flag.kind.show(self.default)


def flag(
    name: str,
    kind: Kind,
    default: T,
    help: str,  # noqa: A002  (argparse's word)
    *,
    more: str = "",
    unset: str = "",
    short: str = "",
    group: str = "",
) -> T:
    """The default of a field that a flag sets; for the arguments see `Flag`."""
    about = Flag(name=name, kind=kind, help=help, more=more, unset=unset, short=short, group=group)
    if isinstance(default, dict):
        return cast("T", field(default_factory=default.copy, metadata={_FLAG: about}))
    return field(default=default, metadata={_FLAG: about})


def required(
    name: str,
    kind: Kind,
    command_default: T,
    help: str,  # noqa: A002  (argparse's word)
    *,
    group: str,
    default: T,
) -> T:
    """A field that is to be given, and that a flag sets; for the arguments see `Flag`.

    Where it is not given its value is `default`, which a rule of the section refuses or not.
    """
    about = Flag(name=name, kind=kind, help=help, group=group, command_default=command_default)
    return field(default=default, metadata={_FLAG: about})


def flag_of(one: Field[Any]) -> Flag | None:
    """What is said of a field, None for one that no flag sets, such as a section."""
    return one.metadata.get(_FLAG)


def _told(about: Flag | None, value: object) -> str:
    """A value in a message: a list as the command line has it, anything else as Python has it."""
    if about is None or not isinstance(value, tuple) or not all(isinstance(i, str) for i in value):
        return repr(value)
    return repr(",".join(value))


Rule = Callable[[Any], "ConfigError | None"]
"""Says what does not go together in a section."""


class Section:
    """Frozen fields that are checked when the value is made, also as a changed copy.

    A dataclass in all but the code, which dataclasses would generate for each at every start: half
    a millisecond.

    Attributes:
        TITLE: heading of its flags.
        RULES: what goes together, beside what each field may be.
    """

    TITLE: ClassVar[str] = ""
    RULES: ClassVar[tuple[Rule, ...]] = ()

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init__(self, **given: Any) -> None:
        for one in fields(self):
            if one.name in given:
                value = given.pop(one.name)
            elif one.default_factory is not MISSING:
                value = one.default_factory()
            elif one.default is not MISSING:
                value = one.default
            else:
                raise TypeError(f"{type(self).__name__} needs {one.name}")
            object.__setattr__(self, one.name, value)
        if given:
            raise TypeError(f"{type(self).__name__} has no {next(iter(given))}")
        self._check()

    def _check(self) -> None:
        for one in fields(self):
            about = flag_of(one)
            value = getattr(self, one.name)
            if about is not None:
                why = about.kind.check(value)
            else:
                fits = isinstance(value, cast("type", one.default_factory))
                why = "" if fits else f"is no {getattr(one.default_factory, '__name__', '')}"
            if why:
                raise error_of(type(self), (one.name,), f"{_told(about, value)} {why}")
        for rule in self.RULES:
            problem = rule(self)
            if problem is not None:
                raise problem

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def _values(self) -> dict[str, object]:
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self._values() == other._values()

    __hash__ = None  # type: ignore[assignment]  # there are mappings inside

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self._values().items())
        return f"{type(self).__name__}({shown})"


S = TypeVar("S", bound=Section)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field, required))
def section(made: type[S]) -> type[S]:
    """Make a class a section: its fields are given by name."""
    return dataclass(init=False, eq=False, repr=False, kw_only=True, match_args=False)(made)


def error_of(of: type[Section], names: tuple[str, ...], why: str) -> ConfigError:
    """An error about fields of a section."""
    abouts = [flag_of(one) for one in fields(of) if one.name in names]
    flags = tuple(f"--{about.name}" for about in abouts if about is not None and about.name)
    return ConfigError(names, why, flags)


def both_or_none(one: str, other: str) -> Rule:
    """Two fields are given together."""

    def rule(chosen: Section) -> ConfigError | None:
        if (getattr(chosen, one) is None) == (getattr(chosen, other) is None):
            return None
        return error_of(type(chosen), (one, other), "go together: give both or none")

    return rule


def rows(of: type[Section], name: str = "") -> Iterator[FlagRow]:
    """The flags of a section and of those inside it, in order.

    Args:
        of: a section.
        name: of the section in the configuration; empty for the configuration itself.
    """
    for one in fields(of):
        about = flag_of(one)
        factory = one.default_factory
        if about is None:
            yield from rows(cast("type[Section]", factory), one.name)
            continue
        default: Any = one.default
        if callable(factory):
            default = factory()
        elif about.command_default is not None:
            default = about.command_default
        yield FlagRow(
            flag=about,
            section=name,
            field=one.name,
            group=about.group or of.TITLE,
            default=default,
        )


def values(config: Section) -> Iterator[tuple[FlagRow, Any]]:
    """The flags of a configuration with the values that it has."""
    for row in rows(type(config)):
        holder = getattr(config, row.section) if row.section else config
        yield row, getattr(holder, row.field)
