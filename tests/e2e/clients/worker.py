"""A client in a process of its own, asked in lines of JSON.

So that its event loop, its threads, its warnings and what it is installed with are its own.
A line is ``[method, argument...]``; the answer is ``{"is": value}``, ``{"refused": code}`` or, for
what is a mistake, ``{"failed": traceback}``.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clients.scenario import Client, Data, Event, Object, Refused

LIMIT_S = 30.0


def serve(client: Client) -> None:
    """Do what is asked for on standard input; the side of the client."""
    print(json.dumps({"is": sorted(client.lacks)}), flush=True)
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        try:
            answer = {"is": getattr(client, name)(*arguments)}
        except Refused as error:
            answer = {"refused": error.code}
        except Exception:  # noqa: BLE001  (told to who asked)
            answer = {"failed": traceback.format_exc()}
        print(json.dumps(answer, default=str), flush=True)


class Remote:
    """The same client on the side of the test.

    Args:
        command: of the process.
        environment: of it.
        log: what it prints as errors goes there.
        folder: where it runs.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        folder: Path | None = None,
    ) -> None:
        self._log = log
        self._read = b""
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                env=dict(environment),
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
            )
        self.lacks: frozenset[str] = frozenset(self._answer())

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        while b"\n" not in self._read:
            ready, _, _ = select.select([self._process.stdout], [], [], LIMIT_S)
            data = os.read(self._process.stdout.fileno(), 65536) if ready else b""
            if not data:
                what = "it ended" if ready else "no answer in time"
                raise AssertionError(f"{what}: {self._log.read_text()}")
            self._read += data
        line, _, self._read = self._read.partition(b"\n")
        answer = json.loads(line)
        if "refused" in answer:
            raise Refused(answer["refused"])
        assert "failed" not in answer, answer["failed"]
        return answer["is"]

    def _ask(self, *words: object) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(words).encode() + b"\n")
        return self._answer()

    def create(self, name: str, data: Data) -> Object:
        found: Object = self._ask("create", name, dict(data))
        return found

    def read(self, name: str) -> Object:
        found: Object = self._ask("read", name)
        return found

    def patch(self, name: str, data: Data) -> Object:
        found: Object = self._ask("patch", name, dict(data))
        return found

    def apply(self, name: str, data: Data) -> Object:
        found: Object = self._ask("apply", name, dict(data))
        return found

    def replace(self, body: Object) -> Object:
        found: Object = self._ask("replace", body)
        return found

    def names(self) -> list[str]:
        found: list[str] = self._ask("names")
        return found

    def watch(self) -> None:
        self._ask("watch")

    def event(self) -> Event:
        kind, name, data = self._ask("event")
        return kind, name, data

    def delete(self, name: str) -> None:
        self._ask("delete", name)
