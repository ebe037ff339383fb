"""Copies go on from where a server is, and leave no trace in it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from kubetrio.harness import forking
from kubetrio.harness.forking import ForkError, check_forkable
from kubetrio.harness.setup import Setup

PROGRAM = """
import json, os, sys
from kubetrio.harness import ForkError, Harness, Script, Setup, record, run

MAPS = "/api/v1/namespaces/default/configmaps"
OBJECT = {"apiVersion": "v1", "kind": "ConfigMap",
          "metadata": {"generateName": "a-", "namespace": "default"}}

async def example(server: Harness) -> Script:
    async with record(server) as session:
        await session.watch(MAPS + "?watch=1")
        for _ in range(3):
            await session.request("POST", MAPS, {"metadata": {"generateName": "a-"}})
        await session.request("DELETE", "/api/v1/namespaces/shop")
        await session.move(seconds=90)
        await session.request("GET", "/api/v1/namespaces")
        return await session.finished()

async def other(server: Harness) -> str:
    for _ in range(5):
        await server.client().create(OBJECT)
    await server.clock.move(seconds=1000)
    return await server.digest()

async def raises(server: Harness) -> None:
    raise LookupError("in the copy")

async def unpicklable(server: Harness) -> object:
    return lambda: 0

async def ends(server: Harness) -> None:
    os._exit(3)

async def stuck(server: Harness) -> None:
    while True:
        pass

async def failure(server, do, **how):
    try:
        await server.fork(do, **how)
    except Exception as error:
        return f"{type(error).__name__}: {error}"

async def main(server: Harness) -> dict:
    client = server.client()
    await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    await server.settled()
    before = await server.digest()
    first = str(await server.fork(example))
    changed = await server.fork(other)
    return {
        "before": before,
        "again": str(await server.fork(example)) == first,
        "failures": [await failure(server, raises), await failure(server, unpicklable),
                     await failure(server, ends), await failure(server, stuck, limit_s=0.2)],
        "after": await server.digest(),
        "changed": changed,
        "itself": str(await example(server)) == first,
    }

print(json.dumps(run(main, Setup(seed=2))))
"""


def test_copies_repeat_and_the_server_stays_as_it_was() -> None:
    """Byte for byte; at last the server itself does what its copies did."""
    # A process of its own: that of the tests may have threads.
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["again"]
    assert told["after"] == told["before"] != told["changed"]
    assert told["itself"]
    assert told["failures"][0] == "LookupError: in the copy"
    assert told["failures"][1].startswith("ForkError: cannot be pickled")
    assert told["failures"][2] == "ForkError: the copy ended without a result"
    assert told["failures"][3] == "ForkError: the copy did not end within 0.2 seconds"


@pytest.mark.parametrize(
    ("setup", "told"),
    [
        (Setup(storage="disk"), "a database on a disk"),
        (Setup(listen=True), "on the same socket"),
        (Setup(), "2 threads run"),
    ],
)
def test_what_cannot_be_copied_is_told(
    setup: Setup, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk, a socket, threads."""
    monkeypatch.setattr(forking, "running_threads", lambda: 2)
    with pytest.raises(ForkError, match=told):
        check_forkable(setup)
