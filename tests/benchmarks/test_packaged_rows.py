"""Rows about forms that the server comes in: fixtures of pytest, and a single executable."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import rows_fixture, rows_single
from benchmarks.__main__ import main
from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError, Unavailable
from benchmarks.fixtures import FixtureSpec, run
from benchmarks.rows import QUICK, BenchmarkRow, Lab
from benchmarks.subjects import Kubetrio, Remote, Subject
from benchmarks.yardsticks import Yardsticks

ROWS = (*rows_fixture.ROWS, *rows_single.ROWS)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(plan=QUICK, yardsticks=Yardsticks(tmp_path, seconds=1, warmup=0))


def value(lab: Lab, row: BenchmarkRow, subject: Subject) -> float:
    with row.open(lab, subject) as sample:
        return sample().value


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_no_other_server_comes_in_these_forms(row: BenchmarkRow, lab: Lab):
    with pytest.raises(Unavailable):
        value(lab, row, Remote(Endpoint(host="127.0.0.1", port=6443)))


@pytest.mark.parametrize("row", rows_single.ROWS, ids=lambda row: row.name)
def test_without_an_executable_there_is_no_number(row: BenchmarkRow, lab: Lab, tmp_path: Path):
    with pytest.raises(Unavailable, match="KUBETRIO_SINGLE_FILE"):
        value(lab, row, Kubetrio(tmp_path))


def test_the_size_is_in_millions_of_bytes(lab: Lab, tmp_path: Path):
    file = tmp_path / "file"
    file.write_bytes(bytes(1_500_000))
    assert value(lab, rows_single.ROWS[0], Kubetrio(tmp_path, single_file=file)) == 1.5


@pytest.mark.slow
@pytest.mark.e2e
def test_an_executable_is_started_with_one_cache_and_new_data(lab: Lab, tmp_path: Path):
    """This one is the server of the checkout, and leaves a line by each start."""
    file, starts = tmp_path / "file", tmp_path / "starts"
    command = f"exec {sys.executable} -m kubetrio"
    file.write_text(f'#!/bin/sh\necho "$KUBETRIO_CACHE $3" >> {starts}\n{command} "$@"\n')
    file.chmod(0o755)
    assert value(lab, rows_single.ROWS[1], Kubetrio(tmp_path, single_file=file)) > 0
    caches, data = zip(*map(str.split, starts.read_text().splitlines()), strict=True)
    assert len(set(caches)) == 1
    assert len(set(data)) == len(data) == 1 + rows_single.LATER


@pytest.mark.slow
@pytest.mark.e2e
def test_fixtures_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    result = tmp_path / "result.json"
    arguments = ["--quick", "--only", "fixture-start,fixture-reset", "--json", str(result)]
    assert main([*arguments, "--work-dir", str(tmp_path)]) == 0
    for row in json.loads(result.read_text())["rows"]:
        (sample,) = row["servers"]["kubetrio"]["rounds"]
        assert sample["value"] > 0
    capsys.readouterr()


@pytest.mark.e2e
def test_a_session_that_fails_says_why(tmp_path: Path):
    with pytest.raises(BenchError, match="--no-such-flag"):
        run(FixtureSpec(folder=str(tmp_path), flags=("--no-such-flag",)))
