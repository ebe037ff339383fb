"""Scripts are read from files, and what is none is one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubetrio.cli.common import Failure
from kubetrio.cli.scriptfile import read_script
from kubetrio.harness.script import Script, Settle


def test_a_script_is_read(tmp_path: Path) -> None:
    """As it was saved."""
    script = Script(steps=(Settle(),))
    script.save(tmp_path / "s.json")
    assert read_script(tmp_path / "s.json") == script


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"\xff", "utf-8"), (b"a: b", "no JSON"), (b"[]", "format"), (None, "No such file")],
)
def test_what_is_no_script(content: bytes | None, said: str, tmp_path: Path) -> None:
    """Names the file and says what is wrong."""
    path = tmp_path / "s.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Failure, match=said) as failure:
        read_script(path)
    assert "s.json" in str(failure.value)
