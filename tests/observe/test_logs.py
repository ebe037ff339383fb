"""Text and JSON logging."""

import io
import json
import logging
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.observe.logs import Format, JsonFormatter, Log, TextFormatter, setup

log = Log("kubetrio.test")
HEADER = r"[IWE]\d{4} \d\d:\d\d:\d\d\.\d{6} [ \d]{7} test_logs\.py:\d+\] "


def _record(message: str, **fields: object) -> logging.LogRecord:
    record = logging.LogRecord("x", logging.INFO, "/a/store/db.py", 12, message, None, None)
    record.created = 1700524257.123456
    record.process = 42
    if fields:
        record.kubetrio_fields = fields
    return record


def _written(style: Format, verbosity: int = 0) -> io.StringIO:
    stream = io.StringIO()
    setup(style, verbosity, stream)
    return stream


def test_text_line() -> None:
    """Severity, date, time, process, place, quoted message and fields, as klog writes them."""
    stream = _written(Format.TEXT)
    log.info("Started", url="https://[::1]:1", port=1, ready=True, none=None, names=["a", "b"])
    rest = '"Started" url="https://[::1]:1" port=1 ready=true none=null names=["a","b"]\n'
    assert re.fullmatch(HEADER + re.escape(rest), stream.getvalue())


def test_text_header_fields() -> None:
    """The process id is seven wide, the time has microseconds."""
    line = TextFormatter().format(_record("hello"))
    assert re.fullmatch(r"I112\d \d\d:\d\d:57\.123456      42 db\.py:12\] hello", line)


def test_json_line() -> None:
    """Milliseconds, caller with its directory, message, verbosity, fields in order."""
    line = JsonFormatter().format(_record("hi", b=1, a="é"))
    assert line == (
        '{"ts":1700524257123.456,"caller":"store/db.py:12","msg":"hi","v":0,"b":1,"a":"é"}'
    )


def test_errors_carry_err_and_no_verbosity() -> None:
    """The error comes first among the fields, in both formats."""
    stream = _written(Format.JSON)
    log.error(ValueError("bad"), "Failed", file="f")
    entry = json.loads(stream.getvalue())
    assert list(entry) == ["ts", "caller", "msg", "err", "file"]
    stream = _written(Format.TEXT)
    log.error(ValueError("bad"), "Failed", file="f")
    assert stream.getvalue().startswith("E")
    assert stream.getvalue().endswith('] "Failed" err="bad" file="f"\n')


def test_stack_on_request() -> None:
    """A traceback is a field of its own and never a line of its own."""
    stream = _written(Format.TEXT)
    log.error(ValueError("bad"), "Failed", stack=True)
    first, *others, last = stream.getvalue().splitlines()
    assert first.endswith('err="bad" stacktrace=<')
    assert others
    assert all(line.startswith("\t") for line in others)
    assert last == " >"


def test_verbosity_is_a_threshold() -> None:
    """With -v 4, verbosity 4 is written and 5 is not; JSON says which it was."""
    stream = _written(Format.JSON, 4)
    log.verbose(4, "four")
    log.verbose(5, "five")
    entries = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(e["msg"], e["v"]) for e in entries] == [("four", 4)]
    assert log.enabled(4)
    assert not log.enabled(5)


def test_warnings_say_so() -> None:
    """Warnings begin with W."""
    stream = _written(Format.TEXT)
    log.warning("Odd", n=1)
    assert re.fullmatch(HEADER + '"Odd" n=1\n', stream.getvalue())
    assert stream.getvalue().startswith("W")


def test_other_libraries_are_quieter() -> None:
    """Without -v their information is dropped, with -v 4 it is written as it is."""
    other = logging.getLogger("someone.else")
    stream = _written(Format.TEXT)
    other.info("quiet")
    other.warning("loud %d", 1)
    assert stream.getvalue().endswith("] loud 1\n")
    assert stream.getvalue().count("\n") == 1
    stream = _written(Format.TEXT, 4)
    other.info("now")
    assert stream.getvalue().endswith("] now\n")


def test_exceptions_of_other_libraries() -> None:
    """Their tracebacks become a field."""
    stream = _written(Format.JSON)
    try:
        raise KeyError("k")
    except KeyError:
        logging.getLogger("someone.else").exception("failed")
    assert "KeyError: 'k'" in json.loads(stream.getvalue())["stacktrace"]


def test_setup_replaces_its_own_handler_only() -> None:
    """Calling again changes the format, and other handlers stay."""
    foreign = logging.NullHandler()
    logging.getLogger().addHandler(foreign)
    first, second = io.StringIO(), io.StringIO()
    setup(Format.TEXT, 0, first)
    setup(Format.JSON, 0, second)
    log.info("once")
    assert first.getvalue() == ""
    assert json.loads(second.getvalue())["msg"] == "once"
    assert foreign in logging.getLogger().handlers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('say "hi" \\', r'"say \"hi\" \\"'),
        ("tab\tbell\a", r'"tab\tbell\a"'),
        ("\x00\x7f\u2028\U000e0001", r'"\x00\x7f\u2028\U000e0001"'),
        ("grüß", '"grüß"'),
        ("bytes \udcff", r'"bytes \xff"'),
        ("a\nb", "<\n\ta\n\tb\n >"),
        ("a\nb\n", "<\n\ta\n\tb\n >"),
        ("a\n\x1b[0m", "<\n\ta\n\t\\x1b[0m\n >"),
        (1.5, "1.5"),
        (float("nan"), '"nan"'),
    ],
)
def test_text_values(value: object, text: str) -> None:
    """Values are quoted as Go quotes them; several lines are a block."""
    assert TextFormatter().format(_record("m", k=value)).partition("k=")[2] == text


def test_messages_of_others_cannot_forge_lines() -> None:
    """A text with a line break is quoted even where texts are written as they are."""
    line = TextFormatter().format(_record("GET /\nE0101 forged"))
    assert line.endswith(r'"GET /\nE0101 forged"')


_json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


@settings(max_examples=100, deadline=None)
@given(st.text(), _json_like)
def test_any_record_is_one_json_line(message: str, value: object) -> None:
    """Whatever is logged, a line of JSON comes out that can be written as UTF-8."""
    line = JsonFormatter().format(_record(message, key=value))
    assert "\n" not in line
    assert "key" in json.loads(line.encode())


@settings(max_examples=100, deadline=None)
@given(st.text(), _json_like)
def test_any_text_record_begins_once(message: str, value: object) -> None:
    """No message and no value starts a line that looks like a record."""
    _, *others = TextFormatter().format(_record(message, key=value)).split("\n")
    assert all(line.startswith("\t") or line == " >" for line in others)


def test_disabled_calls_format_nothing() -> None:
    """A disabled call never touches its values."""

    class Bomb:
        def __str__(self) -> str:
            raise AssertionError("formatted")

    _written(Format.TEXT)
    log.verbose(1, "quiet", bomb=Bomb())
