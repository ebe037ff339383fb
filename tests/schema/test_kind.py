"""Values of kinds, and what is kept on them."""

from __future__ import annotations

from kubetrio.schema.kind import Kind, cached_on_kind
from kubetrio.testing.widgets import widgets


def test_what_is_made_of_a_kind_is_made_once() -> None:
    """For each kind, and for each further argument."""
    made: list[tuple[Kind, str]] = []

    @cached_on_kind
    def describe(kind: Kind, word: str) -> str:
        made.append((kind, word))
        return f"{word} {kind.resource}"

    one, other = widgets()
    assert [describe(one, "a"), describe(one, "a"), describe(one, "b")] == [
        "a widgets",
        "a widgets",
        "b widgets",
    ]
    describe(other, "a")
    assert made == [(one, "a"), (one, "b"), (other, "a")]


def test_nothing_is_kept_on_another_value() -> None:
    """An equal kind that is another value has its own."""

    @cached_on_kind
    def fresh(_: Kind) -> object:
        return object()

    assert fresh(widgets()[0]) is not fresh(widgets()[0])
