"""The fields that objects of a kind can be selected by: how to read them, what others are told.

Source: recorded answers of kube-apiserver 1.36 and "Field Selectors" in the Kubernetes
documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.fields import Selector
from kubetrio.machinery.status import bad_request

Object = Mapping[str, Any]
Getter = Callable[[Object], str]

METADATA_ONLY = '{quoted} is not a known field selector: only "metadata.name", "metadata.namespace"'
"""What built-in kinds without fields of their own say of a field."""
SHORT = "field label not supported: {field}"
"""What most kinds with fields of their own say, and custom ones."""


def text_of(value: Any) -> str:
    """A scalar as text; the empty string for what has no value or is not a scalar."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else ""


def at(path: str, default: str = "") -> Getter:
    """Reads the scalar at a path of member names; default for a missing or empty one."""
    names = path.split(".")

    def get(obj: Object) -> str:
        value: Any = obj
        for name in names:
            if not isinstance(value, Mapping):
                return default
            value = value.get(name)
        return text_of(value) or default

    return get


def below(prefix: str, names: str, stored: str = "") -> dict[str, Getter]:
    """Fields of a member, which may be stored under another name."""
    return {f"{prefix}.{name}": at(f"{stored or prefix}.{name}") for name in names.split()}


_METADATA: Mapping[str, Getter] = {
    "metadata.name": at("metadata.name"),
    "metadata.namespace": at("metadata.namespace"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSelectors:
    """How the objects of one kind are selected by fields.

    Args:
        getters: by field path, which has the name of the version asked for; they read objects as
            they are stored.
        supported: the field paths.
        refusal: what is said of others; ``{field}``, ``{quoted}``, ``{kind}``, ``{group}`` and
            ``{version}`` stand for themselves.
    """

    getters: Mapping[str, Getter] = field(default_factory=dict)
    supported: Collection[str] = tuple(_METADATA)
    refusal: str = METADATA_ONLY

    def values(self, obj: Object) -> dict[str, str]:
        """Every field of a stored object that it can be selected by."""
        out = {name: get(obj) for name, get in _METADATA.items()}
        for name, get in self.getters.items():
            out[name] = get(obj)
        for name in self.supported:
            if name not in out:
                out[name] = at(name)(obj)
        return out

    def check(self, selector: Selector, group: str, version: str, kind: str) -> None:
        """Refuse fields that the kind does not select by.

        Args:
            selector: what the client asked for.
            group: API group of the kind.
            version: its version.
            kind: its name.

        Raises:
            ApiError: 400, in the words that kube-apiserver has for this kind.
        """
        for path, _, _ in selector.requirements:
            if path not in self.supported:
                raise bad_request(
                    self.refusal.format(
                        field=path, quoted=quote(path), kind=kind, group=group, version=version
                    )
                )
