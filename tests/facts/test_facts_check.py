"""What is missing of a built-in kind is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from facts.check import check, differing
from kubetrio.kinds.apps.kinds import KINDS
from kubetrio.kinds.builtin import registry
from kubetrio.kinds.common.builtinkind import BuiltinKind, lazily
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.parts import kinds_of
from kubetrio.schema import builtin
from kubetrio.schema.fieldselectors import FieldSelectors, at
from kubetrio.schema.kind import Kind

DEPLOYMENTS = KINDS["deployments"]
validation = lazily("kubetrio.kinds.apps.validation")
nowhere = lazily("kubetrio.kinds.apps.nowhere")


def _apps() -> list[Kind]:
    return [kind for kind in registry().resources.values() if kind.group == "apps"]


def _with(group: str, apps: Mapping[str, BuiltinKind]) -> Mapping[str, BuiltinKind]:
    return apps if group == "apps" else kinds_of(group)


def test_nothing_is_missing() -> None:
    """Of any kind that is served; ``python -m facts check`` prints it."""
    assert list(check()) == []


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (
            replace(
                DEPLOYMENTS, rules=replace(DEPLOYMENTS.rules, validation=validation.DEPLOYMENT)
            ),
            "rules.validation: kubetrio.kinds.apps.validation has no DEPLOYMENT",
        ),
        (
            replace(DEPLOYMENTS, defaults={"v1": nowhere.DEFAULTS}),
            "defaults['v1']: kubetrio.kinds.apps.nowhere.DEFAULTS: there is no such module",
        ),
        (replace(DEPLOYMENTS, printer=None), "columns in schemas/tables.json, but no printer"),
        (
            replace(DEPLOYMENTS, printer=PrinterRow(lambda _obj, _now: ["a"])),
            "the printer fills 1 cells of 8 columns",
        ),
        (
            replace(DEPLOYMENTS, selectors=FieldSelectors(getters={"spec.a": at("spec.a")})),
            "selectors read the field spec.a, which is not in schemas/field-selectors.json",
        ),
        (nowhere.DEPLOYMENTS, "kubetrio.kinds.apps.nowhere.DEPLOYMENTS: there is no such module"),
        (None, "kubetrio.kinds.apps.kinds says nothing of deployments"),
    ],
)
def test_a_value_that_lacks_something(
    value: BuiltinKind | None, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A typo is a line, and not silence."""
    kinds = {name: one for name, one in KINDS.items() if name != "deployments"}
    if value is not None:
        kinds["deployments"] = value
    monkeypatch.setattr("kubetrio.kinds.parts.kinds_of", lambda group: _with(group, kinds))
    monkeypatch.setattr("facts.check.kinds_of", lambda group: _with(group, kinds))
    for kind in list(_apps()):
        vars(kind).pop("printer", None)
    try:
        found = [line for line in check() if "deployments" in line]
    finally:
        for kind in list(_apps()):
            vars(kind).pop("printer", None)
    assert f"apps/v1 deployments: {problem}" in found


def test_facts_that_lack_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """Types, list types, messages, columns and selectable fields."""
    lists = "io.k8s.api.apps.v1.DeploymentList"
    tables, fields = dict(builtin.load("tables")), dict(builtin.load("field-selectors"))
    del fields["apps/v1/deployments"]
    known = {**builtin.load("kinds")}
    del known["apps/v1/DaemonSetList"]
    loaded = {"tables": tables, "field-selectors": fields, "kinds": known}
    load, message = builtin.load, builtin.message

    def without(name: str) -> object:
        if name == builtin.message_name(lists):
            raise KeyError(name)
        return message(name)

    monkeypatch.setattr(builtin, "load", lambda name: loaded.get(name) or load(name))
    monkeypatch.setattr(builtin, "message", without)
    folder = "schemas/protobuf/"
    assert list(check()) == [
        "apps/v1 daemonsets: no list type DaemonSetList in schemas/kinds.json",
        f"apps/v1 deployments: no protobuf message {builtin.message_name(lists)} in {folder}",
        "apps/v1 deployments: no fields in schemas/field-selectors.json",
    ]


def test_names_stand_for_the_modules_that_mypy_reads() -> None:
    """Two modules may have the same names, so that nothing else would tell."""
    source = """
if TYPE_CHECKING:
    from kubetrio.kinds.a import defaults, printers
    from kubetrio.kinds.a.validation import pods as v
else:
    defaults = lazily(f"{__package__}.defaults")
    v = lazily(f"{__package__}.preparation.pods")
    other = lazily("kubetrio.kinds.core.printers")
"""
    assert list(differing(source, "kubetrio.kinds.a")) == [
        "other is kubetrio.kinds.core.printers, and None for mypy",
        "printers is None, and kubetrio.kinds.a.printers for mypy",
        "v is kubetrio.kinds.a.preparation.pods, and kubetrio.kinds.a.validation.pods for mypy",
    ]
