"""``kubetrio gen-types``: a module that type checkers take."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kubetrio.cli import main

WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "spec": {
        "group": "example.com",
        "names": {"kind": "Widget", "plural": "widgets"},
        "versions": [
            {
                "name": "v1",
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                        },
                    }
                },
            }
        ],
    },
}
USES = """\
from widgets import WidgetV1


def size(widget: WidgetV1) -> str:
    return widget["metadata"]["name"] + widget["kind"]


def wrong(widget: WidgetV1) -> int:
    return widget["kind"]
"""


def test_mypy_knows_the_members(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Strictly; what is wrong is found."""
    pytest.importorskip("mypy", reason="mypy is not installed: pip install '.[check]'")
    (tmp_path / "crd.yaml").write_text(yaml.safe_dump_all([{"kind": "Other"}, WIDGETS]))
    assert main(["gen-types", str(tmp_path / "crd.yaml"), "-o", str(tmp_path / "widgets.py")]) == 0
    assert capsys.readouterr().out == ""
    (tmp_path / "uses.py").write_text(USES)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "uses.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert "Found 1 error" in done.stdout, done.stdout + done.stderr
    assert "uses.py:9" in done.stdout


def test_without_a_definition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is one line."""
    (tmp_path / "a.yaml").write_text("kind: Pod\n")
    assert main(["gen-types", str(tmp_path / "a.yaml")]) == 1
    assert "there is no CustomResourceDefinition" in capsys.readouterr().err
