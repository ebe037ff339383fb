"""References lead to earlier answers."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.harness.references import UnresolvedError, in_path, in_text, numbers, resolved

ANSWERS = {
    1: {"metadata": {"name": "a/b", "labels": {"x.y/z": "l"}}, "n": 5, "items": [{"k": "v"}]},
    2: [{"type": "ADDED"}],
}


def answers(number: int) -> Any:
    return ANSWERS[number]


@pytest.mark.parametrize(
    ("value", "becomes"),
    [
        ("{{1.n}}", 5),
        ("n={{1.n}}", "n=5"),
        ({"a": ["{{1.items.0}}", 1]}, {"a": [{"k": "v"}, 1]}),
        ("{{1.items}}!", '[{"k":"v"}]!'),
        (r"{{1.metadata.labels.x\.y/z}}", "l"),
        ("{{2.0.type}}", "ADDED"),
        ({"{{1.n}}": None}, {"{{1.n}}": None}),
        ("{{x.n}} {1.n}", "{{x.n}} {1.n}"),
    ],
)
def test_values_take_their_place(value: Any, becomes: Any) -> None:
    """The value itself where the text is one reference, else its text."""
    assert resolved(value, answers) == becomes


def test_a_path_is_escaped() -> None:
    """What is put into a path stays one segment."""
    assert in_path("/x/{{1.metadata.name}}?a={{1.n}}", answers) == "/x/a%2Fb?a=5"
    assert in_text("{{1.metadata.name}}", answers) == "a/b"


@pytest.mark.parametrize(
    "reference", ["{{3.n}}", "{{1.m}}", "{{1.n.x}}", "{{1.items.1}}", "{{1.items.k}}"]
)
def test_a_reference_that_leads_nowhere_is_told(reference: str) -> None:
    """No such step, member, place in a list, or no list."""
    with pytest.raises(UnresolvedError) as caught:
        resolved({"a": reference}, answers)
    assert caught.value.args == (reference,)


def test_numbers_of_steps() -> None:
    """Of all references in a value."""
    assert numbers({"a": ["{{1.n}} {{12.x}}", 3], "b": "{{4.y}}"}) == {1, 4, 12}
