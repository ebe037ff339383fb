"""The skeleton of a new built-in kind: one module and one row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kubetrio.kinds.parts import folder
from kubetrio.schema import builtin

KINDS = Path(__file__).resolve().parent.parent / "kubetrio" / "kinds"
VOWELS = "aeiou"
PACKAGE = '"""Kinds of {group}."""\n'
TABLE = '''"""The kinds of {group}: all that is said of each by hand."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.common.builtinkind import BuiltinKind, lazily

KINDS: Mapping[str, BuiltinKind] = {{
}}
"""By plural name."""
'''
MODULE = '''"""{kind} of {group}: what is said of it by hand."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.builtinkind import BuiltinKind
from kubetrio.kinds.common.cells import {cells}
from kubetrio.kinds.common.checks import Causes
from kubetrio.kinds.common.defaulting import Rules
from kubetrio.kinds.common.metadata import CHANGE
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.common.writerules import WriteRules
from kubetrio.schema.fieldselectors import FieldSelectors
from kubetrio.schema.printing import Json
from kubetrio.schema.rules import Validation


def _check(obj: Json, path: str, out: Causes) -> None:
    """Add what is wrong with an object, such as `required` of `machinery/fielderrors.py`."""


def _cells(obj: Json, now: float) -> list[Any]:
    """{columns}."""
    return [{values}]


DEFAULTS: Rules = ()
"""Such as ``within("spec", Default("replicas", 1))``; see `kinds/common/defaulting.py`."""

{name} = BuiltinKind(
    rules=WriteRules(validation=Validation(create=_check), metadata=CHANGE),
    defaults={{{defaults}}},
    printer={printer},
    selectors=FieldSelectors(getters={{{getters}}}),
)
'''


def scaffold(group: str, kind: str, plural: str = "", kinds: Path = KINDS) -> Iterator[str]:
    """Write the skeleton of a kind; yields what was written.

    Args:
        group: API group, empty for the core group.
        kind: the kind.
        plural: name of the resource; as facts say, or in the usual way, when empty.
        kinds: folder of the groups.

    Raises:
        ValueError: it has a value already, or a name cannot be one.
    """
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", kind):
        raise ValueError(f"{kind!r} is no name of a kind, such as PriorityClass")
    known = _known(group, kind)
    plural = plural or (known[0][1] if known else plural_of(kind))
    where = kinds / folder(group)
    table, module = where / "kinds.py", where / f"{plural}.py"
    text = table.read_text() if table.exists() else TABLE.format(group=group or "the core group")
    if f'    "{plural}": ' in text:
        raise ValueError(f"{table} says something of {plural} already")
    if module.exists():
        raise ValueError(f"{module} is there already")
    versions = [version for version, _ in known] or ["v1"]
    where.mkdir(exist_ok=True)
    package = where / "__init__.py"
    if not package.exists():
        package.write_text(PACKAGE.format(group=group or "the core group"))
        yield f"{package}: made"
    module.write_text(_module(group, kind, plural, versions))
    yield f"{module}: made"
    table.write_text(_with_row(text, plural))
    yield f"{table}: a row for {plural}"
    if not known:
        yield f"facts of schemas/ do not know {group or 'the core group'} {kind} yet"


def plural_of(kind: str) -> str:
    """The usual plural of a kind, in lower case: ``Policy`` is ``policies``."""
    word = kind.lower()
    if word.endswith("y") and word[-2:-1] not in VOWELS:
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "z", "ch", "sh")) else f"{word}s"


def _known(group: str, kind: str) -> list[tuple[str, str]]:
    """Versions and plural names under which facts know a kind."""
    found = []
    for path, record in builtin.load("resources")["resources"].items():
        of, version, plural, *below = path.split("/")
        if of == group and record["kind"] == kind and not below:
            found.append((version, plural))
    return found


def _module(group: str, kind: str, plural: str, versions: list[str]) -> str:
    rows = builtin.load("tables").get(f"{group}/{versions[0]}/{plural}")
    columns = [row[0] for row in rows] if rows else ["Name", "Age"]
    cells = {"Name": "name(obj)", "Age": "age(obj, now)"}
    fields = builtin.load("field-selectors").get(f"{group}/{versions[0]}/{plural}") or ()
    own = [name for name in fields if not name.startswith("metadata.")]
    names = {"Name": "name", "Age": "age"}
    printed = rows is None or columns != ["Name", "Created At"]
    text = MODULE.format(
        group=group or "the core group",
        kind=kind,
        name=plural.upper(),
        cells=", ".join(sorted(names[one] for one in columns if one in names)),
        columns=", ".join(columns),
        values=", ".join(cells.get(one, '""') for one in columns),
        defaults=", ".join(f'"{version}": DEFAULTS' for version in versions),
        printer="PrinterRow(_cells)" if printed else "None",
        getters=", ".join(f'"{name}": at("{name}")' for name in own),
    )
    if own:
        text = text.replace("import FieldSelectors\n", "import FieldSelectors, at\n")
    return text


def _with_row(text: str, plural: str) -> str:
    """The table of a folder with a row more, in the order of names."""
    row = f'    "{plural}": lazily(f"{{__package__}}.{plural}").{plural.upper()},\n'
    begin = text.index("KINDS: Mapping[str, BuiltinKind] = {\n")
    end = text.index("\n}\n", begin) + 1
    at = end
    for found in re.finditer(r'^    "([a-z]+)": ', text[begin:end], re.MULTILINE):
        if found[1] > plural:
            at = begin + found.start()
            break
    if not re.search(r"^from .*builtinkind import .*\blazily\b", text, re.MULTILINE):
        text = text.replace(
            "builtinkind import BuiltinKind\n", "builtinkind import BuiltinKind, lazily\n"
        )
        at += len(", lazily")
    return f"{text[:at]}{row}{text[at:]}"
