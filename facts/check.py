"""What is missing of a built-in kind: its value, what that names, and the facts that are about it.

A kind is facts of ``schemas/`` and a value in ``kubetrio/kinds/<group>/kinds.py``, joined by plural
name.  What is missing on one side shows nowhere until a client asks for it; this finds it.
"""

from __future__ import annotations

import ast
import pkgutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kubetrio import kinds
from kubetrio.kinds.builtin import registry
from kubetrio.kinds.common.builtinkind import BuiltinKind, MissingPart, resolved
from kubetrio.kinds.parts import columns_of, folder, kinds_of, said_of
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.schema import builtin
from kubetrio.schema.kind import Kind
from kubetrio.schema.printing import DEFAULT_COLUMNS

METADATA = frozenset({"metadata.name", "metadata.namespace"})
MORE_CELLS = {"networking.k8s.io/ipaddresses": 1}
"""Cells that kube-apiserver's printer fills beyond its columns, which clients are sent too."""


def check() -> Iterator[str]:
    """What is missing, a line each."""
    served = list(registry().resources.values())
    for kind in served:
        yield from (f"{kind.api_version} {kind.resource}: {text}" for text in _missing(kind))
    yield from _unserved(served)


def _missing(kind: Kind) -> Iterator[str]:
    yield from _types(kind)
    try:
        said = said_of(kind)
    except MissingPart as error:
        yield str(error)
        return
    broken = list(_broken(said))
    yield from broken
    if not broken:
        yield from _columns(kind, said)
        yield from _selectors(kind, said)
        yield from _versions(kind, said)


def _types(kind: Kind) -> Iterator[str]:
    """Types of objects and lists, in JSON and protobuf."""
    wanted = {"type": kind.kind}
    if "list" in kind.verbs:
        wanted["list type"] = f"{kind.kind}List"
    for what, name in wanted.items():
        known = builtin.type_name_of(GroupVersionKind(kind.group, kind.version, name))
        if not known:
            yield f"no {what} {name} in schemas/kinds.json"
            continue
        if _lacks(builtin.type_schema, known):
            yield f"no {what} {known} in schemas/types/"
        message = builtin.message_name(known)
        if _lacks(builtin.message, message):
            yield f"no protobuf message {message} in schemas/protobuf/"


def _lacks(load: Callable[[str], Any], name: str) -> bool:
    try:
        load(name)
    except KeyError:
        return True
    return False


def _broken(said: BuiltinKind) -> Iterator[str]:
    """References to what is not there."""
    for part in said.parts():
        try:
            resolved(part.value)
        except MissingPart as error:
            yield f"{part.path}: {error}"


def _columns(kind: Kind, said: BuiltinKind) -> Iterator[str]:
    """A printer and columns, as many of each as of the other."""
    facts = columns_of().get((kind.group, kind.resource))
    if "list" not in kind.verbs:
        return
    if facts is None:
        yield "no columns in schemas/tables.json"
        return
    printed = facts != DEFAULT_COLUMNS
    if said.printer is None:
        if printed:
            yield "columns in schemas/tables.json, but no printer"
        return
    if not printed:
        yield "a printer, but no columns in schemas/tables.json"
        return
    cells = kind.printer.cells({"metadata": {"name": "a"}}, 0.0)
    if len(cells) != len(facts) + MORE_CELLS.get(f"{kind.group}/{kind.resource}", 0):
        yield f"the printer fills {len(cells)} cells of {len(facts)} columns"


def _selectors(kind: Kind, said: BuiltinKind) -> Iterator[str]:
    """Selectable fields, and how each is read."""
    if "list" not in kind.verbs:
        return
    key = f"{kind.group}/{kind.version}/{kind.resource}"
    facts = builtin.load("field-selectors").get(key)
    if facts is None:
        yield "no fields in schemas/field-selectors.json"
        return
    read = set(resolved(said.selectors).getters)
    for name in sorted(set(facts) - METADATA - read):
        yield f"the field {name} is selectable, and selectors do not read it"
    for name in sorted(read - set(facts)):
        yield f"selectors read the field {name}, which is not in schemas/field-selectors.json"


def _versions(kind: Kind, said: BuiltinKind) -> Iterator[str]:
    """A conversion between each version and the stored one."""
    if kind.stored is not kind and kind.version not in said.conversions:
        yield f"no conversion to and from {kind.stored.api_version}"
    if kind.stored is kind and kind.family is None and said.conversions:
        yield "conversions of a kind that has one version"


def differing(source: str, package: str) -> Iterator[str]:
    """Names that stand for another module at run time than mypy reads.

    Args:
        source: text of a ``kinds.py``.
        package: its package.
    """
    imported: dict[str, str] = {}
    stands: dict[str, str] = {}
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                for one in node.body:
                    if isinstance(one, ast.ImportFrom):
                        names = ((name.asname or name.name, name.name) for name in one.names)
                        imported |= {name: f"{one.module}.{of}" for name, of in names}
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="lazily"), args=[path])
            ):
                stands[name] = _text(path).replace("{__package__}", package)
    for name in sorted(imported.keys() | stands.keys()):
        if imported.get(name) != stands.get(name):
            yield f"{name} is {stands.get(name)}, and {imported.get(name)} for mypy"


def _text(path: ast.expr) -> str:
    return ast.unparse(path).removeprefix("f").strip("'")


def _unserved(served: list[Kind]) -> Iterator[str]:
    """Values of what is not served, and groups without values."""
    names = {(folder(kind.group), kind.resource) for kind in served}
    versions = {(folder(kind.group), kind.resource, kind.version) for kind in served}
    for package in pkgutil.iter_modules(kinds.__path__):
        name = package.name
        if not package.ispkg or name == "common":
            continue
        spec = find_spec(f"{kinds.__name__}.{name}.kinds")
        if spec is None or spec.origin is None:
            yield f"no kubetrio/kinds/{name}/kinds.py"
            continue
        stand_ins = differing(Path(spec.origin).read_text(), f"{kinds.__name__}.{name}")
        yield from (f"kubetrio/kinds/{name}/kinds.py: {text}" for text in stand_ins)
        for resource, value in kinds_of("" if name == "core" else name).items():
            try:
                said = resolved(value)
            except MissingPart as error:
                yield f"{name} {resource}: {error}"
                continue
            if said.below:
                yield from (f"{name} {resource}: {text}" for text in _broken(said))
            elif (name, resource) not in names:
                yield f"kubetrio/kinds/{name}/kinds.py: {resource} is not in schemas/resources.json"
            else:
                for version in sorted({*said.defaults, *said.conversions}):
                    if (name, resource, version) not in versions:
                        yield f"{name} {resource}: says something of {version}, which is not served"
