"""Schemas of built-in objects -> stubs with a ``TypedDict`` for each: ``kubetrio/types``.

Beside each stub is the module that makes its types at run time.

A stub of a package, such as ``io.k8s.api.apps.v1``, has the types that its kinds consist of,
without lists: the client gives those as values of its own.  An object has to say what it is
(``apiVersion``, ``kind``), and needs metadata with a name if it can be read by one; a ``spec`` is
required where members of it are.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kubetrio.cli.typegen import SIMPLE, class_text, first_sentence
from kubetrio.schema import builtin
from kubetrio.types import NAMED_META, TEMPLATE_META, module_of, packages

FOLDER = Path(__file__).parents[1] / "kubetrio/types"
HEAD = '"""Types of {api}; made by python -m facts stubs."""\n'
MODULE = '''\
"""Types of {api}; made by python -m facts stubs, as the stub beside it."""

from kubetrio.types import lazily

__getattr__ = lazily("{name}", __name__)
'''
META = "io.k8s.apimachinery.pkg.apis.meta.v1"
OBJECT_META = f"{META}.{NAMED_META}"
PLAIN: Mapping[str, str] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "str",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int | str",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "dict[str, Any]",
}
"""Types outside the packages that have stubs. A quantity is text in what a server answers."""
Schema = Mapping[str, Any]


def make(output: Path) -> Iterator[str]:
    """Write the stubs; yields the names of files.

    Args:
        output: folder of them.
    """
    readable = _readable()
    for package in packages():
        group, version = module_of(package)
        folder = output / group
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").write_text(f'"""Types of {group}."""\n')
        (folder / f"{version}.py").write_text(MODULE.format(api=f"{group}/{version}", name=package))
        (folder / f"{version}.pyi").write_text(_Stub(package, readable).text())
        yield f"{group}/{version}.pyi"


class _Stub:
    """The stub of a package.

    Args:
        package: its name.
        readable: groups, versions and kinds of objects that can be read by name.
    """

    def __init__(self, package: str, readable: set[tuple[str, str, str]]) -> None:
        self._package = package
        self._readable = readable
        self._imports: defaultdict[str, set[str]] = defaultdict(set)
        self._described = builtin.load(f"descriptions/{package.rpartition('.')[0]}")

    def text(self) -> str:
        """The text of the stub."""
        classes = list(self._classes())
        used = " ".join(classes)
        typing = [one for one in ("Any", "Literal", "NotRequired", "TypedDict") if one in used]
        lines = [HEAD.format(api="/".join(module_of(self._package)))]
        lines.append(f"from typing import {', '.join(typing)}\n")
        for package in sorted(self._imports):
            names = ", ".join(sorted(self._imports[package]))
            dotted = ".".join(module_of(package))
            lines.append(f"from kubetrio.types.{dotted} import {names}\n")
        head = lines[0] + "\n" + lines[1] + ("\n" if lines[2:] else "") + "".join(lines[2:])
        return head + "".join(f"\n{one}" for one in classes)

    def _classes(self) -> Iterator[str]:
        for name, schema in builtin.load(f"types/{self._package}").items():
            short = name.rpartition(".")[2]
            if not schema.get("properties") or short.endswith("List"):
                continue
            members = self._members(schema)
            said = self._described.get(short, {}).get("", "")
            doc = first_sentence(said) or f"See the API's {short}."
            if name == OBJECT_META:
                yield class_text(TEMPLATE_META, members, "Metadata of a template, without a name.")
                members["name"] = "str"
            yield class_text(short, members, doc)

    def _members(self, schema: Schema) -> dict[str, str]:
        required = set(schema.get("required") or ())
        kinds: list[Any] = schema.get("x-kubernetes-group-version-kind") or []
        members = {}
        if "metadata" in schema["properties"] and len(kinds) == 1:
            (kind,) = kinds
            api = "/".join(filter(None, (kind["group"], kind["version"])))
            members = {"apiVersion": _literal([api]), "kind": _literal([kind["kind"]])}
            required |= set(members)
            if schema["properties"]["metadata"].get("$ref") == OBJECT_META:
                members["metadata"] = self._named(NAMED_META)
                if (kind["group"], kind["version"], kind["kind"]) in self._readable:
                    required.add("metadata")
            if _required_of(schema["properties"].get("spec", {})):
                required.add("spec")
        for key, below in schema["properties"].items():
            members[key] = members.get(key) or self._annotation(below)
        return {
            key: found if key in required else f"NotRequired[{found}]"
            for key, found in members.items()
        }

    def _annotation(self, schema: Schema) -> str:
        if "$ref" in schema:
            return self._of_type(schema["$ref"])
        if "enum" in schema:
            return _literal(schema["enum"])
        kind = schema.get("type")
        if kind in SIMPLE:
            return SIMPLE[kind]
        if kind == "array":
            return f"list[{self._annotation(schema['items'])}]"
        if kind == "object":
            more = schema.get("additionalProperties")
            return f"dict[str, {self._annotation(more) if more else 'Any'}]"
        return "Any"

    def _of_type(self, name: str) -> str:
        if name in PLAIN:
            return PLAIN[name]
        if name == OBJECT_META:
            return self._named(TEMPLATE_META)
        schema = builtin.type_schema(name)
        if not schema.get("properties"):
            return self._annotation(schema)
        package, _, short = name.rpartition(".")
        return short if package == self._package else self._named(short, package)

    def _named(self, name: str, package: str = META) -> str:
        if package != self._package:
            self._imports[package].add(name)
        return name


def _required_of(schema: Schema) -> bool:
    """Whether a member is a type that has members which are required."""
    return bool("$ref" in schema and builtin.type_schema(schema["$ref"]).get("required"))


def _literal(values: list[str]) -> str:
    return f"Literal[{', '.join(map(json.dumps, values))}]"


def _readable() -> set[tuple[str, str, str]]:
    """Groups, versions and kinds of what can be read by name."""
    found = set()
    for path, row in builtin.load("resources")["resources"].items():
        group, version, *_ = path.split("/")
        answered = row["responseKind"]
        if "get" in row["verbs"]:
            own = (answered["group"] or group, answered["version"] or version)
            found.add((*own, answered["kind"]))
    return found
