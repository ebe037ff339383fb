"""What scripts are played against: a contract, and requests as they go on the wire."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import orjson

from kubetrio.faults import Rule
from kubetrio.harness.references import Answers, in_path, in_text, resolved
from kubetrio.harness.reply import Reply
from kubetrio.harness.script import Request, Watch

AGENT = "kubetrio-script"


class UnsendableError(ValueError):
    """A step cannot be sent as it is; the text says why."""


class Prepared(NamedTuple):
    """A request whose references have been replaced.

    Args:
        method: HTTP method.
        target: path and query.
        headers: names and values, in order.
        body: what is sent; None for nothing.
    """

    method: str
    target: str
    headers: Sequence[tuple[str, str]]
    body: bytes | None


class Stream(Protocol):
    """The answer to a watch, as far as it has come."""

    def reply(self) -> Reply:
        """What has come until now."""
        ...


class Player(Protocol):
    """A server that scripts are played against.

    What cannot be done with it is told by a text, which is empty where it was done.
    """

    async def request(self, request: Prepared) -> Reply:
        """Send a request and return its answer, or a `Reply` that says why there is none."""
        ...

    async def watch(self, request: Prepared) -> Stream:
        """Send a request and read its answer on while other steps are done."""
        ...

    async def move(self, seconds: float) -> str:
        """Move the clock ahead, and wait until what became due has been done."""
        ...

    async def inject(self, rule: Rule | None) -> str:
        """Put a rule of faults in force; None ends all."""
        ...

    async def settle(self) -> str:
        """Wait until the controllers are at rest and watches have been told of all there is."""
        ...

    async def restart(self) -> str:
        """Stop the server in order and start it again."""
        ...


def streamed(head: Reply, data: bytes) -> Reply:
    """The answer to a watch: events by line where it is JSON, else a body.

    Args:
        head: its answer without the stream.
        data: of the stream.
    """
    kind = head.headers.get("content-type", "")
    if head.status != 200 or not kind.startswith("application/json"):
        return replace(head, body=data)
    return replace(head, events=tuple(line for line in data.split(b"\n") if line))


def prepared(step: Request | Watch, answers: Answers) -> Prepared:
    """A step as it is sent.

    Args:
        step: which.
        answers: what earlier steps answered.

    Raises:
        UnresolvedError: a reference leads nowhere.
        UnsendableError: it has what HTTP or JSON cannot carry.
    """
    try:
        request = _prepared(step, answers)
        for text in (request.target, *(text for pair in request.headers for text in pair)):
            text.encode("latin-1")
    except UnicodeEncodeError as error:
        raise UnsendableError(f"{error.object[error.start]!a} cannot be in it") from error
    except orjson.JSONEncodeError as error:
        raise UnsendableError(f"its body: {error}") from error
    return request


def _prepared(step: Request | Watch, answers: Answers) -> Prepared:
    headers = [(name, in_text(value, answers)) for name, value in step.headers.items()]
    if not any(name.lower() == "user-agent" for name, _ in headers):
        headers.append(("User-Agent", AGENT))  # by which fields have a manager
    if step.user:
        headers.append(("Impersonate-User", in_text(step.user, answers)))
        headers += [("Impersonate-Group", in_text(group, answers)) for group in step.groups]
    target = in_path(step.path, answers)
    if isinstance(step, Watch):
        return Prepared("GET", target, headers, None)
    body: bytes | None = None
    if step.text is not None:
        body = in_text(step.text, answers).encode()
    elif step.base64 is not None:
        body = b64decode(step.base64)
    elif step.body is not None:
        body = orjson.dumps(resolved(step.body, answers))
    if body is not None and not any(name.lower() == "content-type" for name, _ in headers):
        headers.insert(0, ("Content-Type", "application/json"))
    return Prepared(step.method, target, headers, body)
