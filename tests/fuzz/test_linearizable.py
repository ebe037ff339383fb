"""What ends a run of clients beside processes that are killed, and what does not."""

from __future__ import annotations

import http.client
import json
import threading  # noqa: TID251 -- a flag that ends the run
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest

from fuzz.histories import GONE
from fuzz.killing import KilledServer
from fuzz.linearizable import LAST_TRIES, Watcher, main


class Answer:
    """An answer to a watch."""

    def __init__(self, status: int, events: Sequence[Any]) -> None:
        self.status = status
        self._events = events

    def __iter__(self) -> Iterator[bytes]:
        yield from (json.dumps(event).encode() for event in self._events)

    def read(self) -> bytes:
        return b"refused"


class Server:
    """Answers watches from a script, and refuses connections when it has come to its end.

    Args:
        answers: in order.
    """

    def __init__(self, *answers: Answer) -> None:
        self.paths: list[str] = []
        self._answers = list(answers)

    def connect(self) -> http.client.HTTPSConnection:
        if not self._answers:
            raise ConnectionRefusedError
        return cast("http.client.HTTPSConnection", self)

    def request(self, method: str, path: str, headers: Any) -> None:
        del method, headers
        self.paths.append(path)

    def getresponse(self) -> Answer:
        return self._answers.pop(0)

    def close(self) -> None:
        """Connections are not kept."""


def event(kind: str, version: int, value: str = "v") -> Any:
    meta = {"name": "k", "resourceVersion": str(version)}
    return {"type": kind, "object": {"metadata": meta, "data": {"v": value}}}


def failed(code: int) -> Any:
    return {"type": "ERROR", "object": {"kind": "Status", "code": code}}


def watched(*answers: Answer, until: int = 13) -> tuple[Watcher, Server, bool]:
    """Watch after version 10; whether the run was ended."""
    server, over = Server(*answers), threading.Event()
    watcher = Watcher(cast("KilledServer", server), 10)
    watcher.until = until
    watcher.run(over)
    return watcher, server, over.is_set()


def test_a_watch_goes_on_where_it_was() -> None:
    """Behind a stream that ends, and behind one that a server could not go on with."""
    watcher, server, ended = watched(
        Answer(200, [event("ADDED", 11), event("BOOKMARK", 12), failed(500)]),
        Answer(200, [event("DELETED", 13)]),
    )
    assert not ended
    assert watcher.told.events == [("k", "v", 11), ("k", GONE, 13)]
    assert watcher.interrupted == 1
    assert "resourceVersion=12" in server.paths[1]


def test_an_error_of_a_watch_ends_the_run() -> None:
    """It is told, and no thread loses it."""
    watcher, _, ended = watched(Answer(200, [event("ADDED", 11), failed(410)]))
    assert ended
    assert any("410" in error for error in watcher.errors)


def test_a_watch_that_is_refused_ends_the_run() -> None:
    """As the first answer, too."""
    watcher, _, ended = watched(Answer(410, []))
    assert ended
    assert any("refused" in error for error in watcher.errors)


def test_a_watch_that_does_not_come_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Is a problem of its own."""
    monkeypatch.setattr("fuzz.linearizable.time.sleep", lambda _: None)
    watcher, server, ended = watched(*[Answer(200, [])] * (LAST_TRIES + 5))
    assert ended
    assert any("has come to 10, not to 13" in error for error in watcher.errors)
    assert len(server.paths) == LAST_TRIES


@pytest.mark.parametrize(
    ("wrong", "needs"),
    [(["--servers", "2"], "need --members"), (["--faults", "2"], "spread over --operations")],
)
def test_what_does_not_go_together(
    wrong: list[str], needs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Servers that share nothing, and faults that are spread over nothing."""
    with pytest.raises(SystemExit):
        main(wrong)
    assert needs in capsys.readouterr().err
