"""What is said by hand of a built-in kind, as one value, and references that load when used.

Checks, defaults and printers of all kinds are 40,000 lines, of which most servers need few.  So a
value of a kind names them, and a module is loaded when something of it is first needed::

    if TYPE_CHECKING:
        from kubetrio.kinds.apps import validation
    else:
        validation = lazily(f"{__package__}.validation")

    KINDS = {"deployments": BuiltinKind(rules=WriteRules(validation=validation.DEPLOYMENTS))}

mypy reads the import and knows the names and their types; at run time ``validation.DEPLOYMENTS`` is
a `Reference`, and ``python -m facts check`` resolves all there are.  The value of a kind itself
may be a reference too: ``"deployments": lazily(f"{__package__}.deployments").DEPLOYMENTS``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from importlib import import_module
from typing import Any, NamedTuple, TypeVar, cast

from kubetrio.kinds.common.defaulting import Rules as Defaults
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.common.writerules import WriteRules
from kubetrio.schema.fieldselectors import FieldSelectors
from kubetrio.schema.kind import Conversion
from kubetrio.schema.printing import PLAIN

T = TypeVar("T")


class MissingPart(LookupError):
    """Something of a built-in kind is not there; the text says what, and where it should be."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A name of a module that may not be loaded yet.

    Args:
        module: full name of the module.
        name: of what it has.
    """

    module: str
    name: str

    def resolve(self) -> Any:
        """Load the module, unless it is, and return what it has under the name.

        Raises:
            MissingPart: there is no such module, or it has no such name.
        """
        try:
            return getattr(import_module(self.module), self.name)
        except ModuleNotFoundError as error:
            if not f"{self.module}.".startswith(f"{error.name}."):
                raise
            raise MissingPart(f"{self.module}.{self.name}: there is no such module") from error
        except AttributeError as error:
            raise MissingPart(f"{self.module} has no {self.name}") from error


class _Module:
    """A module whose names are references."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Reference:
        return Reference(self._path, name)


def lazily(module: str) -> Any:
    """Stand for a module whose names are loaded when they are used.

    Args:
        module: its full name.
    """
    return _Module(module)


def resolved(value: T) -> T:
    """A value, or a row of values, without references.

    Args:
        value: a reference, a dataclass or a named tuple whose members may be references, or
            anything else.

    Raises:
        MissingPart: one names what is not there.
    """
    if isinstance(value, Reference):
        return cast("T", value.resolve())
    if is_dataclass(value) and not isinstance(value, type):
        values = {one.name: getattr(value, one.name) for one in fields(value)}
        late = {name: one.resolve() for name, one in values.items() if isinstance(one, Reference)}
        return replace(value, **late) if late else value
    if isinstance(value, tuple) and hasattr(value, "_replace"):
        late = {
            name: one.resolve()
            for name, one in zip(value._fields, value, strict=True)  # type: ignore[attr-defined]
            if isinstance(one, Reference)
        }
        return cast("T", value._replace(**late)) if late else value
    return value


class Part(NamedTuple):
    """A part of a kind's value as it is written.

    Args:
        path: where it is in the value.
        value: what stands there, a reference or not.
    """

    path: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltinKind:
    """All that is said by hand of a built-in kind.

    Its facts (names, verbs, columns, selectable fields) are in ``schemas/``.

    Args:
        rules: what writes do.
        defaults: its tables of defaults, by version.
        printer: how objects become rows; None for a kind that has the columns of all.
        selectors: how selectable fields are read; none but those of metadata by default.
        conversions: to and from the version that is stored, by the others.
        below: whether such objects are only written and shown below others, as scales are, so that
            no facts are about them as a resource.
    """

    rules: WriteRules = field(default_factory=WriteRules)
    defaults: Mapping[str, Defaults] = field(default_factory=dict)
    printer: PrinterRow | None = None
    selectors: FieldSelectors = field(default_factory=FieldSelectors)
    conversions: Mapping[str, Conversion] = field(default_factory=dict)
    below: bool = False

    def parts(self) -> Iterator[Part]:
        """All that it names."""
        for member in fields(self.rules):
            yield Part(f"rules.{member.name}", getattr(self.rules, member.name))
        yield from (Part(f"defaults[{key!r}]", one) for key, one in self.defaults.items())
        for name, one in zip(PrinterRow._fields, self.printer or (), strict=False):
            yield Part(f"printer.{name}", one)
        yield Part("selectors", self.selectors)
        yield from (Part(f"conversions[{key!r}]", one) for key, one in self.conversions.items())


UNPRINTED = PrinterRow(PLAIN.cells)
"""The printer of kinds that have none."""
