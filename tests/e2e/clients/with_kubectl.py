"""A kubectl of any version."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clients import scenario
from clients.scenario import Data, Event, Object, Refused

LIMIT_S = 30
CODES = {"NotFound": 404, "AlreadyExists": 409, "Conflict": 409}


class Kubectl:
    """See `scenario.Client`.

    Args:
        program: the kubectl.
        environment: its, with ``KUBECONFIG``, and a ``HOME`` for its cache.
        namespace: where it works.
    """

    lacks: frozenset[str] = frozenset()

    def __init__(self, program: Path, environment: Mapping[str, str], namespace: str) -> None:
        self._command = [str(program), f"--namespace={namespace}"]
        self._environment = dict(environment)
        self._watch: subprocess.Popen[bytes] | None = None
        self._read = ""

    def close(self) -> None:
        """End what it runs."""
        if self._watch is not None:
            self._watch.kill()
            self._watch.communicate()

    def _run(self, *arguments: str, stdin: Any = None) -> str:
        done = subprocess.run(
            [*self._command, *arguments],
            env=self._environment,
            input="" if stdin is None else json.dumps(stdin),
            check=False,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
        if done.returncode != 0:
            found = re.search(r"\((\w+)\)", done.stderr)
            assert found is not None, done.stderr
            raise Refused(CODES[found[1]])
        return done.stdout

    def _object(self, *arguments: str, stdin: Any = None) -> Object:
        found: Object = json.loads(self._run(*arguments, "-o", "json", stdin=stdin))
        return found

    def create(self, name: str, data: Data) -> Object:
        return self._object("create", "-f", "-", stdin=scenario.configmap(name, data))

    def read(self, name: str) -> Object:
        return self._object("get", "configmap", name)

    def patch(self, name: str, data: Data) -> Object:
        return self._object(
            "patch", "configmap", name, "--type=merge", "-p", json.dumps({"data": data})
        )

    def apply(self, name: str, data: Data) -> Object:
        flags = ("--server-side", f"--field-manager={scenario.MANAGER}")
        return self._object("apply", *flags, "-f", "-", stdin=scenario.applied(name, data))

    def replace(self, body: Object) -> Object:
        return self._object("replace", "-f", "-", stdin=body)

    def names(self) -> list[str]:
        flags = (f"--chunk-size={scenario.PAGE}", "-l", scenario.SELECTOR, "-o", "name")
        found = self._run("get", "configmaps", *flags).split()
        return [name.removeprefix("configmap/") for name in found]

    def watch(self) -> None:
        flags = ("-l", scenario.SELECTOR, "-w", "--output-watch-events", "-o", "json")
        self._watch = subprocess.Popen(
            [*self._command, "get", "configmaps", *flags],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        assert self.event()[1] == "anchor"  # it lists before it watches

    def event(self) -> Event:
        assert self._watch is not None
        assert self._watch.stdout is not None
        while True:
            self._read = self._read.lstrip()  # a line's end may come later than the line
            try:
                found, end = json.JSONDecoder().raw_decode(self._read)
            except ValueError:
                ready, _, _ = select.select([self._watch.stdout], [], [], LIMIT_S)
                data = os.read(self._watch.stdout.fileno(), 65536) if ready else b""
                assert data, f"no further event: {self._read}"
                self._read += data.decode()
                continue
            self._read = self._read[end:]
            return scenario.event_of(found["type"], found["object"])

    def delete(self, name: str) -> None:
        self._run("delete", "configmap", name)
