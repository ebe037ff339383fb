"""Operators are tried in processes, several at a time, and none of them goes on after the end."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import pytest
from simulated_operators import SHELF, books

from kubetrio.harness.operators.calls import OPERATOR
from kubetrio.harness.operators.outside.crew import CrewError, open_crew, usual_jobs
from kubetrio.harness.operators.outside.program import Program
from kubetrio.harness.operators.outside.trials import Pace, Trial
from kubetrio.harness.operators.plans import Plan
from kubetrio.harness.operators.subjects import subject
from kubetrio.harness.script import Request, Settle

pytestmark = pytest.mark.e2e
ABOUT = subject(SHELF)
ASKS = """\
import http.client, os, ssl, sys, time, yaml, base64, tempfile
config = yaml.safe_load(open(os.environ["KUBECONFIG"]))
open(sys.argv[1], "a").write(f"{os.getpid()}\\n")
user = config["users"][0]["user"]
with tempfile.NamedTemporaryFile() as pair:
    for name in ("client-certificate-data", "client-key-data"):
        pair.write(base64.b64decode(user[name]))
    pair.flush()
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(pair.name)
host = config["clusters"][0]["cluster"]["server"].removeprefix("https://")
while True:
    connection = http.client.HTTPSConnection(host, context=context)
    connection.request("GET", "/apis/example.com/v1/shelves")
    connection.getresponse().read()
    connection.close()
    time.sleep(0.05)
"""
"""A program that asks for Shelves again and again, and writes down that it runs."""


def trial(folder: Path, number: int = 1, *, fresh: bool = False) -> Trial:
    """A trial in which a Shelf is made."""
    script = folder / "asks.py"
    script.write_text(ASKS)
    return Trial(
        program=Program(words=(sys.executable, str(script), str(folder / "pids"))),
        plan=Plan(steps=(ABOUT.create("a", books(number)), Settle())),
        pace=Pace(quiet_s=0.2, limit_s=5, patience_s=5),
        before=ABOUT.before,
        fresh=fresh,
    )


def pids(folder: Path) -> list[str]:
    """Processes of the program that were started."""
    return (folder / "pids").read_text().split()


def running(folder: Path) -> list[str]:
    """Those that still run."""
    states = {pid: Path(f"/proc/{pid}/stat") for pid in pids(folder)}
    return [
        pid for pid, one in states.items() if one.exists() and one.read_text().split()[2] != "Z"
    ]


def test_trials_one_after_the_other_share_a_server(tmp_path: Path) -> None:
    """Until one needs its own; what happened comes in order."""
    with open_crew(1) as crew:
        given = [trial(tmp_path, 1), trial(tmp_path, 2), trial(tmp_path, 3, fresh=True)]
        done = list(crew.each(given))
        assert crew.runs == 3
    made = []
    for one in done:
        assert one.answers == [201]
        assert any(call.user == OPERATOR.name for call in one.calls)
        made += [obj["spec"]["books"] for obj in one.after if obj["kind"] == "Shelf"]
    assert made == [1, 2, 3]
    assert len(pids(tmp_path)) == 2
    assert running(tmp_path) == []


def test_the_iterator_is_closed_before_the_next_call(tmp_path: Path) -> None:
    """What is under way then is waited for."""
    with open_crew(2) as crew:
        with closing(crew.each([trial(tmp_path)] * 4)) as runs:
            assert next(runs).answers == [201]
            with pytest.raises(RuntimeError, match="still try"):
                crew.one(trial(tmp_path))
        assert crew.one(trial(tmp_path)).answers == [201]


def test_an_exception_ends_operators_at_once(tmp_path: Path) -> None:
    """Also one that is in the middle of a trial."""

    def fails() -> None:
        with open_crew(2) as crew:
            for _ in crew.each([trial(tmp_path)] * 4):
                raise LookupError

    with pytest.raises(LookupError):
        fails()
    assert pids(tmp_path)
    assert running(tmp_path) == []


def test_what_cannot_be_made(tmp_path: Path) -> None:
    """One line, and the process goes on."""
    wrong = Trial(
        program=Program(words=("true",)),
        plan=Plan(),
        before=(Request(method="POST", path="/api/v1/nothing", body={}),),
    )
    with open_crew(1) as crew:
        with pytest.raises(CrewError, match="POST /api/v1/nothing: 404"):
            crew.one(wrong)
        assert crew.one(trial(tmp_path)).answers == [201]


def test_usual_jobs() -> None:
    """One at least, and few."""
    assert 1 <= usual_jobs() <= 4
