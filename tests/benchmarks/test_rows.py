"""Every row is in the table of the README, once, with the target it has."""

import re
from pathlib import Path

import pytest

from benchmarks.__main__ import ROWS, main
from benchmarks.rows import BenchmarkRow

README = (Path(__file__).resolve().parents[2] / "benchmarks" / "README.md").read_text()
DESCRIBED = re.findall(r"^\| (`[^|]+) \|[^|]+\|([^|]*)\|$", README, re.MULTILINE)


def target_texts(name: str) -> list[str]:
    """What the README's table of rows says is the target of a row."""
    return [target for names, target in DESCRIBED if f"`{name}`" in names.split(", ")]


def test_names_are_unique():
    assert len({row.name for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_readme_has_every_row_and_its_bounds(row: BenchmarkRow):
    """The last column names each bound; `the same` and shared cells stand for another row's."""
    texts = target_texts(row.name)
    assert len(texts) == 1, texts
    if "the same" not in texts[0]:
        for target in row.targets:
            assert f"{target.bound:g}" in texts[0]


def test_list_prints_every_row(capsys: pytest.CaptureFixture[str]):
    assert main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [row.name for row in ROWS]


def test_a_row_that_does_not_exist_is_refused():
    with pytest.raises(SystemExit, match="no such row: nonsense"):
        main(["--only", "get-16,nonsense"])
