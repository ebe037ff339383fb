"""A setup is a value, and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubetrio.faults import Rule
from kubetrio.harness.setup import Setup, SetupError

FULL = Setup(
    seed=3,
    flags=["--controllers=-*", "--event-ttl=5m"],
    storage="disk",
    listen=True,
    start=5.0,
    faults=[Rule(fault="409", verb="update", count=2)],
)


def test_json_and_back() -> None:
    """What is as usual is left out."""
    assert Setup.of(json.loads(json.dumps(FULL.as_dict())), seed=3) == FULL
    assert Setup(seed=4).as_dict() == {}


def test_flags_win_over_what_the_harness_chooses(tmp_path: Path) -> None:
    """A port that is named is listened on; the rest stays."""
    config = Setup(flags=["--secure-serving=true", "--secure-port=7"]).config(tmp_path)
    assert (config.local.secure_serving, config.serving.secure_port) == (True, 7)
    assert config.storage.in_memory
    assert config.data_dir == tmp_path
    assert not Setup(storage="disk").config(tmp_path).storage.in_memory


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ([], "server: must be an object"),
        ({"sotrage": "disk"}, "no field 'sotrage'"),
        ({"storage": "tape"}, "storage: 'tape' is none of memory, disk"),
        ({"flags": "--v=1"}, "flags: must be a list"),
        ({"flags": ["v=1"]}, "flags: 'v=1' is no flag"),
        ({"listen": 1}, "listen: must be true or false"),
        ({"start": "now"}, "start: must be a number"),
        ({"start": 1e300}, "start: must be seconds since 1970"),
        ({"start": float("nan")}, "start: must be seconds since 1970"),
        ({"faults": [{"fault": "418"}]}, "faults: fault: there is no '418'"),
    ],
)
def test_what_cannot_be_meant_is_told(data: Any, told: str) -> None:
    """In one line that names the field."""
    with pytest.raises(SetupError, match=told):
        Setup.of(data)


@pytest.mark.parametrize(
    ("flag", "told"),
    [("--no-such", "unrecognized arguments"), ("--event-ttl=soon", "--event-ttl")],
)
def test_flags_are_judged_as_serve_judges_them(tmp_path: Path, flag: str, told: str) -> None:
    """Without ending the program."""
    with pytest.raises(SetupError, match=told):
        Setup(flags=[flag]).config(tmp_path)
