"""Flags of kube-apiserver that are not here: which are refused, which are ignored."""

from __future__ import annotations

import pytest

from kubetrio.flags.absence import IgnoredFlag, RefusedFlag
from kubetrio.flags.absent import judge, table
from kubetrio.flags.absent_operation import OURS_ALONE
from kubetrio.flags.parser import FLAGS
from kubetrio.schema import builtin

ALONE = {row.name for row in OURS_ALONE}
DEPRECATED = {"apiserver-count": {"group": "Misc", "type": "int"}}
"""Flags of kube-apiserver that its help leaves out."""


def test_every_flag_of_kube_apiserver_is_of_one_class() -> None:
    """Ours, refused or ignored; help and version are argparse's."""
    ours = {row.flag.name for row in FLAGS} | {"help", "version"}
    theirs = builtin.load("flags")["flags"] | DEPRECATED
    assert set(theirs) - ours == set(table()) - ALONE
    assert not ALONE & set(theirs)
    assert not ours & set(table())


def test_booleans_are_kube_apiservers() -> None:
    """Else a value that follows would be taken for an argument, or an argument for a value."""
    theirs = builtin.load("flags")["flags"] | DEPRECATED
    for name, row in table().items():
        if name in ALONE:
            continue
        assert row.switch is (theirs[name]["type"] == "bool"), name


def test_nothing_that_asks_for_safety_is_ignored() -> None:
    """By the groups that kube-apiserver puts its flags in."""
    theirs = builtin.load("flags")["flags"] | DEPRECATED
    safe = {"Auditing", "Authentication", "Authorization", "Admission", "Egress selector"}
    ignored = {name for name, row in table().items() if isinstance(row, IgnoredFlag)}
    assert not ignored & ALONE
    found = {name for name in ignored if theirs[name]["group"] in safe}
    assert not found
    assert not {name for name in ignored if name.startswith(("tls-", "encryption-"))}


@pytest.mark.parametrize(
    "argument",
    [
        "--service-account-signing-endpoint=s.sock",
        "--enable-garbage-collector=false",
        "--runtime-config=api/all=true",
        "--workers=2",
    ],
)
def test_what_is_missing_is_refused(argument: str) -> None:
    """One line: the flag, what is missing, what to do."""
    judged = judge([argument])
    (line,) = judged.refused
    assert line.startswith(f"{argument.partition('=')[0]}: ")
    assert "; " in line
    assert "\n" not in line
    assert not judged.ignored
    assert not judged.wrong


@pytest.mark.parametrize(
    "argument",
    [
        "--enable-garbage-collector",
        "--emulated-version=1.36",
        "--service-node-port-range=30000-32767",
        "--workers=1",
    ],
)
def test_what_is_so_anyway_is_taken(argument: str) -> None:
    """A value that asks for nothing that is missing needs no word."""
    judged = judge([argument])
    assert (judged.refused, judged.ignored, judged.wrong) == ([], [], [])


@pytest.mark.parametrize(
    ("arguments", "ignored", "wrong"),
    [
        (["--watch-cache-sizes=pods#1"], ["watch-cache-sizes"], []),
        (["--watch-cache-sizes", "pods#1"], ["watch-cache-sizes"], []),
        (["--profiling", "stray"], ["profiling"], ["stray"]),
        (
            ["--delete-collection-workers", "--profiling"],
            ["delete-collection-workers", "profiling"],
            [],
        ),
        (["--no-such-flag=1"], [], ["--no-such-flag=1"]),
        (["stray"], [], ["stray"]),
    ],
)
def test_values_go_with_their_flags(
    arguments: list[str], ignored: list[str], wrong: list[str]
) -> None:
    """What belongs to no flag is a mistake."""
    judged = judge(arguments)
    assert [row.name for row in judged.ignored] == ignored
    assert judged.wrong == wrong


def test_a_boolean_that_is_none_is_refused() -> None:
    """By its flag."""
    (line,) = judge(["--enable-garbage-collector=maybe"]).refused
    assert line.startswith("--enable-garbage-collector: invalid boolean value 'maybe'")


def test_each_has_its_reason() -> None:
    """As a clause that goes into a line."""
    for row in table().values():
        said = row.missing if isinstance(row, RefusedFlag) else row.why
        assert said
        assert not said.endswith(".")


@pytest.mark.parametrize("value", ["2", "-1", "x", "0.021", "nan"])
def test_a_chance_that_kube_apiserver_refuses_is_refused(value: str) -> None:
    """Though the flag changes nothing here."""
    judged = judge([f"--goaway-chance={value}"])
    assert judged.refused
    assert not judged.ignored
    assert judge(["--goaway-chance", "0.02"]).ignored


@pytest.mark.parametrize("value", ["0", "-1", "x"])
def test_a_number_of_servers_that_kube_apiserver_refuses_is_refused(value: str) -> None:
    """Though the flag changes nothing here."""
    assert judge([f"--apiserver-count={value}"]).refused
    assert judge(["--apiserver-count=3"]).ignored
