"""Manifests that are exported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubetrio.cli.export import text_of
from kubetrio.cli.importing import read


@pytest.mark.parametrize(
    "data",
    [
        {"t": "one\ntwo\n", "n": "no newline\nat the end"},
        {"t": "yes", "n": "1", "e": "", "o": "0o7", "d": "2026-01-01", "u": "é\u2028x\ttab"},
        {"t": " leading\n trailing \n\n"},
    ],
)
def test_what_is_written_is_read_as_it_was(data: dict[str, Any], tmp_path: Path) -> None:
    """Whatever YAML would make of it."""
    meta = {"name": "a"}
    obj = {"data": data, "kind": "ConfigMap", "apiVersion": "v1", "metadata": meta}
    text = text_of(obj)
    assert text.startswith("apiVersion: v1\nkind: ConfigMap\nmetadata:\n")
    file = tmp_path / "a.yaml"
    file.write_text(text)
    [found] = list(read(str(file)))
    assert found.obj == obj
