"""Annotations that say how objects are simulated."""

from __future__ import annotations

import pytest

from kubetrio.simulation.annotations import number_of, said_of

POD = {
    "metadata": {
        "annotations": {
            "simulation.kubetrio.io/exit-code": "1",
            "simulation.kubetrio.io/exit-code.web": "2",
            "simulation.kubetrio.io/logs": "",
        }
    }
}


def test_a_container_has_its_own_word() -> None:
    """What names a container is stronger than what is said of all of them."""
    assert said_of(POD, "exit-code", "web") == "2"
    assert said_of(POD, "exit-code", "other") == said_of(POD, "exit-code") == "1"


def test_empty_is_said() -> None:
    """An empty annotation is one, and a missing one is None."""
    assert said_of(POD, "logs", "web") == ""
    assert said_of(POD, "exec") is None
    assert said_of({"metadata": {}}, "exec") is None


@pytest.mark.parametrize(
    ("text", "number"),
    [("1.5", 1.5), ("0", 0.0), ("-1", None), ("soon", None), ("inf", None), ("nan", None)],
)
def test_numbers_are_seconds_and_codes(text: str, number: float | None) -> None:
    """What is no number, or one that no clock reaches, counts as not said."""
    pod = {"metadata": {"annotations": {"simulation.kubetrio.io/n": text}}}
    assert number_of(pod, "n") == number
