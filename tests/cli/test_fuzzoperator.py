"""`kubetrio fuzz-operator`: what it is asked and answers; tests/e2e runs operators."""

from __future__ import annotations

import json
import random  # noqa: TID251  (seeded)
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubetrio.cli import fuzzoperator, main
from kubetrio.harness.operators.calls import OPERATOR, Call, Place
from kubetrio.harness.operators.oracles import Finding
from kubetrio.harness.operators.outside.drawing import drawn
from kubetrio.harness.operators.outside.report import Found, Report
from kubetrio.harness.operators.outside.trials import Attempt, Pace
from kubetrio.harness.operators.plans import Plan
from kubetrio.harness.operators.subjects import Subject
from kubetrio.harness.script import Request

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "fuzz-any-operator.md"
DEFINITION = PAGE.read_text().split("```yaml\n")[1].split("```")[0]
PLAN = Plan(steps=(Request(method="POST", path="/apis/example.com/v1/shelves", body={"a": 1}),))


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """The command handles SIGTERM for the rest of its process."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def crd(tmp_path: Path) -> Path:
    """A file with a definition."""
    path = tmp_path / "shelf.yaml"
    path.write_text(DEFINITION)
    return path


def report(found: Found | None) -> Report:
    """A report of seed 0."""
    return Report(mistake=found, habits=None, pace=Pace(quiet_s=0.25), seed=0, runs=4, seconds=1.0)


def answering(monkeypatch: pytest.MonkeyPatch, given: Report) -> list[Any]:
    """Have the command find what is given; returns what it was asked."""
    asked: list[Any] = []

    def hunted(options: Any) -> Report:
        asked.append(options)
        return given

    monkeypatch.setattr(fuzzoperator, "_hunted", hunted)
    return asked


def test_nothing_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], crd: Path
) -> None:
    """Exit code 0; what follows the two dashes is the operator's."""
    asked = answering(monkeypatch, report(None))
    words = ["fuzz-operator", "--crd", str(crd), "--limit", "1m", "--", "run", "--seed", "9"]
    assert main(words) == 0
    assert capsys.readouterr().out == "nothing found in 4 runs\n"
    [options] = asked
    assert options.program == ["run", "--seed", "9"]
    assert (options.seed, options.limit, options.runs) == (0, 60.0, fuzzoperator.RUNS)


def test_something_found(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    crd: Path,
    tmp_path: Path,
) -> None:
    """Exit code 1, a report, and a command that repeats it."""
    call = Call(at=1.0, user=OPERATOR.name, verb="update", place=Place("", "pods", "x", "y"))
    run = Attempt(plan=PLAN, calls=[call], before=(), after=())
    found = Found(plan=PLAN, findings=[Finding("orphan", "it is there")], run=run)
    answering(monkeypatch, report(found))
    out = tmp_path / "report.json"
    words = ["fuzz-operator", "--crd", str(crd), "--report", str(out), "--", "./run it", "-v"]
    assert main(words) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("What the operator did wrong:\norphan: it is there\n")
    repeat = shlex.split(printed.splitlines()[-1])
    assert repeat[:2] == ["kubetrio", "fuzz-operator"]
    assert repeat[-3:] == ["--", "./run it", "-v"]
    given = repeat[repeat.index("--plan") + 1]
    for text in (given, str(out)):
        assert str(fuzzoperator._plan(text)) == str(PLAN)
    assert json.loads(out.read_text())["repeat"] == printed.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--", "run"], "give one of --crd and --kind"),
        (["--kind", "v1 Pod", "--crd", "a", "--", "run"], "give one of --crd and --kind"),
        (["--kind", "v1 Pod"], "give the operator's command: kubetrio fuzz-operator --crd FILE --"),
        (["--kind", "v1 Pod", "--jobs", "0", "--", "run"], "--jobs: at least 1"),
    ],
)
def test_mistakes_on_the_command_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and one line."""
    with pytest.raises(SystemExit) as ended:
        main(["fuzz-operator", *words])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kind", "v1 Pod", "--", "no-such-program-here"], "there is no program no-such"),
        (["--crd", "missing.yaml", "--", "true"], "cannot read missing.yaml: No such file"),
        (["--crd", "text.yaml", "--", "true"], "text.yaml has something that is no object"),
        (["--crd", "map.yaml", "--", "true"], "map.yaml has 0 CustomResourceDefinitions"),
        (["--crd", "broken.yaml", "--", "true"], "broken.yaml: while"),
        (["--crd", "empty.yaml", "--", "true"], "empty.yaml: no kind can be made of it: 'spec'"),
        (["--kind", "v9 Nothing", "--", "true"], "--kind: there is no 'v9 Nothing'"),
        (["--crd", "shelf.yaml", "--plan", "[1]", "--", "true"], "--plan: step 1: do: must"),
        (["--crd", "shelf.yaml", "--plan", "none", "--", "true"], "--plan: cannot read none"),
        (["--crd", "shelf.yaml", "--objects", "none.yaml", "--", "true"], "no object in them"),
    ],
)
def test_what_cannot_be_tried(
    words: list[str],
    said: str,
    crd: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Exit code 2 and one line, before anything runs."""
    monkeypatch.chdir(crd.parent)
    Path("text.yaml").write_text("a text")
    Path("map.yaml").write_text("kind: ConfigMap")
    Path("broken.yaml").write_text("a: [")
    Path("empty.yaml").write_text("kind: CustomResourceDefinition")
    Path("none.yaml").write_text("")
    assert main(["fuzz-operator", *words]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("kubetrio: ")
    assert not Path(".hypothesis").exists()
    assert said in line


def test_manifests_of_a_directory(tmp_path: Path) -> None:
    """In the order of names, all documents of each file."""
    (tmp_path / "b.json").write_text('{"kind": "B"}')
    (tmp_path / "a.yaml").write_text("kind: A\nmetadata: {name: a}\n---\nkind: C\n---\n")
    (tmp_path / "notes.txt").write_text("no")
    objects = fuzzoperator._manifests([tmp_path])
    assert [one["kind"] for one in objects] == ["A", "C", "B"]
    assert objects[1]["metadata"] == {}


def test_objects_are_taken_from_manifests(crd: Path, tmp_path: Path) -> None:
    """In place of drawing them from the schema."""
    sample = {"apiVersion": "example.com/v1", "kind": "Shelf", "spec": {"books": 2}}
    (tmp_path / "sample.yaml").write_text(yaml.safe_dump(sample))

    class Options:
        kind = None
        objects = (tmp_path / "sample.yaml",)

    options: Any = Options()
    options.crd = crd
    about = fuzzoperator._subject(options)
    request = about.create("a", {**sample, "metadata": {}})
    assert request.path == "/apis/example.com/v1/namespaces/default/shelves"
    assert "'books': 2" in repr(about.bodies)


def test_a_schema_that_no_object_fits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], crd: Path
) -> None:
    """A minimum above its maximum is told in a line, and not as a traceback."""
    crd.write_text(DEFINITION.replace("minimum: 0", "minimum: 5"))
    monkeypatch.setattr(fuzzoperator, "_states", lambda *_: ())

    class Drawing:
        def __init__(self, _options: Any, _crew: Any, about: Subject, *_: Any) -> None:
            self._about = about

        def run(self) -> None:
            drawn(self._about.bodies, 1, random.Random(0))

    monkeypatch.setattr(fuzzoperator, "_hunt", Drawing)
    assert main(["fuzz-operator", "--crd", str(crd), "--jobs", "1", "--", "true"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("kubetrio: no object fits the schema: ")
    assert said.endswith("; --objects gives some\n")
