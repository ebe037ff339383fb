"""Types of built-in objects at run time: those of the stubs, made when they are imported."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import get_args, get_type_hints, is_typeddict

import pytest

import kubetrio.types
from kubetrio.schema import builtin
from kubetrio.types import module_of, packages

STUBS = Path(kubetrio.types.__file__).parent


def names_of(package: str) -> list[str]:
    """The types of a stub."""
    group, version = module_of(package)
    names = []
    for node in ast.parse((STUBS / group / f"{version}.pyi").read_text()).body:
        if isinstance(node, ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names.append(node.targets[0].id)
    return names


@pytest.mark.parametrize("package", [*packages()], ids=lambda one: "/".join(module_of(one)))
def test_what_a_stub_has_can_be_imported(package: str) -> None:
    """Each type, and nothing else that the facts know."""
    module = import_module(f"kubetrio.types.{'.'.join(module_of(package))}")
    names = names_of(package)
    assert names
    for name in names:
        made = getattr(module, name)
        assert is_typeddict(made)
        assert (made.__module__, made.__name__) == (module.__name__, name)
        assert made is getattr(module, name)
    shorts = {name.rpartition(".")[2] for name in builtin.load(f"types/{package}")}
    for other in {*shorts, "Nothing", "__path__"} - set(names):
        assert not hasattr(module, other), other


def test_a_kind_says_what_it_is() -> None:
    """Every kind that is known, with its group and version; no list is among them."""
    known = {
        name: type_name
        for name, type_name in builtin.load("kinds").items()
        if not name.endswith("List")
    }
    assert len(known) > 90
    for name, type_name in known.items():
        package, _, short = type_name.rpartition(".")
        module = import_module(f"kubetrio.types.{'.'.join(module_of(package))}")
        hints = get_type_hints(getattr(module, short))
        if hints:
            said = "/".join(get_args(hints[member])[0] for member in ("apiVersion", "kind"))
            assert said == name.lstrip("/")


def test_it_is_a_dictionary() -> None:
    """A type makes one, with any members."""
    from kubetrio.types.core.v1 import ConfigMap

    made = ConfigMap(apiVersion="v1", kind="ConfigMap", metadata={"name": "a"}, data={"b": "c"})
    assert made == {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"b": "c"},
    }  # fmt: skip


def test_a_server_does_not_load_them() -> None:
    """What no program asks for costs nothing."""
    code = "import sys, kubetrio.embedding; sys.exit('kubetrio.types' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
