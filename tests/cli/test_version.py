"""The command `version`."""

from __future__ import annotations

import pytest

from kubetrio import __version__
from kubetrio.cli import main


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """And exit code 0."""
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"kubetrio {__version__}\n"
