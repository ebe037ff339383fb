"""What simulated containers say: their logs, what commands in them print, and what they serve.

| annotation | what it says |
| --- | --- |
| `logs` | the log of a container; empty |
| `exec` | what a command prints, or an object: command lines and what they print or do |
| `http` | the body of each answer to HTTP, on any port; without it nothing listens |

An object of `exec` has texts or objects with ``stdout``, ``stderr`` and ``exitCode`` for command
lines, and under ``*`` for all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from kubetrio.machinery.timestamps import parse_time
from kubetrio.simulation.annotations import said_of
from kubetrio.simulation.plans import Role

Object = dict[str, Any]

NOT_FOUND, NOT_RUNNING = 127, 126
LISTS = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


class Unanswered(Exception):
    """A simulated kubelet has no answer.

    Args:
        status: HTTP status.
        text: why, in a kubelet's words.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Ran(NamedTuple):
    """What a command did.

    Args:
        stdout: what it printed.
        stderr: the same for errors.
        code: with which it ended.
    """

    stdout: str = ""
    stderr: str = ""
    code: int = 0


def status_of(pod: Object, container: str) -> Object:
    """The status of a container, empty for none."""
    status = pod.get("status") or {}
    return next(
        (one for name in LISTS for one in status.get(name) or () if one["name"] == container), {}
    )


def runs(pod: Object, container: str) -> bool:
    """Whether a container runs."""
    return "running" in (status_of(pod, container).get("state") or {})


def log_of(pod: Object, container: str, query: Mapping[str, str]) -> bytes:
    """The log of a container, or the part that is asked for.

    Args:
        pod: that it is in.
        container: its name.
        query: of the request, as kubelets have it; times of lines are that of the start.

    Raises:
        Unanswered: the container never started, or was never started again.
    """
    state, started = status_of(pod, container).get("state") or {}, ""
    last = (status_of(pod, container).get("lastState") or {}).get("terminated")
    name = pod["metadata"]["name"]
    if query.get("previous") == "true":
        if not last:
            text = f'previous terminated container "{container}" in pod "{name}" not found'
            raise Unanswered(400, text)
        started = last.get("startedAt") or ""
    elif times := state.get("running") or state.get("terminated") or last:
        started = times.get("startedAt") or ""
    else:
        reason = (state.get("waiting") or {}).get("reason") or "ContainerCreating"
        text = f'container "{container}" in pod "{name}" is waiting to start: {reason}'
        raise Unanswered(400, text)
    lines = (said_of(pod, "logs", container) or "").splitlines()
    if query.get("stream") == "Stderr" or _too_old(started, query.get("sinceTime")):
        lines = []
    if (tail := query.get("tailLines", "")).isdecimal():
        lines = lines[len(lines) - min(int(tail), len(lines)) :]
    prefix = f"{started} " if query.get("timestamps") == "true" else ""
    text = "".join(f"{prefix}{line}\n" for line in lines)
    limit = query.get("limitBytes", "")
    return text.encode()[: int(limit) if limit.isdecimal() else None]


def _too_old(started: str, since: str | None) -> bool:
    if not since or not started:
        return False
    try:
        return parse_time(started) < parse_time(since)
    except ValueError:
        return False


def answer_of(pod: Object, container: str, command: Sequence[str]) -> Ran:
    """What a command in a container does.

    Args:
        pod: that the container is in.
        container: its name.
        command: its words.
    """
    texts = said_of(pod, "exec", container)
    line = " ".join(command)
    if texts is None:
        return Ran(stderr=f"{line}: no answer is simulated\n", code=NOT_FOUND)
    if not texts.lstrip().startswith("{"):
        return Ran(stdout=_line(texts))
    try:
        rules = orjson.loads(texts)
    except orjson.JSONDecodeError as error:
        return Ran(stderr=f"the annotation is no JSON object: {error}\n", code=NOT_RUNNING)
    rule = rules.get(line, rules.get("*"))
    if isinstance(rule, str):
        return Ran(stdout=_line(rule))
    if not isinstance(rule, dict):
        return Ran(stderr=f"{line}: no answer is simulated\n", code=NOT_FOUND)
    code = rule.get("exitCode")
    return Ran(
        _line(str(rule.get("stdout") or "")),
        _line(str(rule.get("stderr") or "")),
        code if isinstance(code, int) and 0 <= code <= 255 else 0,
    )


def page_of(pod: Object) -> bytes | None:
    """The body of answers to HTTP; None where nothing listens."""
    serving = any(runs(pod, one["name"]) for one in pod["spec"].get(Role.REGULAR.path) or ())
    texts = said_of(pod, "http")
    return texts.encode() if texts is not None and serving else None


def http_answer(page: bytes) -> bytes:
    """An answer to HTTP with a body, behind which the connection ends.

    Args:
        page: the body.
    """
    head = (
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(page)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + page


def _line(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
