"""Flags of kube-apiserver that are not here: which are refused, which are ignored."""

from __future__ import annotations

import pytest

from kubetrio.flags.absence import Ignored, Refused
from kubetrio.flags.absent import judge, table
from kubetrio.flags.absent_security import ABSENT_PLUGINS, PRESENT_PLUGINS
from kubetrio.flags.parser import FLAGS
from kubetrio.schema import builtin
from kubetrio.testing.server import InProcess


def test_every_flag_of_kube_apiserver_is_of_one_class() -> None:
    """Ours, refused or ignored; help and version are argparse's."""
    ours = {row.flag.name for row in FLAGS} | {"help", "version"}
    theirs = builtin.load("flags")["flags"]
    assert set(theirs) - ours == set(table())
    assert not ours & set(table())


def test_booleans_are_kube_apiservers() -> None:
    """Else a value that follows would be taken for an argument, or an argument for a value."""
    theirs = builtin.load("flags")["flags"]
    for name, row in table().items():
        assert row.switch is (theirs[name]["type"] == "bool"), name


def test_nothing_that_asks_for_safety_is_ignored() -> None:
    """By the groups that kube-apiserver puts its flags in."""
    theirs = builtin.load("flags")["flags"]
    safe = {"Auditing", "Authentication", "Authorization", "Admission", "Egress selector"}
    ignored = {name for name, row in table().items() if isinstance(row, Ignored)}
    found = {name for name in ignored if theirs[name]["group"] in safe}
    assert found == {"service-account-lookup"}  # stricter than asked: no such token is taken
    assert not {name for name in ignored if name.startswith(("tls-", "encryption-"))}


@pytest.mark.parametrize(
    "argument",
    [
        "--encryption-provider-config=e.yaml",
        "--authorization-mode=Node,RBAC",
        "--authorization-mode=AlwaysAllow",
        "--authorization-mode=",
        "--enable-admission-plugins=NodeRestriction",
        "--enable-admission-plugins=PodSecurity,AlwaysPullImages",
        "--disable-admission-plugins=PodSecurity",
        "--disable-admission-plugins=PodSecurty",
        "--oidc-issuer-url=https://example.test",
        "--enable-bootstrap-token-auth",
        "--requestheader-client-ca-file=ca.crt",
        "--service-account-key-file=sa.pub",
        "--default-not-ready-toleration-seconds=30",
        "--enable-garbage-collector=false",
        "--runtime-config=api/all=true",
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
        "--enable-admission-plugins=PodSecurity,ResourceQuota",
        "--enable-admission-plugins=",
        "--disable-admission-plugins=ServiceAccount",
        "--default-not-ready-toleration-seconds=300",
        "--enable-bootstrap-token-auth=false",
        "--enable-garbage-collector",
        "--emulated-version=1.36",
        "--service-node-port-range=30000-32767",
    ],
)
def test_what_is_so_anyway_is_taken(argument: str) -> None:
    """A value that asks for nothing that is missing needs no word."""
    judged = judge([argument])
    assert (judged.refused, judged.ignored, judged.wrong) == ([], [], [])


@pytest.mark.parametrize(
    ("arguments", "ignored", "wrong"),
    [
        (["--etcd-servers=http://x"], ["etcd-servers"], []),
        (["--etcd-servers", "http://x"], ["etcd-servers"], []),
        (["--profiling", "stray"], ["profiling"], ["stray"]),
        (["--etcd-prefix", "--profiling"], ["etcd-prefix", "profiling"], []),
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


def test_the_plugins_that_are_missing_are_named() -> None:
    """Not those that are there."""
    (line,) = judge(["--enable-admission-plugins=PodSecurity,NodeRestriction"]).refused
    assert "(NodeRestriction)" in line


def test_a_boolean_that_is_none_is_refused() -> None:
    """By its flag."""
    (line,) = judge(["--enable-bootstrap-token-auth=maybe"]).refused
    assert line.startswith("--enable-bootstrap-token-auth: invalid boolean value 'maybe'")


async def test_the_plugins_that_are_there_are_those_of_the_chain(server: InProcess) -> None:
    """And each plugin of kube-apiserver is either there or not."""
    names = {plugin.name for plugin in server.api.lifecycle._admission.plugins}
    chain = {name for name in names if not name.startswith("kubetrio:")}  # checks, no plugins
    assert chain == set(PRESENT_PLUGINS)
    assert not chain & set(ABSENT_PLUGINS)


def test_each_has_its_reason() -> None:
    """As a clause that goes into a line."""
    for row in table().values():
        said = row.missing if isinstance(row, Refused) else row.why
        assert said
        assert not said.endswith(".")
