"""A script of requests: a value that can be printed, kept as JSON and replayed.

.. code-block:: json

    {"format": "kubetrio-script/1", "seed": 7, "server": {"flags": ["--event-ttl=5m"]}, "steps": [
      {"do": "request", "method": "POST", "path": "/api/v1/namespaces",
       "body": {"metadata": {"generateName": "shop-"}}, "answer": {"status": 201, ...}},
      {"do": "watch", "path": "/api/v1/namespaces?watch=1"},
      {"do": "move", "seconds": 3600},
      {"do": "fault", "rule": {"fault": "409", "verb": "update", "count": 1}},
      {"do": "settle"},
      {"do": "restart"},
      {"do": "request", "method": "GET", "path": "/api/v1/namespaces/{{1.metadata.name}}"}]}

``seed`` and ``server`` are a `Setup`.  An answer is what was answered when the script was recorded;
a script without answers can be replayed too.  References to earlier answers: `references`.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from kubetrio.faults import Rule, RuleError
from kubetrio.harness.reply import Reply, ReplyError
from kubetrio.harness.setup import Setup, SetupError

FORMAT = "kubetrio-script/1"
LONGEST_MOVE_S = 10 * 366 * 86400.0
MOST_DEEP = 150
"""Levels of objects and lists in a file; bodies are walked by functions that call themselves."""
TOO_DEEP = f"objects and lists are nested more than {MOST_DEEP} levels deep"


class ScriptError(ValueError):
    """A script that cannot be meant; one line that says where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request and its whole answer.

    Args:
        path: path and query, as they go on the wire but for references.
        method: HTTP method.
        headers: beside ``Content-Type``, which is that of JSON where a body has none.
        body: a JSON value; None for none.
        text: a body that is not JSON, instead.
        base64: a body that is no text, instead; it has no references.
        user: who asks, by impersonation; the administrator when empty.
        groups: of that user.
        answer: what was answered, None while the step has not been done.
    """

    do: ClassVar[str] = "request"
    path: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    text: str | None = None
    base64: str | None = None
    user: str = ""
    groups: Sequence[str] = ()
    answer: Reply | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """A request whose answer is a stream; it stays open while the steps after it are done.

    Args:
        path: see `Request`.
        headers: see `Request`.
        user: see `Request`.
        groups: see `Request`.
        answer: with all events up to the end of the script.
    """

    do: ClassVar[str] = "watch"
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    groups: Sequence[str] = ()
    answer: Reply | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """The clock moves ahead, and what becomes due is done.

    Args:
        seconds: how far.
        answer: why it was not done.
    """

    do: ClassVar[str] = "move"
    seconds: float
    answer: Reply | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inject:
    """A rule of faults comes into force.

    Args:
        rule: which; None ends all rules.
        answer: why it was not done.
    """

    do: ClassVar[str] = "fault"
    rule: Rule | None = None
    answer: Reply | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """The controllers do what there is to do.

    Args:
        answer: why it was not done.
    """

    do: ClassVar[str] = "settle"
    answer: Reply | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """The server stops in order, and starts again on what it has stored.

    Args:
        answer: why it was not done.
    """

    do: ClassVar[str] = "restart"
    answer: Reply | None = None


Step = Request | Watch | Move | Inject | Settle | Restart
STEPS: Mapping[str, type[Step]] = {
    one.do: one for one in (Request, Watch, Move, Inject, Settle, Restart)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """Steps for a server that is made in a certain way.

    Args:
        setup: how the server is made.
        steps: what is done with it.
    """

    setup: Setup = field(default_factory=Setup)
    steps: Sequence[Step] = ()

    def unanswered(self) -> Script:
        """Return the script without answers."""
        return replace(self, steps=tuple(replace(step, answer=None) for step in self.steps))

    def seeded(self, seed: int) -> Script:
        """Return the script for a server of another seed."""
        return replace(self, setup=self.setup.seeded(seed))

    def as_dict(self) -> dict[str, Any]:
        """The script as JSON has it."""
        return {
            "format": FORMAT,
            "seed": self.setup.seed,
            "server": self.setup.as_dict(),
            "steps": [step_as_dict(step) for step in self.steps],
        }

    def __str__(self) -> str:
        head = self.as_dict()
        lines = ",\n".join(f"  {_line(step)}" for step in head.pop("steps"))
        return f'{_line(head)[:-1]}, "steps": [\n{lines}\n]}}\n'

    def save(self, path: Path) -> None:
        """Write the script to a file; blocking.

        Raises:
            OSError: it cannot be written.
        """
        path.write_text(str(self))

    @classmethod
    def load(cls, path: Path) -> Script:
        """Read a script from a file; blocking.

        Raises:
            OSError: it cannot be read.
            ScriptError: it has none.
        """
        return cls.parse(path.read_text())

    @classmethod
    def parse(cls, text: str) -> Script:
        """The script that a text in JSON means.

        Raises:
            ScriptError: it means none.
        """
        try:
            data = json.loads(text)
        except ValueError as error:  # a number of thousands of digits is one too
            raise ScriptError(f"no JSON that can be read: {error}") from error
        except RecursionError:
            raise ScriptError(TOO_DEEP) from None
        if _is_deep(data):
            raise ScriptError(TOO_DEEP)
        return cls.of(data)

    @classmethod
    def of(cls, data: object) -> Script:
        """The script that a JSON object means.

        Raises:
            ScriptError: it means none.
        """
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise ScriptError(f'format: must be "{FORMAT}"')
        if unknown := set(data) - {"format", "seed", "server", "steps"}:
            raise ScriptError(f"there is no field {min(map(str, unknown))!r}")
        steps = data.get("steps")
        if not isinstance(steps, list):
            raise ScriptError("steps: must be a list")
        try:
            setup = Setup.of(data.get("server", {}), seed=data.get("seed", 0))
        except SetupError as error:
            raise ScriptError(str(error)) from error
        return cls(setup=setup, steps=tuple(step_of(one, at) for at, one in enumerate(steps, 1)))


def _is_deep(data: object) -> bool:
    """Return whether a value has more levels than `MOST_DEEP`."""
    level: list[object] = [data]
    for _ in range(MOST_DEEP):
        inside: list[object] = []
        for one in level:
            if isinstance(one, dict):
                inside += one.values()
            elif isinstance(one, list):
                inside += one
        level = [one for one in inside if isinstance(one, dict | list)]
    return bool(level)


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


_PLAIN: Mapping[str, object] = {
    "method": "GET", "headers": {}, "body": None, "text": None, "base64": None, "user": "",
    "groups": (), "rule": None, "answer": None,
}  # fmt: skip
"""Values of fields that JSON leaves out."""


def step_as_dict(step: Step) -> dict[str, Any]:
    """A step as JSON has it, without what is as usual."""
    shown: dict[str, Any] = {"do": step.do}
    for name in step.__dataclass_fields__:
        value = getattr(step, name)
        if name in _PLAIN and value == _PLAIN[name]:
            continue
        match value:
            case Rule() | Reply():
                value = value.as_dict()
            case tuple():
                value = list(value)
        shown[name] = value
    return shown


def step_of(data: object, number: int) -> Step:
    """The step that a JSON object means.

    Args:
        data: as `step_as_dict` returns it.
        number: of the step, from 1, for errors.

    Raises:
        ScriptError: it means none.
    """
    where = f"step {number}"
    if not isinstance(data, Mapping) or data.get("do") not in STEPS:
        raise ScriptError(f"{where}: do: must be one of {', '.join(STEPS)}")
    kind = STEPS[data["do"]]
    given = {key: value for key, value in data.items() if key != "do"}
    for name, value in given.items():
        if name not in kind.__dataclass_fields__:
            raise ScriptError(f"{where}: {kind.do} has no field {name!r}")
        fits, told = _TYPES.get(name, (object, ""))
        if not isinstance(value, fits) or (isinstance(value, bool) and name == "seconds"):
            raise ScriptError(f"{where}: {name}: must be {told}")
    try:
        if "answer" in given:
            given["answer"] = Reply.of(given["answer"])
        if "rule" in given:
            given["rule"] = Rule.of(given["rule"])
        if "groups" in given:
            given["groups"] = tuple(given["groups"])
        return _checked(kind(**given))
    except ReplyError as error:
        raise ScriptError(f"{where}: answer: {error}") from error
    except (RuleError, ValueError) as error:
        raise ScriptError(f"{where}: {error}") from error
    except TypeError as error:
        lacking = "seconds" if kind is Move else "path"
        raise ScriptError(f"{where}: {lacking}: must be given") from error


_TYPES: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "path": (str, "a text"), "method": (str, "a text"), "text": (str, "a text"),
    "base64": (str, "a text"),
    "user": (str, "a text"), "groups": (list, "a list"), "headers": (Mapping, "an object"),
    "seconds": ((int, float), "a number"),
}  # fmt: skip


def _checked(step: Step) -> Step:
    """A step whose values can be sent.

    Raises:
        ValueError: they cannot.
    """
    if isinstance(step, Move) and not 0 <= step.seconds <= LONGEST_MOVE_S:
        raise ValueError(f"seconds: must be a number from 0 to {LONGEST_MOVE_S:g}")
    if not isinstance(step, Request | Watch):
        return step
    words: list[object] = [step.user, *step.groups, *step.headers, *step.headers.values()]
    method = step.method if isinstance(step, Request) else "GET"
    if not step.path.startswith("/") or any(char in step.path for char in " \r\n"):
        raise ValueError("path: must begin with / and have no blanks")
    if not method.isascii() or not method.isalpha():
        raise ValueError("method: must be a word")
    if not all(isinstance(word, str) and "\r" not in word and "\n" not in word for word in words):
        raise ValueError("headers, user and groups: must be texts of one line")
    if isinstance(step, Request):
        bodies = {"body": step.body, "text": step.text, "base64": step.base64}
        chosen = [name for name, value in bodies.items() if value is not None]
        if len(chosen) > 1:
            raise ValueError(f"{' and '.join(chosen)} cannot be used together")
        if step.base64 is not None:
            b64decode(step.base64, validate=True)
    return step
