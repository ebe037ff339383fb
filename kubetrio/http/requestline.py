"""Whether the parts of a request's first line are one space apart.

llhttp takes any number of spaces, Go's server takes one: who reads such a line otherwise sees
another target in it.  llhttp does not tell where in the bytes a message begins, so its line is
looked for: with one space on each side of the target, at the start of what was read, or behind the
message before it.

Source: RFC 9112, 3 (request line) and 11.2 (request smuggling).
"""

from __future__ import annotations

LAST_BYTES = 16  # of a body, to find what follows it
LINE_END = b"\n"


class RequestLines:
    """The first lines in the bytes of one connection.

    Attributes:
        seen: whether that of the current message was found.
    """

    __slots__ = ("_at", "_last", "_text", "seen")

    def __init__(self) -> None:
        self.seen = True
        self._text: bytes | bytearray = b""
        self._at = 0  # where the line of the message before ends
        self._last = LINE_END  # what comes last of the message before

    def add(self, data: bytes, *, between: bool) -> None:
        """Bytes were read; those before them are kept as long as a line is looked for.

        Args:
            data: the bytes.
            between: whether all messages before them are complete.
        """
        if self.seen:
            self._text, self._at = data, 0
            if between:
                self._last = LINE_END
        elif isinstance(self._text, bytearray):
            self._text += data
        else:
            self._text = bytearray(self._text + data)

    def forget(self) -> None:
        """Let go of the bytes, unless a line is looked for in them."""
        if self.seen:
            self._text, self._at = b"", 0

    def instead(self, data: bytes) -> None:
        """The bytes of a message that is given to llhttp under the name of another method."""
        self._text, self._at = data, 0

    def found(self, method: bytes, target: bytes) -> bool:
        """Whether the bytes have the line of the current message as it ought to be.

        Args:
            method: as llhttp knows it.
            target: all of it.
        """
        line = b"%b %b HTTP/" % (method, target)
        text, at = self._text, self._at
        if at or not text.startswith(line):
            places = (text.find(before + line, at) for before in (self._last, LINE_END))
            at = min((place for place in places if place >= 0), default=-1)
            if at < 0:
                return False
        self._at = at + len(line)
        self.seen = True
        return True

    def head_ended(self) -> None:
        """The head of the current message is complete; line ends follow it, or a body."""
        self._last = LINE_END

    def body(self, data: bytes) -> None:
        """A piece of a body that has no frames of its own."""
        self._last = data[-LAST_BYTES:]
