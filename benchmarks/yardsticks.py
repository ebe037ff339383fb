"""The yardsticks, started when a row first asks for one and kept for the run."""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw

from benchmarks import certs, load, requests, tools, yard_rows
from benchmarks.clock import perf_counter
from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError
from benchmarks.load import LoadResult, LoadSpec
from benchmarks.process import Background

IMPORTS = (
    "import trio, hypercorn, quart_trio, apsw, cryptography.x509, httptools, orjson, "
    "prometheus_client, google.protobuf"
)


class Yardsticks:
    """Starts yardsticks and measures them.

    Args:
        folder: for certificates, databases and logs.
        seconds: how long one measurement lasts.
        warmup: seconds before it.
    """

    def __init__(self, folder: Path, *, seconds: float, warmup: float) -> None:
        self._folder = folder
        self._seconds = seconds
        self._warmup = warmup
        self._stack = contextlib.ExitStack()
        self._asgi_endpoint: Endpoint | None = None
        self._cert, self._key = certs.write(folder)

    def close(self) -> None:
        """End them all."""
        self._stack.close()

    @contextlib.contextmanager
    def serve(self, module: str, *arguments: str) -> Iterator[Endpoint]:
        """A yardstick server for the length of the block."""
        with self.process(module, *arguments) as (endpoint, _):
            yield endpoint

    @contextlib.contextmanager
    def process(self, module: str, *arguments: str) -> Iterator[tuple[Endpoint, int]]:
        """Run the yardstick with its process id, for rows about memory."""
        process = Background(
            [
                *(sys.executable, "-m", f"benchmarks.{module}"),
                *(str(self._cert), str(self._key), *arguments),
            ],
            self._folder / f"{module}.log",
        )
        try:
            port = int(process.wait_for(r"port (\d+)"))
            yield Endpoint(host="127.0.0.1", port=port, ca_file=str(self._cert)), process.pid
        finally:
            process.stop()

    def asgi(self, connections: int) -> float:
        """Requests a second of yardstick (a)."""
        if self._asgi_endpoint is None:
            self._asgi_endpoint = self._stack.enter_context(self.serve("yard_asgi"))
        return self.rate(self._asgi_endpoint, connections).rate

    def rate(self, endpoint: Endpoint, connections: int) -> LoadResult:
        """GET from an endpoint that answers any path."""
        return load.run(
            LoadSpec(
                endpoint=endpoint,
                ops=(requests.fixed(endpoint, "/"),),
                connections=connections,
                seconds=self._seconds,
                warmup=self._warmup,
            )
        )

    @contextlib.contextmanager
    def rows(self, subject: Endpoint, path: str, name: str) -> Iterator[Endpoint]:
        """Yardstick (b), holding the very objects that a server lists under `path`."""
        database = self._folder / f"{name}.db"
        database.unlink(missing_ok=True)
        items = subject.call("GET", path)["items"]
        with contextlib.closing(apsw.Connection(str(database))) as connection:
            connection.execute(yard_rows.SCHEMA)
            with connection:
                connection.executemany(
                    yard_rows.INSERT,
                    (
                        (item["metadata"]["name"], json.dumps(item, separators=(",", ":")).encode())
                        for item in items
                    ),
                )
        with self.serve("yard_rows", str(database)) as endpoint:
            yield endpoint
        database.unlink()

    def imports(self) -> float:
        """Seconds that a fresh interpreter needs to import the server's dependencies.

        Raises:
            BenchError: one of them is missing.
        """
        taken = []
        for _ in range(3):
            begin = perf_counter()
            done = subprocess.run(
                [sys.executable, "-c", IMPORTS], cwd=tools.ROOT, capture_output=True, check=False
            )
            taken.append(perf_counter() - begin)
            if done.returncode:
                raise BenchError(f"imports: {done.stderr.decode()[-300:]}")
        return statistics.median(taken)
