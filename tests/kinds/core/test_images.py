"""Pull policies of images."""

from __future__ import annotations

import pytest

from kubetrio.kinds.core.images import pull_policy


@pytest.mark.parametrize(
    "image",
    [
        "img",
        "img:latest",
        "a/b",
        "localhost/img",
        "r.example:5000/img",
        "[::1]:5000/img",
        f"img:latest@sha256:{'0' * 64}",
    ],
)
def test_latest_is_pulled_always(image: str) -> None:
    """The tag is ``latest`` when it says so, or when there is neither tag nor digest."""
    assert pull_policy(image) == "Always"


@pytest.mark.parametrize(
    "image",
    [
        "img:1",
        "r.example:5000/img:1",
        f"img@sha256:{'0' * 64}",
        "Upper",
        "",
        "a" * 64,
        "img@sha256:00",
        "img:",
        "a//b",
        f"{'a/' * 140}b",
    ],
)
def test_anything_else_is_pulled_once(image: str) -> None:
    """Other tags, digests, and what is no name at all."""
    assert pull_policy(image) == "IfNotPresent"
