"""Logging: the standard library's loggers in the two formats of Kubernetes components.

``text`` is klog's: ``I1120 23:50:57.123456   12345 file.py:12] "msg" key="value"``; ``json`` is
one object a line with ``ts`` (milliseconds since the epoch), ``caller``, ``msg``, ``v`` (not on
errors) and the fields.  ``-v N`` enables informational messages up to verbosity N; in the
standard library's terms verbosity N is level ``INFO - N``, so that ``logging``'s own filters work.

Records of other libraries pass through the same formatters with their text as it is, except that
text with control characters is quoted: nothing a client sends may start a line of its own.

Source: Kubernetes documentation "System Logs"; KEP-1602 (structured logging).
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import traceback
from collections.abc import Mapping
from enum import Enum
from types import TracebackType
from typing import IO

LOGGER = "kubetrio"
"""Name of the parent of all our loggers."""

MAX_VERBOSITY = logging.INFO - 1
"""Highest verbosity that is told apart."""

_FIELDS = "kubetrio_fields"
_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class Format(Enum):
    """Values of ``--logging-format``."""

    TEXT = "text"
    JSON = "json"


class Log:
    """A logger for messages with fields.

    A disabled call costs the building of its keyword arguments and one dictionary look-up; where
    a field is expensive to compute, ask `enabled` first.

    Args:
        name: logger name below ``kubetrio``, such as ``kubetrio.store``.
    """

    __slots__ = ("_logger",)

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def enabled(self, verbosity: int = 0) -> bool:
        """Whether informational messages of this verbosity are written."""
        return self._logger.isEnabledFor(_level(verbosity))

    def info(self, msg: str, /, **fields: object) -> None:
        """Write an informational message of verbosity 0."""
        if self._logger.isEnabledFor(logging.INFO):
            self._logger.log(logging.INFO, msg, extra={_FIELDS: fields}, stacklevel=2)

    def verbose(self, verbosity: int, msg: str, /, **fields: object) -> None:
        """Write an informational message that needs ``-v`` of at least `verbosity` (1 to 19)."""
        level = _level(verbosity)
        if self._logger.isEnabledFor(level):
            self._logger.log(level, msg, extra={_FIELDS: fields}, stacklevel=2)

    def warning(self, msg: str, /, **fields: object) -> None:
        """Write a warning."""
        if self._logger.isEnabledFor(logging.WARNING):
            self._logger.log(logging.WARNING, msg, extra={_FIELDS: fields}, stacklevel=2)

    def error(
        self,
        error: BaseException | None,
        msg: str,
        /,
        *,
        stack: bool = False,
        **fields: object,
    ) -> None:
        """Write an error.

        Args:
            error: what went wrong, written as the field ``err``; None leaves it out.
            msg: text for people, constant for a place in the code.
            stack: whether to add the traceback of `error` as the field ``stacktrace``.
            fields: further fields.
        """
        if self._logger.isEnabledFor(logging.ERROR):
            if error is not None:
                fields = {"err": error, **fields}
            if stack and error is not None:
                fields["stacktrace"] = "".join(traceback.format_exception(error))
            self._logger.log(logging.ERROR, msg, extra={_FIELDS: fields}, stacklevel=2)


class TextFormatter(logging.Formatter):
    """klog's text format."""

    def format(self, record: logging.LogRecord) -> str:
        """One line for a record; values of several lines follow it, indented."""
        parts = [self._header(record)]
        fields = _fields(record)
        message = record.getMessage()
        structured = fields is not None or not message.isprintable()
        parts.append(_quote(message) if structured else message)
        parts += [f" {key}={_text(value)}" for key, value in (fields or {}).items()]
        if stack := _stack(record):
            parts.append(f" stacktrace={_text(stack)}")
        return "".join(parts)

    def _header(self, record: logging.LogRecord) -> str:
        at = dt.datetime.fromtimestamp(record.created, dt.UTC).astimezone()
        return (
            f"{_severity(record.levelno)}{at:%m%d %H:%M:%S.%f} {record.process or 0:7d} "
            f"{record.filename}:{record.lineno}] "
        )


class JsonFormatter(logging.Formatter):
    """The JSON format of Kubernetes components.

    A field named like one of the fixed members (``ts``, ``caller``, ``msg``, ``v``) is left out.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One JSON object without line breaks."""
        directory = record.pathname.replace("\\", "/").split("/")[-2:-1]
        caller = "/".join([*directory, f"{record.filename}:{record.lineno}"])
        members: dict[str, object] = {
            "ts": round(record.created * 1000, 4),
            "caller": caller,
            "msg": record.getMessage(),
        }
        if record.levelno < logging.ERROR:
            members["v"] = max(0, logging.INFO - record.levelno)
        members |= {k: v for k, v in (_fields(record) or {}).items() if k not in members}
        if stack := _stack(record):
            members["stacktrace"] = stack
        return "{" + ",".join(f"{_json(k)}:{_json(v)}" for k, v in members.items()) + "}"


def setup(format: Format, verbosity: int, stream: IO[str]) -> logging.Handler:  # noqa: A002 (the flag's name)
    """Send all logging of the process to `stream`; calling again replaces the former choice.

    Our own messages are written up to `verbosity`; other libraries' warnings and errors always,
    their informational messages from verbosity 4 and their debugging ones from 8.

    Args:
        format: how records are written.
        verbosity: the value of ``-v``, at least 0.
        stream: where to; normally the standard error stream.

    Returns:
        The handler installed on the root logger.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter() if format is Format.JSON else TextFormatter())
    root = logging.getLogger()
    for former in root.handlers[:]:
        if isinstance(former.formatter, TextFormatter | JsonFormatter):
            root.removeHandler(former)
    root.addHandler(handler)
    others = (
        logging.DEBUG if verbosity >= 8 else logging.INFO if verbosity >= 4 else logging.WARNING
    )
    root.setLevel(others)
    logging.getLogger(LOGGER).setLevel(_level(verbosity))
    return handler


def _level(verbosity: int) -> int:
    return logging.INFO - min(max(verbosity, 0), MAX_VERBOSITY)


def _severity(level: int) -> str:
    if level >= logging.ERROR:
        return "E"
    return "W" if level >= logging.WARNING else "I"


def _fields(record: logging.LogRecord) -> Mapping[str, object] | None:
    """The fields of a record made by `Log`, or None for records of other libraries."""
    fields = getattr(record, _FIELDS, None)
    return fields if isinstance(fields, Mapping) else None


def _stack(record: logging.LogRecord) -> str:
    info: _ExcInfo | None = record.exc_info
    if info is None or info[0] is None:
        return ""
    return "".join(traceback.format_exception(*info))


def _text(value: object) -> str:
    """A field's value in the text format."""
    if isinstance(value, BaseException):
        value = str(value)
    elif value is None or isinstance(value, bool | int | float | list | tuple | dict):
        return _json(value)
    elif not isinstance(value, str):
        value = str(value)
    if "\n" not in value:
        return _quote(value)
    # Each line is indented, so that no value can end the block or look like a record.
    lines = value.removesuffix("\n").split("\n")
    return "<\n" + "".join(f"\t{_visible(line)}\n" for line in lines) + " >"


def _visible(line: str) -> str:
    """A line of a block with control characters escaped, tabs excepted."""
    if line.isprintable():
        return line
    return "".join(c if c == "\t" or c.isprintable() else _escape(c) for c in line)


_ESCAPES = {
    '"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r",
    "\t": "\\t", "\v": "\\v",
}  # fmt: skip


def _quote(text: str) -> str:
    """A Go string literal, which is what klog writes."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    body = "".join(
        c if c.isprintable() and c not in _ESCAPES else _ESCAPES.get(c) or _escape(c) for c in text
    )
    return f'"{body}"'


def _escape(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8, by the surrogateescape handler
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str, allow_nan=False)


def _json(value: object) -> str:
    """One JSON value; what JSON cannot express becomes its text."""
    try:
        out = _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError):
        out = _ENCODER.encode(str(value))
    # Lone surrogates cannot be written to a stream.
    return out if out.isascii() else out.encode("utf-8", "replace").decode()
