"""What is typed into simulated containers, and whether it ends them."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.simulation.standardinput import StandardInput, input_of, note_of

Object = dict[str, Any]


def pod_of(code: str = "", **members: bool) -> Object:
    """A pod with one container that has members."""
    annotations = {"simulation.kubetrio.io/exit-code": code} if code else {}
    return {
        "metadata": {"name": "p", "annotations": annotations},
        "spec": {"containers": [{"name": "c", **members}]},
    }


class Ends:
    """Notes how a container was ended."""

    def __init__(self) -> None:
        self.codes: list[int] = []

    async def __call__(self, code: int) -> None:
        """End it."""
        self.codes.append(code)

    async def typed(self, taken: StandardInput, text: bytes, *, fin: bool = False) -> list[int]:
        """Type something; returns the codes of what ended since the beginning."""
        taken.take(text, fin=fin)
        await taken.act()
        return self.codes


@pytest.mark.parametrize(
    ("members", "codes"),
    [
        ({"stdin": True, "stdinOnce": True}, [0]),
        ({"stdin": True}, []),
        ({"stdinOnce": True}, []),
    ],
)
async def test_the_end_of_the_input(members: dict[str, bool], codes: list[int]) -> None:
    """Ends a container that is read once, and no other."""
    ends = Ends()
    taken = input_of(pod_of("", **members), "c", ends)
    assert await ends.typed(taken, b"\x03\x04exit\n") == []
    assert await ends.typed(taken, b"", fin=True) == codes


@pytest.mark.parametrize(
    ("pieces", "codes"),
    [
        ((b"ls\r", b"\x04"), [0]),
        ((b"ls\r\x03",), [130]),
        ((b"ls\rex", b"it\r"), [0]),
        ((b"exit now\r", b"ls"), []),
    ],
)
async def test_a_terminal(pieces: tuple[bytes, ...], codes: list[int]) -> None:
    """Ctrl-D, Ctrl-C and a line ``exit`` end what runs in it."""
    ends = Ends()
    taken = input_of(pod_of(stdin=True, tty=True), "c", ends)
    for piece in pieces:
        await ends.typed(taken, piece)
    assert ends.codes == codes


async def test_the_code_is_that_of_the_annotation() -> None:
    """It is the one that the container exits with."""
    ends = Ends()
    taken = input_of(pod_of("3", stdin=True, stdinOnce=True), "c", ends)
    assert await ends.typed(taken, b"", fin=True) == [3]


def test_notes() -> None:
    """They say what ends a container, and nothing of one that ends by itself."""
    assert note_of(pod_of(stdin=True, stdinOnce=True, tty=True), "c") == (
        'simulated container "c" runs no program; it ends when its standard input ends, '
        "or on Ctrl-D, Ctrl-C or exit, or by the annotation simulation.kubetrio.io/run-seconds\n"
    )
    assert "ends by the annotation" in note_of(pod_of(stdin=True), "c")
    assert note_of(pod_of("3", stdin=True), "c") == ""
    assert note_of(pod_of(), "other") == ""
