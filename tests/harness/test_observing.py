"""A replay that is observed answers what any other does, and tells all that was written."""

from __future__ import annotations

import pytest

from kubetrio.faults import Rule
from kubetrio.harness import Script, Setup, diff, replayed
from kubetrio.harness import observing as room
from kubetrio.harness.observing import Observed, observed
from kubetrio.harness.script import Inject, Move, Request, Restart, ScriptError, Settle, Watch
from kubetrio.store.model import EventType

MAPS = "/api/v1/namespaces/default/configmaps"
POST = Request(method="POST", path=MAPS, body={"metadata": {"generateName": "a-"}})
STEPS = (
    Watch(path=f"{MAPS}?watch=1"),
    POST,
    Inject(rule=Rule(fault="409", verb=("create",), count=1)),
    POST,
    Move(seconds=7200),
    Settle(),
    Restart(),
    Request(method="DELETE", path=f"{MAPS}/{{{{2.metadata.name}}}}"),
)


@pytest.fixture(scope="module", params=["memory", "disk"])
def replay(request: pytest.FixtureRequest) -> Observed:
    """A script with a step of each kind, observed on either store."""
    return observed(Script(setup=Setup(seed=5, storage=request.param), steps=STEPS))


def test_the_answers_are_those_of_a_replay(replay: Observed) -> None:
    """Byte for byte: to be observed changes nothing."""
    again = replayed(replay.script.unanswered())
    assert diff(replay.script, again) == []


def test_every_write_is_told_with_its_time(replay: Observed) -> None:
    """Those that the server has compacted too, and those of a server that was started again."""
    revisions = [event.revision for event, _ in replay.events]
    assert revisions == sorted(set(revisions))
    assert replay.end == revisions[-1] == replay.moments[-1].revision
    assert all(at_ms for _, at_ms in replay.events)
    ours = [event for event, _ in replay.events if "/configmaps/default/a-" in event.key]
    assert [event.type for event in ours] == [EventType.CREATED, EventType.DELETED]
    dates = {event.revision: at_ms for event, at_ms in replay.events}
    between = dates[ours[1].revision] - dates[ours[0].revision]
    assert 7_200_000 <= between < 7_210_000


def test_each_step_has_its_place(replay: Observed) -> None:
    """The revision after it, and the clock; a refused write moves neither."""
    start, moments = replay.start, replay.moments
    assert len(moments) == len(STEPS)
    assert moments[1].revision > moments[0].revision == start.revision
    assert moments[3] == moments[2] == moments[1]
    assert moments[4].at_ms - moments[3].at_ms == 7_200_000
    assert moments[7].revision > moments[6].revision


def test_more_than_can_be_kept_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not half a history."""
    monkeypatch.setattr(room, "MOST_BYTES", 1000)
    with pytest.raises(ScriptError, match="which is not kept"):
        observed(Script(steps=STEPS[:2]))
