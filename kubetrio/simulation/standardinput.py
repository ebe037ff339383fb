"""What is typed into a simulated container that is attached to: its end ends the container.

No program reads it.  A runtime closes the standard input of a container with ``stdinOnce`` when its
first client has gone, and most programs that read it end then.  In a terminal Ctrl-D, Ctrl-C and a
line ``exit`` end a shell.

Source: docs "Container v1 core" (``stdinOnce``, ``tty``); signal(7) (Ctrl-C is signal 2).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kubetrio.simulation.annotations import PREFIX, number_of
from kubetrio.simulation.plans import LISTS, Plan, plan_of, role_of

Object = dict[str, Any]
End = Callable[[Object, str, int], Awaitable[None]]
"""Ends a container that runs: the pod as it was found, name of the container, exit code."""

END_OF_TEXT, END_OF_TRANSMISSION = b"\x03", b"\x04"
INTERRUPTED = 130
MOST_LINE_BYTES = 16  # of a line, that are kept to compare it


class StandardInput:
    """What a client types.

    Args:
        once: whether the container ends when its input does.
        tty: whether it has a terminal.
        code: with which the container exits when it ends by itself.
        end: ends it with a code.
    """

    def __init__(
        self, *, once: bool, tty: bool, code: int, end: Callable[[int], Awaitable[None]]
    ) -> None:
        self._once = once
        self._tty = tty
        self._code = code
        self._end = end
        self._line = b""
        self._due: int | None = None

    def take(self, typed: bytes, *, fin: bool = False) -> None:
        """Note what was typed.

        Args:
            typed: bytes.
            fin: whether nothing follows.
        """
        if self._due is None:
            self._due = self._read(typed) if self._tty else None
        if self._due is None and fin and self._once:
            self._due = self._code

    async def act(self) -> None:
        """End the container if what was typed does.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same.
        """
        if self._due is not None:
            await self._end(self._due)
            self._due = None

    def _read(self, typed: bytes) -> int | None:
        """The code with which a shell in a terminal ends for what is typed, None if it goes on."""
        for place in range(len(typed)):
            one = typed[place : place + 1]
            if one == END_OF_TEXT:
                return INTERRUPTED
            ends = one in (b"\r", b"\n")
            if one == END_OF_TRANSMISSION or (ends and self._line.strip() == b"exit"):
                return self._code
            self._line = b"" if ends else (self._line + one)[:MOST_LINE_BYTES]
        return None


def input_of(pod: Object, container: str, end: Callable[[int], Awaitable[None]]) -> StandardInput:
    """The standard input of a container.

    Args:
        pod: that it is in.
        container: its name.
        end: ends it with a code.
    """
    spec, plan = _found(pod, container)
    once, tty = _ends(spec)
    code = number_of(pod, "exit-code", container)
    return StandardInput(
        once=once, tty=tty, code=0 if code is None or plan is None else plan.exit_code, end=end
    )


def note_of(pod: Object, container: str) -> str:
    """What a client is told that types into a container which goes on; empty if it ends by itself.

    For the arguments see `input_of`.
    """
    spec, plan = _found(pod, container)
    if plan is None or plan.run_s is not None:
        return ""
    once, tty = _ends(spec)
    ways = ["when its standard input ends"] if once else []
    ways += ["on Ctrl-D, Ctrl-C or exit"] if tty else []
    ways.append(f"by the annotation {PREFIX}run-seconds")
    return f'simulated container "{container}" runs no program; it ends {", or ".join(ways)}\n'


def _found(pod: Object, name: str) -> tuple[Object, Plan | None]:
    """A container of a pod, and what it does."""
    for path in LISTS:
        for container in pod["spec"].get(path) or ():
            if container["name"] == name:
                return container, plan_of(pod, name, role_of(container, path))
    return {}, None


def _ends(container: Object) -> tuple[bool, bool]:
    """Whether a container ends with its input, and by what is typed into its terminal."""
    stdin = bool(container.get("stdin"))
    return stdin and bool(container.get("stdinOnce")), stdin and bool(container.get("tty"))
