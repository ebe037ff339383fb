"""Rows about the client inside the server's process, on a store in memory."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import trio

from benchmarks.clock import perf_counter
from benchmarks.errors import Unavailable
from benchmarks.rows import BenchmarkRow, Lab, Opened, Sample, Target
from benchmarks.subjects import Kubetrio, Subject
from kubetrio.client import Client
from kubetrio.config import Config, Local, Storage
from kubetrio.server import open_server

STORED = 1_000
TURN = 200  # calls between two looks at the clock
TEXT = "x" * 500
Call = Callable[[Client, int], Awaitable[object]]


async def _create(client: Client, number: int) -> object:
    meta = {"name": f"cm-{number}", "namespace": "default"}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"text": TEXT}}
    return await client.create(body)


async def _get(client: Client, number: int) -> object:
    return await client.get(client.kind("v1", "ConfigMap"), f"cm-{number % STORED}", "default")


async def _rate(call: Call, seconds: float) -> float:
    with tempfile.TemporaryDirectory() as folder:
        config = Config(
            data_dir=Path(folder),
            local=Local(secure_serving=False),
            storage=Storage(in_memory=True),
        )
        async with open_server(config) as server:
            client = server.client()
            for number in range(STORED):
                await _create(client, number)
            began, number = perf_counter(), STORED
            while (took := perf_counter() - began) < seconds:
                for place in range(number, number + TURN):
                    await call(client, place)
                number += TURN
            return (number - STORED) / took


def _inside(call: Call) -> Callable[[Lab, Subject], Opened]:
    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        if not isinstance(subject, Kubetrio):
            raise Unavailable("has no client inside")
        yield lambda: Sample(value=trio.run(_rate, call, lab.plan.seconds))

    return opened


ROWS = (
    BenchmarkRow(
        name="inside-get",
        title="GET by the client inside, one after the other, in memory",
        unit="req/s",
        open=_inside(_get),
        target=Target("value", ">=", 12_000),
    ),
    BenchmarkRow(
        name="inside-create",
        title="create of 0.6 KB by the client inside, one after the other, in memory",
        unit="req/s",
        open=_inside(_create),
        target=Target("value", ">=", 3_000),
    ),
)
