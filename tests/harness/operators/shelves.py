"""The operator of the page about fuzzing operators, right and with mistakes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from kubetrio.harness.operators.runs import Operator

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "how-to" / "fuzz-operators.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
SOURCE = next(text for language, text in BLOCKS if language == "python")
DEFINITION = next(text for language, text in BLOCKS if language == "yaml")
TELL = """await self.tell({**shelf, 'status': status})

    async def tell(self, shelf):
        try:
            await self.client.update(shelf, subresource="status")
        except ApiError as error:
            if error.code != 409:
                raise
"""
MISTAKES: Mapping[str, tuple[str, str]] = {
    "": ("", ""),
    "conflict": (
        'await self.client.update({**shelf, "status": status}, subresource="status")',
        TELL,
    ),
    "busy": (
        'if error.reason != "AlreadyExists":',
        'if error.reason != "AlreadyExists" and error.code != 429:',
    ),
    "stale": (
        "await self.make(self.config_map(shelf, title, owner))",
        "await self.add(shelf, title, owner)",
    ),
    "finalizer": ("[*finalizers, FINALIZER]", "[FINALIZER]"),
    "storm": (
        '(status := {"books": len(titles)})',
        '(status := {"books": shelf.get("status", {}).get("books", 0) + 1})',
    ),
    "surplus": ('if book["metadata"]["name"] not in titles:', "if False:"),
    "entry": ('await self.remove(f"{meta[\'name\']}-entry", meta["namespace"])', "pass"),
}
"""What is changed in the operator of the page, by the name of the mistake."""
STALE = """
    async def add(self, shelf, title, owner):
        own = [one for one in self.books if owner in one["metadata"].get("ownerReferences", [])]
        if len(own) < shelf["spec"]["books"]:
            book = self.config_map(shelf, "", owner)
            book["metadata"]["generateName"] = f"{title}-"
            await self.client.create(book)

    def config_map("""


def operator(mistake: str = "") -> Operator:
    """The operator, with a mistake."""
    right, wrong = MISTAKES[mistake]
    assert right in SOURCE
    source = SOURCE.replace(right, wrong)
    if mistake == "stale":
        source = source.replace("\n    def config_map(", STALE)
        source = source.replace('if book["metadata"]["name"] not in titles:', "if False:")
    names: dict[str, Any] = {}
    exec(compile(source, f"shelves ({mistake})", "exec"), names)
    chosen: Operator = names["operate"]
    return chosen


SHELF: Mapping[str, Any] = yaml.safe_load(DEFINITION)
"""The CustomResourceDefinition of the page."""


def books(number: int) -> dict[str, Any]:
    """A Shelf."""
    return {
        "apiVersion": "example.com/v1", "kind": "Shelf",
        "metadata": {"namespace": "default"}, "spec": {"books": number},
    }  # fmt: skip
