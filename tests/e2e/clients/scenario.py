"""What every client does: create, watch, patch, apply, replace, page, delete, on ConfigMaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

LABEL, VALUE = "made", "here"
SELECTOR = f"{LABEL}={VALUE}"
MANAGER = "scenario"
PAGE = 2
"""Objects of a page."""
Data = Mapping[str, str]
Object = dict[str, Any]
Event = tuple[str, str, dict[str, str]]
"""Type, name and data."""


class Refused(Exception):
    """The server refused.

    Args:
        code: status of its answer.
    """

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Client(Protocol):
    """A client in the words of the scenario; each may raise `Refused`.

    Attributes:
        lacks: methods that the client has nothing for; `replace` is used in their place.
    """

    lacks: frozenset[str]

    def create(self, name: str, data: Data) -> Object:
        """Make one with the label."""
        ...

    def read(self, name: str) -> Object:
        """One of them."""
        ...

    def patch(self, name: str, data: Data) -> Object:
        """Merge something into its data."""
        ...

    def apply(self, name: str, data: Data) -> Object:
        """Apply data, as `MANAGER`."""
        ...

    def replace(self, body: Object) -> Object:
        """Write one as it is."""
        ...

    def names(self) -> list[str]:
        """Names of all with the label, asked for in pages of `PAGE`."""
        ...

    def watch(self) -> None:
        """Begin to follow those with the label; returns when what is written next is seen."""
        ...

    def event(self) -> Event:
        """The next one that was seen."""
        ...

    def delete(self, name: str) -> None:
        """Delete it."""
        ...


def configmap(name: str, data: Data) -> Object:
    """One with the label."""
    metadata = {"name": name, "labels": {LABEL: VALUE}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}


def applied(name: str, data: Data) -> Object:
    """What is applied: nothing but the data."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": dict(data),
    }


def event_of(kind: str, body: Mapping[str, Any]) -> Event:
    """An event of an object."""
    return kind, body["metadata"]["name"], dict(body.get("data") or {})


@contextmanager
def refused(code: int) -> Iterator[None]:
    """What is done inside is refused."""
    found = 0
    try:
        yield
    except Refused as error:
        found = error.code
    assert found == code


def walk(client: Client) -> None:
    """The scenario."""
    client.create("anchor", {})  # some clients know by it that they watch
    client.watch()
    states: list[tuple[str, dict[str, str]]] = []

    def now(kind: str, found: Object, expected: dict[str, str]) -> None:
        assert (found.get("data") or {}) == expected, (kind, found)
        states.append((kind, expected))

    first = client.create("one", {"a": "1"})
    now("ADDED", first, {"a": "1"})
    assert client.read("one")["metadata"]["uid"] == first["metadata"]["uid"]
    with refused(409):
        client.create("one", {})
    if "patch" not in client.lacks:
        now("MODIFIED", client.patch("one", {"b": "2"}), {"a": "1", "b": "2"})
    if "apply" not in client.lacks:
        before = states[-1][1]
        now("MODIFIED", client.apply("one", {"c": "3"}), {**before, "c": "3"})
        # What its manager does not apply any more, and nobody else has, goes.
        now("MODIFIED", client.apply("one", {}), before)
    now("MODIFIED", client.replace({**client.read("one"), "data": {"z": "26"}}), {"z": "26"})
    with refused(409):
        client.replace(first)
    for number in range(4):
        client.create(f"page-{number}", {})
    assert client.names() == ["anchor", "one", "page-0", "page-1", "page-2", "page-3"]
    client.delete("one")
    states.append(("DELETED", {"z": "26"}))
    with refused(404):
        client.read("one")
    with refused(404):
        client.delete("one")

    seen: list[tuple[str, dict[str, str]]] = []
    while not seen or seen[-1][0] != "DELETED":
        kind, name, data = client.event()
        if name == "one":
            seen.append((kind, data))
    assert seen == states
