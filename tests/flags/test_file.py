"""The configuration file is flags by their names, and is told of by file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubetrio.cli import main, parser
from kubetrio.cli.serve import WrongError, configured
from kubetrio.config import Config
from kubetrio.config.flag import rows
from kubetrio.flags.file import NOT_IN_FILES, printed, read
from kubetrio.flags.parser import BY_NAME, TERMINAL_FLAGS


def config_of(path: Path, text: str, *arguments: str) -> Config:
    """What a file and a command line ask for."""
    path.write_text(text)
    options = parser().parse_args(["serve", "--config", str(path), *arguments])
    return configured(options)[0]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kubetrio.yaml"


def test_values_are_as_on_the_command_line(file: Path) -> None:
    """Texts, numbers, booleans, durations, lists and mappings."""
    text = """
        secure-port: 0
        bind-address: "::1"
        anonymous-auth: false
        history-window: 1h
        tls-san: [a.example, 192.0.2.1]
        controllers: ["*", -namespace-controller]
        feature-gates: {CBORServingAndStorage: true}
    """
    arguments = (
        "--secure-port=0 --bind-address=::1 --anonymous-auth=false --history-window=1h "
        "--tls-san=a.example --tls-san=192.0.2.1 --controllers=*,-namespace-controller "
        "--feature-gates=CBORServingAndStorage=true"
    )
    typed = configured(parser().parse_args(["serve", *arguments.split()]))[0]
    assert config_of(file, text) == typed


def test_the_command_line_wins(file: Path) -> None:
    """Also where it gives the default, and with a list as a whole."""
    text = "secure-port: 1\ntls-san: [a.example, b.example]\nname: x\n"
    found = config_of(file, text, "--secure-port=6443", "--tls-san=c.example")
    assert found.serving.secure_port == 6443
    assert found.serving.extra_hosts == ("c.example",)
    assert found.name == "x"


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_an_empty_file_says_nothing(file: Path, text: str) -> None:
    """The defaults hold."""
    found = config_of(file, text)
    assert found == Config(data_dir=found.data_dir)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\nsecure-prot: 1", "2: secure-prot: unknown flag, did you mean secure-port?"),
        ("data_dir: x", "1: data_dir: unknown flag, did you mean data-dir?"),
        ("--name: x", "1: --name: unknown flag, did you mean name?"),
        ("zzzz: x", "1: zzzz: unknown flag"),
        ("name: a\nname: b", "2: name: is on line 1 too"),
        ("# c\nsecure-port: x", "2: secure-port: invalid port 'x': between 0 and 65535"),
        ("durability: Full", "1: durability: invalid choice: 'Full' (choose from full, normal)"),
        ("name:", "1: name: has no value; leave the line out for the default"),
        ("tls-san: [[a]]", "1: tls-san: has a list or a mapping in another; write texts"),
        ("config: x", "1: config: is for the command line only"),
        ("detach: true", "1: detach: is for the command line only"),
        ("- a", "1: no mapping of flags to values"),
        ("a: b: c", "1: no YAML: mapping values are not allowed in this context"),
        (
            "egress-selector-config-file: e",
            "1: egress-selector-config-file: connections to nodes, pods and services go there ",
        ),
        (
            "\nbind-address: a b",
            "2: bind-address: failed to parse IP: 'a b'",
        ),
        ("\n\ntls-cert-file: a", "3: --tls-cert-file and --tls-private-key-file: go together"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(file: Path, text: str, said: str) -> None:
    """In one line."""
    with pytest.raises(WrongError) as caught:
        config_of(file, text)
    assert str(caught.value).startswith(f"{file}:{said}")
    assert "\n" not in str(caught.value)


def test_what_the_command_line_got_wrong_is_not_the_files(file: Path) -> None:
    """The file has the flag too, and does not count."""
    with pytest.raises(WrongError) as caught:
        config_of(file, "name: good\n", "--name=a b")
    assert str(caught.value).startswith("--name: ")


def test_a_file_that_is_not_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And exit code 1."""
    assert main(["serve", "--config", str(tmp_path / "none")]) == 1
    said = capsys.readouterr()
    assert said.err == f"kubetrio: --config {tmp_path / 'none'}: No such file or directory\n"


def test_flags_that_change_nothing_are_told(file: Path) -> None:
    """As on the command line."""
    file.write_text("watch-cache-sizes: [pods#1, nodes#2]\nwatch-cache: true\n")
    found = read(file, BY_NAME)
    assert [row.name for row in found.ignored] == ["watch-cache-sizes", "watch-cache"]


def test_what_is_printed_is_read_back(file: Path) -> None:
    """All flags that may be in a file are there, with defaults or without."""
    arguments = (
        "--secure-port=0 --tls-san=a.example --name=true --request-timeout=90s "
        "--feature-gates=CBORServingAndStorage=true --controllers=-* "
        "--enable-admission-plugins=AlwaysPullImages -v2 --write-kubeconfig=/x"
    )
    options = parser().parse_args(["serve", *arguments.split()])
    config, terminal, _ = configured(options)
    lines = list(printed(config, terminal, TERMINAL_FLAGS))
    names = {line.removeprefix("# ").partition(":")[0] for line in lines}
    flags = {row.flag.name for row in rows(Config)} | set(TERMINAL_FLAGS)
    assert flags - {""} - set(NOT_IN_FILES) <= names
    file.write_text("\n".join(lines))
    again, also, _ = configured(parser().parse_args(["serve", "--config", str(file)]))
    assert again == config
    assert (also.verbosity, also.write_kubeconfig) == (2, Path("/x"))
