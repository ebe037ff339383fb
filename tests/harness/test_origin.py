"""A server in a process of its own is copied for each example."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kubetrio.faults import Rule
from kubetrio.harness import diff, replayed
from kubetrio.harness.forking import ForkError
from kubetrio.harness.origin import Copy, Origin, open_origin
from kubetrio.harness.reply import Reply
from kubetrio.harness.script import Inject, Move, Request, Script, ScriptError, Watch
from kubetrio.harness.setup import Setup

MAPS = "/api/v1/namespaces/shop/configmaps"
START = Script(
    setup=Setup(seed=4),
    steps=(
        Request(method="POST", path="/api/v1/namespaces", body={"metadata": {"name": "shop"}}),
        Watch(path=f"{MAPS}?watch=1"),
    ),
)
CREATE = Request(method="POST", path=MAPS, body={"metadata": {"generateName": "a-"}})
READ = Request(path=f"{MAPS}/{{{{3.metadata.name}}}}")


@pytest.fixture(scope="module")
def origin() -> Iterator[Origin]:
    """A server with a namespace and a watch."""
    with open_origin(START) as made:
        yield made


def example(copy: Copy) -> list[Reply]:
    """Some steps; references count those of the origin."""
    steps = (CREATE, READ, Move(seconds=60), Inject(rule=Rule(fault="500", count=1)), READ, READ)
    return [copy.do(step) for step in steps]


def test_each_example_begins_at_the_same_point(origin: Origin) -> None:
    """And gets the same bytes, whatever was done with copies before."""
    with origin.fork() as copy:
        first, scripts = example(copy), [copy.finish()]
    assert [reply.status for reply in first] == [201, 200, 0, 0, 500, 200]
    with origin.fork() as copy:
        copy.do(Request(method="DELETE", path="/api/v1/namespaces/shop"))
        copy.do(Move(seconds=5000))
    with origin.fork() as copy:
        assert example(copy) == first
        scripts.append(copy.finish())
    assert scripts[0] == scripts[1]


def test_what_a_copy_did_is_a_script(origin: Origin) -> None:
    """From the start on; it does the same without copies."""
    with origin.fork() as copy:
        example(copy)
        script, digest = copy.finish()
    assert len(digest) == 64
    assert script.unanswered().steps[:2] == START.steps
    assert script.steps[1].answer is not None
    assert len(script.steps[1].answer.events) == 2  # the authorities of the namespace, and this
    assert diff(script, replayed(script)) == []


def test_a_step_that_no_script_can_have_is_refused(origin: Origin) -> None:
    """Before it is sent; the copy goes on."""
    with origin.fork() as copy:
        with pytest.raises(ScriptError, match="path: must begin"):
            copy.do(Request(path="api"))
        assert copy.do(Request(path="/readyz")).body == b"ok"


@pytest.mark.parametrize(
    ("setup", "told"),
    [
        (Setup(storage="disk"), "a database on a disk"),
        (Setup(flags=["--nonsense"]), "unrecognized"),
    ],
)
def test_what_cannot_be_copied_is_told(setup: Setup, told: str) -> None:
    """As by a copy in the same process."""
    with pytest.raises(ForkError, match=told), open_origin(Script(setup=setup)):
        pass
