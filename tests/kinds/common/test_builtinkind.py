"""Values of built-in kinds, and references that are loaded when they are used."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from kubetrio.kinds.apps import printers
from kubetrio.kinds.apps import validation as loaded
from kubetrio.kinds.apps.kinds import KINDS
from kubetrio.kinds.common.builtinkind import BuiltinKind, MissingPart, Reference, lazily, resolved
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.common.writerules import WriteRules

validation = lazily("kubetrio.kinds.apps.validation")


def test_names_of_a_module_are_references() -> None:
    """Until they are resolved; what is no reference stays as it is."""
    found = validation.DEPLOYMENTS
    assert found == Reference("kubetrio.kinds.apps.validation", "DEPLOYMENTS")
    assert resolved(found) is loaded.DEPLOYMENTS
    assert resolved(loaded.DEPLOYMENTS) is loaded.DEPLOYMENTS


def test_members_of_rows_are_resolved() -> None:
    """Of dataclasses and of named tuples; a row without references is not made anew."""
    deployments = KINDS["deployments"]
    assert resolved(deployments.rules).validation is loaded.DEPLOYMENTS
    assert deployments.printer is not None
    assert resolved(deployments.printer).cells is printers.deployment
    for whole in (WriteRules(), PrinterRow(printers.deployment)):
        assert resolved(whole) is whole


def test_all_parts_of_a_value_are_told() -> None:
    """So that a check misses none."""
    paths = [part.path for part in KINDS["deployments"].parts()]
    assert len(paths) == len(set(paths))
    assert {f"rules.{one.name}" for one in fields(WriteRules)} < set(paths)
    assert {f"printer.{name}" for name in PrinterRow._fields} < set(paths)
    assert {"defaults['v1']", "selectors"} < set(paths)
    named = {path.partition(".")[0].partition("[")[0] for path in paths}
    assert named == {one.name for one in fields(BuiltinKind)} - {"below", "conversions"}


def test_values_load_nothing_that_they_name() -> None:
    """Checks, defaults and printers are loaded when one is needed."""
    code = (
        "import sys, kubetrio.kinds.builtin as b; k = b.registry().resources['apps', 'v1', "
        "'deployments']; from kubetrio.kinds.parts import said_of; said_of(k); "
        "print([m for m in sys.modules if m.startswith('kubetrio.kinds.apps.')]); k.rules; "
        "print('kubetrio.kinds.apps.printers' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['kubetrio.kinds.apps.kinds']\nFalse\n"


def test_a_reference_says_what_is_not_there() -> None:
    """Also when a kind is made."""
    with pytest.raises(MissingPart, match="validation has no DEPLOYMENT"):
        resolved(validation.DEPLOYMENT)


def test_an_error_inside_of_a_module_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that needs one that is not installed is there."""
    (tmp_path / "broken_kind.py").write_text("import nobody_has_this\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="nobody_has_this"):
        resolved(lazily("broken_kind").KIND)
