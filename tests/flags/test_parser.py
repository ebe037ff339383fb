"""The command line: flags, their values, their help."""

from __future__ import annotations

import argparse
import re
from operator import attrgetter

import pytest

from kubetrio.cli import parser
from kubetrio.config import Config
from kubetrio.config.flag import rows
from kubetrio.flags import parser as flags
from kubetrio.flags.parser import FLAGS
from kubetrio.flags.terminal import Terminal
from kubetrio.schema import builtin


def config(*arguments: str) -> Config:
    return both(*arguments)[0]


def both(*arguments: str) -> tuple[Config, Terminal]:
    return flags.made(parser().parse_args(["serve", *arguments]))


def serve_parser() -> argparse.ArgumentParser:
    made = flags.Parser()
    flags.add_serve(made)
    return made


def test_without_flags_the_defaults_are_the_configurations() -> None:
    """The command line and the embedding API begin alike."""
    found = config()
    assert found == Config(data_dir=found.data_dir)


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ([], None),
        (["--anonymous-auth"], True),
        (["--anonymous-auth=true"], True),
        (["--anonymous-auth=false"], False),
        (["--anonymous-auth=F"], False),
    ],
)
def test_booleans_are_pflags(arguments: list[str], value: bool | None) -> None:
    """`--x` and `--x=false`."""
    assert config(*arguments).auth.anonymous_auth is value


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        (["--secure-port", "0"], "serving.secure_port", 0),
        (["--bind-address=::1"], "serving.bind_address", "::1"),
        (["--history-window", "1h"], "storage.history_window_s", 3600.0),
        (["--etcd-compaction-interval", "5s"], "storage.compact_interval_s", 5.0),
        (["--request-timeout", "5s"], "requests.request_timeout_s", 5.0),
        (["--min-request-timeout", "5"], "requests.min_request_timeout_s", 5.0),
        (["--shutdown-delay-duration", "5s"], "serving.shutdown_delay_s", 5.0),
        (["--durability", "normal"], "storage.durability", "normal"),
        (["--tls-san", "a", "--tls-san", "b"], "serving.extra_hosts", ("a", "b")),
        (["--kubelet-timeout", "1s"], "kubelet.timeout_s", 1.0),
        (["--feature-gates", "A=true"], "feature_gates", {"A": True}),
        (["--name", "x"], "name", "x"),
    ],
)
def test_flags_become_configuration(arguments: list[str], field: str, value: object) -> None:
    """Each in its unit."""
    assert attrgetter(field)(config(*arguments)) == value


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
        ["--tls-min-version=1.3"],
        ["--controllers=a", "--controllers=b"],
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
    assert known <= set(re.findall(r"--[a-z][a-z0-9-]*", text))


def test_every_flag_has_help() -> None:
    """Not only its name."""
    assert [action.option_strings for action in serve_parser()._actions if not action.help] == []


def test_every_field_has_one_flag_and_every_flag_one_field() -> None:
    """Names, places and letters are there once."""
    names = [row.flag.name for row in FLAGS]
    assert len(set(names)) == len(names)
    paths = [row.path for row in FLAGS]
    assert len(set(paths)) == len(paths)
    assert [row.path for row in rows(Config) if not row.flag.name] == ["serving.shutdown_grace_s"]


def test_the_default_shown_is_the_default_taken() -> None:
    """A default, given as it is shown, changes nothing."""
    shown = [(row.flag.name, row.default_text()) for row in FLAGS if row.default_text()]
    assert both(*(f"--{name}={text}" for name, text in shown)) == both()


def test_the_level_of_the_log_has_two_names() -> None:
    """As klog's has, with and without an equals sign."""
    for arguments in (["-v", "3"], ["-v=3"], ["-v3"], ["--v=3"]):
        assert both(*arguments)[1].verbosity == 3


def test_the_version_is_printed_behind_the_command_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """kube-apiserver has the flag; no server is started."""
    with pytest.raises(SystemExit) as caught:
        parser().parse_args(["serve", "--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("kubetrio ")


def test_names_and_types_are_kube_apiservers() -> None:
    """A flag with a name of kube-apiserver's takes the same kind of value."""
    theirs = builtin.load("flags")["flags"]
    ours = {row.flag.name: row.flag.kind for row in FLAGS}
    shared = ours.keys() & theirs
    assert {"secure-port", "bind-address", "cert-dir", "token-auth-file"} <= shared
    for name in shared:
        assert ours[name].boolean is (theirs[name]["type"] == "bool"), name
