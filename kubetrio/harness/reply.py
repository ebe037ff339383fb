"""What was answered to a step of a script; a value, and JSON that keeps every byte of a body."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson


class ReplyError(ValueError):
    """A text that means no answer; one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What was answered to a step.

    Args:
        status: HTTP status code; 0 where there was no answer.
        headers: lower-case names and values; repeated ones are joined by a comma.
        body: the bytes after the headers, without framing; empty for a watch.
        events: lines of a watch, each without its end.
        error: why there was no answer, or not all of it; empty where there was.
    """

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    events: Sequence[bytes] = ()
    error: str = ""

    def json(self) -> Any:
        """The body as JSON; of a watch a list of its events.

        Raises:
            ValueError: it is none.
        """
        if self.events:
            return [orjson.loads(event) for event in self.events]
        return orjson.loads(self.body)

    def as_dict(self) -> dict[str, Any]:
        """The answer as JSON has it, without what is empty."""
        shown: dict[str, Any] = {}
        if self.status:
            shown["status"] = self.status
        if self.headers:
            shown["headers"] = dict(self.headers)
        if self.body:
            shown |= _shown(self.body)
        if self.events:
            shown["events"] = [_shown(event) for event in self.events]
        if self.error:
            shown["error"] = self.error
        return shown

    @classmethod
    def of(cls, data: object) -> Reply:
        """The answer that a JSON object means.

        Raises:
            ReplyError: it means none.
        """
        if not isinstance(data, Mapping):
            raise ReplyError("must be an object")
        known = {"status", "headers", "events", "error", *_FORMS}
        if unknown := set(data) - known:
            raise ReplyError(f"there is no field {min(map(str, unknown))!r}")
        status, headers = data.get("status", 0), data.get("headers", {})
        events, error = data.get("events", []), data.get("error", "")
        if isinstance(status, bool) or not isinstance(status, int):
            raise ReplyError("status: must be a whole number")
        if not isinstance(headers, Mapping) or not all(
            isinstance(text, str) for pair in headers.items() for text in pair
        ):
            raise ReplyError("headers: must be an object of texts")
        if not isinstance(events, list) or not isinstance(error, str):
            raise ReplyError("events must be a list, and error a text")
        lines = tuple(_bytes(event) for event in events)
        return cls(
            status=status, headers=dict(headers), body=_bytes(data), events=lines, error=error
        )


_FORMS = ("json", "jsonLine", "text", "base64")


def _shown(data: bytes) -> dict[str, Any]:
    """Bytes in the most readable form that means exactly them."""
    line = data.endswith(b"\n")
    try:
        value = orjson.loads(data)
        if orjson.dumps(value) == (data[:-1] if line else data):
            return {"jsonLine" if line else "json": value}
    except ValueError:
        pass
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _bytes(data: object) -> bytes:
    """The bytes that one of the forms means; none where there is none.

    Raises:
        ReplyError: it means none.
    """
    if not isinstance(data, Mapping):
        raise ReplyError("must be an object")
    forms = [form for form in _FORMS if form in data]
    if len(forms) > 1:
        raise ReplyError(f"{' and '.join(forms)} cannot be used together")
    try:
        match forms:
            case ["json"]:
                return orjson.dumps(data["json"])
            case ["jsonLine"]:
                return orjson.dumps(data["jsonLine"]) + b"\n"
            case ["text"] if isinstance(data["text"], str):
                return data["text"].encode()
            case ["base64"] if isinstance(data["base64"], str):
                return base64.b64decode(data["base64"], validate=True)
            case []:
                return b""
    except (TypeError, binascii.Error) as error:
        raise ReplyError(f"{forms[0]}: {error}") from error
    raise ReplyError(f"{forms[0]}: must be a text")
