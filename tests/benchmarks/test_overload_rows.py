"""Attacks run against a server of their own, and say what they found."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.overload.__main__ import main as attack
from benchmarks.overload.catalog import ATTACKS, MIXED
from benchmarks.rows_overload import MIXED_PARTIES, mixed


def test_the_mixed_attack_has_every_attack_at_each_place():
    """Its parties take all of them in turn, none at the same time as another one."""
    script = mixed(1.0, 60.0, 1.0, 1.0)
    assert len(script.parties) == MIXED_PARTIES
    for party in script.parties:
        assert sorted(party) == sorted(attack.name for attack in MIXED)
    for names in zip(*script.parties, strict=True):
        assert len(set(names)) == MIXED_PARTIES


def test_the_mixed_attack_comes_to_every_attack():
    script = mixed(1.0, 60.0, 1.0, 1.0)
    assert script.slice_s * len(script.parties[0]) <= 60.0


def test_names_are_unique():
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.parametrize("name", ["idle", "watches-h2"])
def test_an_attack_is_measured(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """It attacks, and the honest user is answered throughout; the long attack is a mixed one."""
    result = tmp_path / "result.json"
    arguments = ["--quick", "--only", f"overload-{name}", "--json", str(result)]
    assert main([*arguments, "--work-dir", str(tmp_path)]) == 0
    (row,) = json.loads(result.read_text())["rows"]
    (sample,) = row["servers"]["kubetrio"]["rounds"]
    assert sample["p99_ms"] is not None
    assert sample["readyz_p99_ms"] is not None
    assert " 0 of " in sample["note"]
    capsys.readouterr()


@pytest.mark.e2e
@pytest.mark.slow
def test_a_long_attack_is_written_down(tmp_path: Path):
    """With what attackers met and what the keeper saw, whether or not targets are met."""
    result = tmp_path / "result.json"
    times = ["--seconds", "1", "--calm", "0.3", "--back", "0.3", "--scale", "0.02"]
    assert attack([*times, "--json", str(result), "--work-dir", str(tmp_path)]) in (0, 1)
    written = json.loads(result.read_text())
    assert written["tally"]["connections"] > 0
    assert written["kept"]["problems"] == []
    assert written["memory"][0][1] > 0
    assert written["attacked_readyz"]["course"]
    assert written["facts"]["system"]
