"""The command `version`."""

from __future__ import annotations

import json

import pytest

from kubetrio import __version__
from kubetrio.cli import main
from kubetrio.datadir import SCHEMA_VERSION


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """And exit code 0."""
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"kubetrio {__version__}\n"


def test_the_schema_that_it_opens_is_told_to_programs(capsys: pytest.CaptureFixture[str]) -> None:
    """Beside the versions, as the page on versions has it compared with what verify prints."""
    assert main(["version", "--output", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["kubetrio"], told["schema"]) == (__version__, SCHEMA_VERSION)
