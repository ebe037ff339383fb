"""curl: the API as the documentation of Kubernetes writes it."""

from __future__ import annotations

import json
import os
import select
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from clients import scenario
from clients.scenario import Data, Event, Object, Refused

LIMIT_S = 30
JSON = "application/json"


class Curl:
    """See `scenario.Client`.

    Args:
        program: the curl.
        url: of the server.
        pki: directory with ``ca.crt``, ``admin.crt`` and ``admin.key``.
        namespace: where it works.
    """

    lacks: frozenset[str] = frozenset()

    def __init__(self, program: str, url: str, pki: Path, namespace: str) -> None:
        self._command = [
            program, "--silent", "--show-error", "--noproxy", "*", "--cacert", f"{pki}/ca.crt",
            "--cert", f"{pki}/admin.crt", "--key", f"{pki}/admin.key",
        ]  # fmt: skip
        self._url = f"{url}/api/v1/namespaces/{namespace}/configmaps"
        self._watch: subprocess.Popen[bytes] | None = None
        self._read = b""

    def close(self) -> None:
        """End what it runs."""
        if self._watch is not None:
            self._watch.kill()
            self._watch.communicate()

    def _ask(
        self, method: str, name: str = "", body: Any = None, kind: str = JSON, **query: Any
    ) -> Object:
        flags: Sequence[str] = ("--request", method, "--write-out", "\n%{http_code}")
        if body is not None:
            flags = (*flags, "--header", f"Content-Type: {kind}", "--data-binary", "@-")
        done = subprocess.run(
            [*self._command, *flags, f"{self._url}/{name}".rstrip("/") + f"?{urlencode(query)}"],
            input="" if body is None else json.dumps(body),
            check=True,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
        text, _, code = done.stdout.rpartition("\n")
        if int(code) >= 400:
            raise Refused(int(code))
        found: Object = json.loads(text)
        return found

    def create(self, name: str, data: Data) -> Object:
        return self._ask("POST", body=scenario.configmap(name, data))

    def read(self, name: str) -> Object:
        return self._ask("GET", name)

    def patch(self, name: str, data: Data) -> Object:
        return self._ask("PATCH", name, {"data": data}, "application/merge-patch+json")

    def apply(self, name: str, data: Data) -> Object:
        return self._ask(
            "PATCH",
            name,
            scenario.applied(name, data),
            "application/apply-patch+yaml",
            fieldManager=scenario.MANAGER,
        )

    def replace(self, body: Object) -> Object:
        return self._ask("PUT", body["metadata"]["name"], body)

    def names(self) -> list[str]:
        found: list[str] = []
        token = ""
        while True:
            query = {"labelSelector": scenario.SELECTOR, "limit": scenario.PAGE, "continue": token}
            page = self._ask("GET", **query)
            found += [item["metadata"]["name"] for item in page["items"]]
            token = page["metadata"].get("continue", "")
            if not token:
                return found

    def watch(self) -> None:
        since = self._ask("GET")["metadata"]["resourceVersion"]
        query = {"watch": 1, "labelSelector": scenario.SELECTOR, "resourceVersion": since}
        self._watch = subprocess.Popen(
            [*self._command, "--no-buffer", f"{self._url}?{urlencode(query)}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )

    def event(self) -> Event:
        assert self._watch is not None
        assert self._watch.stdout is not None
        while b"\n" not in self._read:
            ready, _, _ = select.select([self._watch.stdout], [], [], LIMIT_S)
            data = os.read(self._watch.stdout.fileno(), 65536) if ready else b""
            assert data, f"no further event: {self._read!r}"
            self._read += data
        line, _, self._read = self._read.partition(b"\n")
        found = json.loads(line)
        return scenario.event_of(found["type"], found["object"])

    def delete(self, name: str) -> None:
        self._ask("DELETE", name)
