"""Python types of custom resources, made of the schemas in their definitions.

An object is a dictionary, as the client gives it, so its type is a `TypedDict`; a type checker then
knows its members, and nothing is converted at run time.
"""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterable, Mapping
from typing import Any

Schema = Mapping[str, Any]
HEAD = '''\
"""Types of custom resources; made by kubetrio gen-types."""

from typing import Any, Literal, NotRequired, TypedDict


class ObjectMeta(TypedDict):
    """Metadata of an object."""

    name: str
    generateName: NotRequired[str]
    namespace: NotRequired[str]
    uid: NotRequired[str]
    resourceVersion: NotRequired[str]
    generation: NotRequired[int]
    creationTimestamp: NotRequired[str]
    deletionTimestamp: NotRequired[str]
    deletionGracePeriodSeconds: NotRequired[int]
    labels: NotRequired[dict[str, str]]
    annotations: NotRequired[dict[str, str]]
    finalizers: NotRequired[list[str]]
    ownerReferences: NotRequired[list[dict[str, Any]]]
    managedFields: NotRequired[list[dict[str, Any]]]
'''
SIMPLE = {"integer": "int", "number": "float", "string": "str", "boolean": "bool"}
NAMES = frozenset({*SIMPLE.values(), "dict", "list"})
"""Names that annotations use: a member of such a name would hide them in a class."""
LONGEST_DOC = 90


class SchemaError(ValueError):
    """A document is no definition that types can be made of; one line."""


def module_of(definitions: Iterable[Mapping[str, Any]]) -> str:
    """A module with a type for each version of each definition.

    Args:
        definitions: CustomResourceDefinitions (``apiextensions.k8s.io/v1``), as they are applied.

    Raises:
        SchemaError: one of them has no kind, group or versions.
    """
    written = _Written()
    for definition in definitions:
        try:
            spec = definition["spec"]
            kind, group = spec["names"]["kind"], spec["group"]
            for version in spec["versions"]:
                _resource(written, kind, group, version)
        except (KeyError, TypeError) as error:
            raise SchemaError(f"is no CustomResourceDefinition of v1: {error} is missing") from None
    return HEAD + "".join(f"\n\n{text}" for text in written.texts)


class _Written:
    """Classes in the order in which they can be read: members before what has them."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._names: set[str] = set()

    def name(self, wanted: str) -> str:
        """A class name that is not taken."""
        name, number = wanted, 2
        while name in self._names or keyword.iskeyword(name):
            name, number = f"{wanted}{number}", number + 1
        self._names.add(name)
        return name


def _resource(written: _Written, kind: str, group: str, version: Mapping[str, Any]) -> None:
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    whole = {
        **schema,
        "type": "object",
        "required": ["apiVersion", "kind", "metadata", *schema.get("required", ())],
        "properties": {
            **(schema.get("properties") or {}),
            "apiVersion": {"type": "string", "enum": [f"{group}/{version['name']}"]},
            "kind": {"type": "string", "enum": [kind]},
            "metadata": {"x-python-type": "ObjectMeta"},
        },
    }
    _type(written, whole, kind + version["name"].capitalize())


def _type(written: _Written, schema: Schema, name: str) -> str:
    """The annotation of a schema; what it needs is written.

    Args:
        written: takes classes.
        schema: a structural schema, or a part of one.
        name: of the class, where it becomes one.
    """
    found = _plain(written, schema, name)
    return f"{found} | None" if schema.get("nullable") and found != "Any" else found


def _plain(written: _Written, schema: Schema, name: str) -> str:
    if "x-python-type" in schema:
        return str(schema["x-python-type"])
    if schema.get("x-kubernetes-int-or-string"):
        return "int | str"
    values = schema.get("enum")
    if values and all(isinstance(value, str) for value in values):
        return f"Literal[{', '.join(json.dumps(value) for value in values)}]"
    kind = schema.get("type")
    if kind in SIMPLE:
        return SIMPLE[kind]
    if kind == "array":
        return f"list[{_type(written, schema.get('items') or {}, f'{name}Item')}]"
    if kind != "object":
        return "Any"
    properties = schema.get("properties")
    if properties and not schema.get("x-kubernetes-preserve-unknown-fields"):
        return _class(written, schema, name)
    more = schema.get("additionalProperties")
    value = _type(written, more, f"{name}Value") if isinstance(more, Mapping) else "Any"
    return f"dict[str, {value}]"


def _class(written: _Written, schema: Schema, wanted: str) -> str:
    """Write the class of an object with known members; returns its name."""
    name = written.name(wanted)
    required = set(schema.get("required") or ())
    members: dict[str, str] = {}
    for key, below in schema["properties"].items():
        found = _type(written, below, name + key[:1].upper() + _identifier(key[1:]))
        members[key] = found if key in required else f"NotRequired[{found}]"
    written.texts.append(class_text(name, members, _doc(schema, name)))
    return name


def class_text(name: str, members: Mapping[str, str], doc: str) -> str:
    """The text of a ``TypedDict``.

    Args:
        name: of the class.
        members: annotations by name.
        doc: its docstring.
    """
    if all(map(_attribute, members)):
        lines = [f"class {name}(TypedDict):", f'    """{doc}"""', ""]
        lines += [f"    {key}: {found}" for key, found in members.items()]
    else:  # a member such as "in" or "$ref" can only be written so
        lines = [f"{name} = TypedDict(", f'    "{name}",', "    {"]
        lines += [f"        {json.dumps(key)}: {found}," for key, found in members.items()]
        lines += ["    },", ")"]
    return "\n".join(lines) + "\n"


def _attribute(key: str) -> bool:
    """Whether a member can be written as one of a class."""
    return key.isidentifier() and not keyword.iskeyword(key) and key not in NAMES


def _identifier(text: str) -> str:
    return "".join(each if each.isalnum() else "_" for each in text)


def _doc(schema: Schema, name: str) -> str:
    return first_sentence(str(schema.get("description") or "")) or (
        f"See the definition of {name}."
    )


def first_sentence(text: str) -> str:
    """The first sentence of a description, as a docstring has it; empty where there is none."""
    said = " ".join(text.split())
    first = said.partition(". ")[0].rstrip(".").replace("\\", "/").replace('"', "'")
    return f"{first[:LONGEST_DOC].rstrip()}." if first else ""
