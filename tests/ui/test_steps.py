"""Steps of a script are served as they are."""

from __future__ import annotations

import pytest

from kubetrio.ui.steps import Steps

STEPS = Steps(count=2, listed=b"[]", details=(b'{"number":1}', b'{"number":2}'))


def test_all_and_one() -> None:
    """As JSON that no page of another origin reads."""
    every, second = STEPS.answer(""), STEPS.answer("/2")
    assert (every.body, second.body) == (b"[]", b'{"number":2}')
    assert (b"X-Content-Type-Options", b"nosniff") in tuple(second.headers)


@pytest.mark.parametrize("path", ["/", "/0", "/3", "/-1", "/x", "/1/", "/²", "/" + "9" * 30, "1x"])
def test_what_there_is_not(path: str) -> None:
    """404."""
    assert STEPS.answer(path).status == 404
