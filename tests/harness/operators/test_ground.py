"""Runs in copies of one server begin at the same point."""

from __future__ import annotations

import pytest
import trio

from kubetrio.client import Client
from kubetrio.harness.operators.ground import PrepareError, open_ground
from kubetrio.harness.operators.plans import Plan
from kubetrio.harness.operators.runs import Terms
from kubetrio.harness.script import Request

MAPS = "/api/v1/namespaces/default/configmaps"
MAP = Request(method="POST", path=MAPS, body={"metadata": {"name": "a"}})


async def idle(_: Client) -> None:
    """Do nothing."""
    await trio.sleep_forever()


def test_each_run_is_as_the_first() -> None:
    """Revisions and uids too."""
    with open_ground(idle, terms=Terms(quiet_s=2)) as ground:
        one, other = (ground.run(Plan(steps=(MAP,))) for _ in range(2))
    assert list(one.answers) == [201]
    assert one.calls == other.calls
    assert one.after == other.after


def test_what_cannot_be_made_before() -> None:
    """Is told."""
    with pytest.raises(PrepareError, match="409"), open_ground(idle, before=[MAP, MAP]):
        pass
