"""A kind that comes to a server with a thousand others stops nobody for long."""

from __future__ import annotations

import gc
import time  # noqa: TID251 - CPU time of a step is what is measured
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import trio
from made_up import AGGREGATED, WIDGETS

from kubetrio.kinds.builtin import registry
from kubetrio.schema import openapi
from kubetrio.schema.registry import LiveRegistry
from kubetrio.schema.steps import Steps, finish
from kubetrio.testing.server import InProcess
from kubetrio.testing.widgets import widgets

THOUSAND = [kind for number in range(500) for kind in widgets(f"g{number}.example.com")]
PAUSE_S = 0.02
TRIES = 5  # of which the best counts: others use the machine too


class LongestStep(trio.abc.Instrument):
    """CPU time of the longest step of any task, in seconds."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._began: float | None = None

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._began = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if self._began is not None:
            self.longest = max(self.longest, time.thread_time() - self._began)


@contextmanager
def quiet() -> Iterator[None]:
    """No collection: when the next one comes depends on what ran before."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


async def test_adding_one_is_quick(server: InProcess) -> None:
    """To the registry, with all that follows it at once."""
    live = server.api.storage.registry
    live.add(THOUSAND)
    taken = []
    with quiet():
        for _ in range(TRIES):
            kinds = widgets()
            began = time.thread_time()
            live.add(kinds)
            taken.append(time.thread_time() - began)
            live.remove(kinds)
    assert min(taken) < PAUSE_S


@pytest.mark.parametrize(
    ("path", "accept"),
    [
        ("/apis", AGGREGATED),
        ("/apis", "application/json"),
        ("/openapi/v3", "application/json"),
        ("/openapi/v3/apis/example.com/v1", "application/json"),
        ("/apis/example.com/v1", "application/json"),
        (WIDGETS, "application/json"),
        ("/api/v1/namespaces/default/configmaps", "application/json"),
        ("/metrics", "*/*"),
    ],
)
async def test_what_follows_is_made_in_small_steps(
    server: InProcess, path: str, accept: str
) -> None:
    """Documents, and the first request for anything after the change."""
    live = server.api.storage.registry
    live.add(THOUSAND)
    longest = []
    async with server.connect() as client:
        await client.request("GET", path, {"Accept": accept})  # loads what is loaded once
        with quiet():
            for _ in range(TRIES):
                kinds = widgets()
                live.add(kinds)
                steps = LongestStep()
                trio.lowlevel.add_instrument(steps)
                answer = await client.request("GET", path, {"Accept": accept})
                trio.lowlevel.remove_instrument(steps)
                live.remove(kinds)
                assert answer.status == 200
                longest.append(steps.longest)
    assert min(longest) < PAUSE_S


def test_one_document_of_all_has_many_steps() -> None:
    """Of OpenAPI v2: none of them has more to do than a few kinds."""
    served = registry().with_resources(THOUSAND)

    def counted(work: Steps[Any]) -> int:
        number = 0
        while next(work, self_made) is not self_made:
            number += 1
        return number

    self_made = object()
    document = finish(openapi.swagger_steps(served, version="v1.36"))
    assert counted(openapi.swagger_steps(served, version="v1.36")) > len(document["paths"]) / 4
    assert counted(openapi.json_steps(document)) > len(document["paths"]) / 64


def test_requests_do_not_make_tables_anew() -> None:
    """What a snapshot tells by other names is worked out once."""
    live = LiveRegistry(registry().with_resources(THOUSAND))
    assert live.by_kind is live.by_kind
    assert live.by_group_resource is live.by_group_resource
    assert live.current.by_group_version is live.current.by_group_version
