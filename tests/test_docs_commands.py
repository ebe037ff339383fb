"""Commands, flags and imports that the pages show exist; whole sessions are run in tests/e2e."""

from __future__ import annotations

import argparse
import ast
import functools
import importlib
import importlib.util
import itertools
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest
import yaml

from benchmarks.__main__ import parser as benchmarks_parser
from facts.__main__ import parser as facts_parser
from kubetrio.cli import commands
from kubetrio.pytest_plugin import _config

ROOT = Path(__file__).parent.parent
BESIDE = ("README.md", "SECURITY.md", "benchmarks/README.md", "schemas/README.md")
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *(ROOT / name for name in BESIDE)]
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:kubetrio|kubectl|python3? -m (?:benchmarks|facts)) [^`]+)`")
ENDS = {"|", "||", "&&", ";", "&", ">", ">>", "<", "2>&1", ")"}
MODULES = {"benchmarks": benchmarks_parser, "facts": facts_parser}
PUBLIC = ("kubetrio.embedding", "kubetrio.aio", "kubetrio.types.", "kubetrio.harness")
Command = list[str]


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(path: Path, *languages: str) -> Iterator[str]:
    """The fenced blocks in a language."""
    for language, text in FENCE.findall(path.read_text()):
        if language in languages:
            yield dedent(text)


def lines(path: Path) -> Iterator[str]:
    """What a page has the reader type."""
    for text in blocks(path, "sh"):
        yield from text.replace("\\\n", " ").splitlines()
    for text in blocks(path, "console"):
        for line in text.replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                yield line[2:]


def mentioned(path: Path) -> list[str]:
    """Commands within sentences; what they need may be left out."""
    return INLINE.findall(FENCE.sub("", path.read_text()))


def typed(found: Iterable[str], wanted: Callable[[str], bool]) -> Iterator[Command]:
    """Commands of a program, as words, up to a pipe or what ends a command."""
    for line in found:
        lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError:
            continue  # a text over several lines
        for at, word in enumerate(words):
            before = words[at - 1] if at else ";"
            starts = before in ENDS or "=" in before or words[0] == "env"
            if starts and wanted(Path(word).name):
                rest = words[at + 1 :]
                end = next((i for i, one in enumerate(rest) if one in ENDS), len(rest))
                yield rest[:end]


@pytest.mark.parametrize("path", PAGES, ids=shown)
def test_commands_of_the_project_are_understood(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the parsers that they have: names, flags and values; there is a cluster, ``dev``."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "kubetrio" / "dev").mkdir(parents=True)
    (tmp_path / "kubetrio" / "dev" / "flags.yaml").touch()
    names = {row.name for row in commands.COMMANDS}
    for words in typed(lines(path), "kubetrio".__eq__):
        if words and words[0] in names:
            commands.parser(words[0]).parse_args(words)
    for words in typed(mentioned(path), "kubetrio".__eq__):
        if words and words[0] in names:
            known = option_strings(commands.parser(words[0]))
            assert {word.partition("=")[0] for word in words if word[0] == "-"} <= known, words
    for words in typed(lines(path), lambda program: program in ("python", "python3")):
        if words[:1] == ["-m"] and words[1] in MODULES and "--help" not in words:
            MODULES[words[1]]().parse_args(words[2:])


def option_strings(parser: argparse.ArgumentParser) -> set[str]:
    """The flags of a parser and of those below it."""
    found: set[str] = set()
    for action in parser._actions:
        found.update(action.option_strings)
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                found |= option_strings(below)
    return found


@functools.cache
def kubectl_help(*words: str) -> str:
    """What kubectl says of a command; empty where it has none of that name."""
    program = shutil.which("kubectl")
    done = subprocess.run(
        [str(program), *words, "--help"], capture_output=True, text=True, check=False
    )
    return "" if done.returncode else done.stdout


@functools.cache
def kubectl_options() -> str:
    """The flags of all commands of kubectl."""
    done = subprocess.run(["kubectl", "options"], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.e2e
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl on PATH")
@pytest.mark.parametrize("path", PAGES, ids=shown)
def test_kubectl_has_what_the_pages_use(path: Path) -> None:
    """Commands and flags, by its help."""
    for words in typed([*lines(path), *mentioned(path)], "kubectl".__eq__):
        own = list(itertools.takewhile("--".__ne__, words))
        plain = [word for word in own if re.fullmatch(r"[a-z][a-z-]*", word)]
        flags = [word.partition("=")[0] for word in own if re.match(r"--?[a-z]", word)]
        longer = (
            [(one,) for one in plain],
            itertools.pairwise(plain),
            zip(plain, plain[1:], plain[2:], strict=False),
        )
        found = [text for names in longer for text in itertools.starmap(kubectl_help, names)]
        bare = words[0].startswith("-")  # flags for any command
        assert bare or any("Usage:" in text for text in found), words
        said = "\n".join([*found, kubectl_options()])
        for flag in flags:
            assert re.search(rf"(?m)^ +(-\w, )?{flag}\b|^ +{flag}, ", said), (flag, words)


@pytest.mark.parametrize("path", PAGES, ids=shown)
def test_python_examples_import_what_is_there(path: Path) -> None:
    """Of the package; other libraries are there or not."""
    for source in blocks(path, "python"):
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            if node.module.split(".")[0] != "kubetrio":
                continue
            module = importlib.import_module(node.module)
            for name in (alias.name for alias in node.names):
                whole = f"{node.module}.{name}"
                assert hasattr(module, name) or importlib.util.find_spec(whole), whole


@pytest.mark.parametrize("path", PAGES, ids=shown)
def test_python_examples_use_public_modules(path: Path) -> None:
    """Those that the page on the Python API names; what contributors add uses others too."""
    used = {
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for source in blocks(path, "python")
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    own = {name for name in used if name and name.partition(".")[0] == "kubetrio"}
    if path.parent.name != "internals":
        assert {name for name in own if not name.startswith(PUBLIC)} <= {"kubetrio"}


@pytest.mark.parametrize("path", PAGES, ids=shown)
def test_yaml_examples_are_yaml(path: Path) -> None:
    """Each document of them."""
    for text in blocks(path, "yaml"):
        assert [one for one in yaml.safe_load_all(text) if one]


def test_flags_in_settings_of_pytest_are_known(tmp_path: Path) -> None:
    """Those that the page about pytest shows."""
    page = ROOT / "docs" / "how-to" / "test-with-pytest.md"
    (text,) = blocks(page, "toml")
    flags = tomllib.loads(text)["tool"]["pytest"]["ini_options"]["kubetrio_flags"]
    assert flags
    _config(tmp_path, flags)
