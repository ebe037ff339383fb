"""Flags: their values, their help, and those of kube-apiserver that mean nothing here."""

from __future__ import annotations

import argparse
import dataclasses
import re

import pytest

from kubetrio import flags
from kubetrio.cli import parser
from kubetrio.config import Config
from kubetrio.schema import builtin


def config(*arguments: str) -> Config:
    return flags.to_config(parser().parse_args(["serve", *arguments]))


def serve_parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser()
    commands = top.add_subparsers()
    flags.add_serve(commands)
    made: argparse.ArgumentParser = commands.choices["serve"]
    return made


def test_without_flags_the_defaults_are_the_configurations() -> None:
    """The command line and the embedding API begin alike."""
    found = config()
    assert found == Config(data_dir=found.data_dir)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("30s", 30.0), ("1m30s", 90.0), ("1.5h", 5400.0), ("0s", 0.0)],
)
def test_durations_are_gos(text: str, seconds: float) -> None:
    """As Go's `time.ParseDuration` reads them."""
    assert flags.duration(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "s", "1x", "1m5", ".s", "-1s", "1..5s", "1 s"])
def test_other_texts_are_no_durations(text: str) -> None:
    """A number without a unit is a mistake, and so is nothing."""
    with pytest.raises(argparse.ArgumentTypeError):
        flags.duration(text)


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ([], True),
        (["--anonymous-auth"], True),
        (["--anonymous-auth=true"], True),
        (["--anonymous-auth=false"], False),
        (["--anonymous-auth=F"], False),
    ],
)
def test_booleans_are_pflags(arguments: list[str], value: bool) -> None:
    """`--x` and `--x=false`."""
    assert config(*arguments).anonymous_auth is value


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        (["--secure-port", "0"], "secure_port", 0),
        (["--bind-address=::1"], "bind_address", "::1"),
        (["--history-window", "1h"], "history_window_s", 3600.0),
        (["--etcd-compaction-interval", "5s"], "compact_interval_s", 5.0),
        (["--request-timeout", "5s"], "request_timeout_s", 5.0),
        (["--min-request-timeout", "5"], "min_request_timeout_s", 5.0),
        (["--shutdown-delay-duration", "5s"], "shutdown_delay_s", 5.0),
        (["--durability", "normal"], "durability", "normal"),
        (["--tls-san", "a", "--tls-san", "b"], "extra_hosts", ("a", "b")),
        (["--name", "x"], "name", "x"),
    ],
)
def test_flags_become_configuration(arguments: list[str], field: str, value: object) -> None:
    """Each in its unit."""
    assert getattr(config(*arguments), field) == value


@pytest.mark.parametrize(
    "arguments",
    [
        ["--secure-port", "x"],
        ["--secure-port", "70000"],
        ["--secure-port=-1"],
        ["--request-timeout", "5"],
        ["--durability", "none"],
        ["--anonymous-auth=maybe"],
        ["--secure"],
    ],
)
def test_wrong_values_are_usage_errors(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and a line that names the flag; names are never abbreviated."""
    with pytest.raises(SystemExit) as caught:
        parser().parse_args(["serve", *arguments])
    assert caught.value.code == 2
    assert arguments[0].partition("=")[0] in capsys.readouterr().err


def test_help_mentions_every_flag() -> None:
    """And every flag of the help exists."""
    made = serve_parser()
    text = made.format_help()
    known = {
        option for action in made._actions for option in action.option_strings if option[:2] == "--"
    }
    assert known <= set(re.findall(r"--[a-z][a-z-]*", text))


def test_every_flag_has_help() -> None:
    """Not only its name."""
    assert [action.option_strings for action in serve_parser()._actions if not action.help] == []


def test_every_field_has_its_flag() -> None:
    """Errors of the configuration are shown by the names of flags."""
    known = set(serve_parser()._option_string_actions)
    fields = {field.name for field in dataclasses.fields(Config)} - {"shutdown_grace_s"}
    assert {flags.flag_of(name) for name in fields} <= known


def test_names_and_types_are_kube_apiservers() -> None:
    """A flag with a name of kube-apiserver's takes the same kind of value."""
    theirs = builtin.load("flags")["flags"]
    ours = serve_parser()._option_string_actions
    booleans = {name for name, fact in theirs.items() if fact.get("type") == "bool"}
    shared = {option[2:] for option in ours if option[:2] == "--"} & set(theirs) - {"help"}
    assert {"secure-port", "bind-address", "cert-dir", "token-auth-file"} <= shared
    for name in shared & booleans:
        assert ours[f"--{name}"].type is flags.boolean, name


@pytest.mark.parametrize(
    ("arguments", "accepted", "wrong"),
    [
        (["--etcd-servers=http://x"], ["etcd-servers"], []),
        (["--etcd-servers", "http://x"], ["etcd-servers"], []),
        (["--profiling", "stray"], ["profiling"], ["stray"]),
        (["--no-such-flag=1"], [], ["--no-such-flag=1"]),
        (["stray"], [], ["stray"]),
    ],
)
def test_flags_without_a_meaning_here(
    arguments: list[str], accepted: list[str], wrong: list[str]
) -> None:
    """Known ones are accepted with their values, others are mistakes."""
    assert flags.unused(arguments) == (accepted, wrong)
