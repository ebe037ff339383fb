"""The recipes of writes: as documented, each step once, and one way to the store."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import orjson
import pytest

from kubetrio.resources import recipe
from kubetrio.resources.objects import stamp
from kubetrio.resources.serverwrites import SERVER, rewrite_as_server
from kubetrio.store.memory import InMemoryStore
from kubetrio.store.model import KeyValue

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "design" / "resources.md").read_text()
ENGINES = ("store", "encryption", "testing")
"""Rooms that implement the store's contract or wrap it."""
WRITES = frozenset({"create", "update", "delete", "write_all"})
ALL = {
    "CREATE": recipe.names(recipe.CREATE + recipe.NEW),
    "CREATE_MISSING": recipe.names(recipe.CREATE_MISSING + recipe.NEW),
    "UPDATE": recipe.names(recipe.UPDATE),
    "CHANGE": recipe.names(recipe.CHANGE),
    "DELETE": recipe.names(recipe.DELETE),
    "SERVER": [step.__name__ for step in SERVER],
}


@pytest.mark.parametrize(
    ("heading", "steps"),
    [
        ("Create", ALL["CREATE"]),
        ("Update", ALL["UPDATE"]),
        ("Delete", ALL["DELETE"]),
        ("The server's own", ALL["SERVER"]),
    ],
)
def test_the_steps_written_are_the_steps_taken(heading: str, steps: list[str]) -> None:
    """The numbered lists of the design page are the tuples, in their order."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\d+\. `(\w+)`: .", section, re.MULTILINE) == steps


@pytest.mark.parametrize("steps", ALL.values(), ids=ALL)
def test_each_step_is_taken_once(steps: list[str]) -> None:
    """What has to be done again is another step, and says why."""
    assert len(set(steps)) == len(steps)


def test_each_step_says_what_it_does() -> None:
    """In the first line of its docstring."""
    for one in (*recipe.CREATE, *recipe.NEW, *recipe.UPDATE, *recipe.CHANGE, *recipe.DELETE):
        for step in one.steps if isinstance(one, recipe.Beside) else (one,):
            assert step.__doc__, step.__name__


def writes_to_a_store(module: Path) -> bool:
    """Whether a module calls a write of a store, by the name that stores have everywhere."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of, name = node.func.value, node.func.attr
            named = of.attr if isinstance(of, ast.Attribute) else getattr(of, "id", "")
            if name in WRITES and named.strip("_") == "store":
                return True
    return False


def test_one_module_writes_to_the_store() -> None:
    """Whatever is written goes through the recipes' last steps."""
    package = ROOT / "kubetrio"
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if path.relative_to(package).parts[0] not in ENGINES and writes_to_a_store(path)
    }
    assert found == {"resources/storing.py"}


async def test_bytes_are_replaced_where_they_can_be() -> None:
    """With a new revision in them; what is not there, or is not understood, is left alone."""
    store, key = InMemoryStore(), "/registry/leases/a/b"
    value = stamp({"kind": "Lease", "apiVersion": "v1", "metadata": {"name": "b"}, "n": 1})
    assert not await rewrite_as_server(store, key, lambda old: old)
    await store.create(key, value)
    assert not await rewrite_as_server(store, key, lambda _: None)
    assert await rewrite_as_server(store, key, lambda old: old.replace(b'"n":1', b'"n":2'))
    stored = await store.get(key)
    assert stored is not None
    obj = orjson.loads(stored.value)
    assert (obj["n"], obj["metadata"]["resourceVersion"]) == (2, str(stored.revision))


async def test_bytes_are_not_replaced_over_another_write() -> None:
    """Another write that came between stays."""
    store, key = LateStore(), "/registry/leases/a/b"
    body = {"kind": "Lease", "apiVersion": "v1", "metadata": {"name": "b"}}
    store.late = await store.create(key, stamp({**body, "n": 1}))
    await store.update(key, stamp({**body, "n": 2}), expected=store.late.revision)
    assert not await rewrite_as_server(store, key, lambda value: value)


class LateStore(InMemoryStore):
    """A store that is read before a write, and written after it."""

    late: KeyValue | None = None

    async def get(self, key: str, *, at: int | None = None) -> KeyValue | None:
        """See `Reading.get`."""
        return self.late or await super().get(key, at=at)
