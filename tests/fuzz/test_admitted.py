"""The model of admission says what the documentation says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzz.admitted import Asked, Hook, Refused, mutated, validated

CREATE = Asked("CREATE", "-", frozenset({"red"}))
HOOK = Hook("a", True, ("CREATE",), "", "", ignores=False, again=False, does="add")


def hook(letter: str, **changes: object) -> Hook:
    return replace(HOOK, letter=letter, **changes)  # type: ignore[arg-type]


def order(*hooks: Hook, asked: Asked = CREATE) -> str:
    told: list[str] = []
    mutated(hooks, asked, told)
    return "".join(told)


def test_a_webhook_is_asked_again_when_the_object_changed_behind_it() -> None:
    """If it wants to be."""
    assert order(hook("a"), hook("b")) == "ab"
    assert order(hook("a", again=True), hook("b")) == "aba"
    assert order(hook("a", again=True), hook("b", does="leave")) == "ab"
    assert order(hook("a"), hook("b", again=True)) == "ab"
    assert order(hook("a", again=True), hook("b", again=True)) == "abab"
    assert mutated([hook("a", again=True), hook("b")], CREATE, []) == "-aba"


def test_a_webhook_is_asked_about_what_it_matches() -> None:
    assert order(hook("a", operations=("DELETE",)), hook("b", team="blue")) == ""
    assert order(hook("a", team="red"), hook("b", condition="never")) == "a"
    assert order(hook("a"), hook("b"), hook("c", condition="short")) == "ab"


@pytest.mark.parametrize("changes", [{"does": "fail"}, {"condition": "broken"}])
def test_what_cannot_be_asked_refuses_unless_it_is_ignored(changes: dict[str, str]) -> None:
    with pytest.raises(Refused):
        order(hook("a", **changes))
    assert order(hook("a", **changes, ignores=True), hook("b"))[-1] == "b"


def test_one_refusal_refuses() -> None:
    """Of whatever is asked, or of the policy."""
    with pytest.raises(Refused):
        order(hook("a"), hook("b", does="deny", ignores=True))
    quiet = hook("v", mutating=False, does="leave")
    assert validated([quiet], CREATE, "-a") == ["v"]
    with pytest.raises(Refused):
        validated([quiet, hook("w", mutating=False, does="deny")], CREATE, "-a")
    with pytest.raises(Refused):
        validated([quiet], CREATE, "-aaa")
