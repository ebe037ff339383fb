"""The configuration file: flags by their names, in YAML.

Its keys are the names of flags and not fields of `Config`, so that there is one name for each
thing: the reference, errors, ``/flagz`` and the manifests of kube-apiserver have the same.  A value
is what the command line would take, and may be written as YAML has it: a list for what has commas
or is given several times, a mapping for what has ``name=value``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubetrio.config import Config, ConfigError
from kubetrio.config.flag import FlagRow, values
from kubetrio.config.kinds import Kind
from kubetrio.flags.absence import IgnoredFlag
from kubetrio.flags.absent import judge, table

if TYPE_CHECKING:
    import yaml

    from kubetrio.flags.terminal import Terminal

NOT_IN_FILES = ("config", "print-config", "detach", "wait")
"""What is about one call of the command."""

NULL = "tag:yaml.org,2002:null"


class FileError(Exception):
    """A configuration file cannot be used; one line that begins with the file and the line."""


@dataclass(frozen=True, slots=True)
class FromFile:
    """What a configuration file says.

    Args:
        path: of the file; None for none.
        given: values by the paths of fields, as the parser makes them.
        lines: where each flag is, by its name; from 1.
        ignored: flags of kube-apiserver that change nothing here.
    """

    path: Path | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    ignored: tuple[IgnoredFlag, ...] = ()

    def told(self, error: ConfigError, typed: frozenset[str]) -> str:
        """An error of the configuration, with the line of the file that it is about.

        Args:
            error: says which flags it is about.
            typed: names of the flags that the command line has.
        """
        names = [name.removeprefix("--") for name in error.flags]
        at = [self.lines[name] for name in names if name in self.lines and name not in typed]
        return f"{self.path}:{at[0]}: {error.by_flag()}" if at else error.by_flag()


def read(path: Path, flags: Mapping[str, FlagRow]) -> FromFile:
    """Read a configuration file.  Blocking.

    Args:
        path: of the file.
        flags: all flags, by name.

    Raises:
        FileError: it cannot be read, or has what may not be there.
    """
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is no UTF-8"
        raise FileError(f"--config {path}: {why}") from error
    try:
        root = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        where = f":{mark.line + 1}" if mark is not None else ""
        raise FileError(f"{path}{where}: no YAML: {problem}") from error
    if root is None or root.tag == NULL:
        return FromFile(path)
    if not isinstance(root, yaml.MappingNode):
        raise FileError(f"{path}:{_line(root)}: no mapping of flags to values")
    given: dict[str, Any] = {}
    lines: dict[str, int] = {}
    ignored: list[IgnoredFlag] = []
    for key, node in root.value:
        name, line = str(key.value), _line(key)
        try:
            if name in lines:
                raise ValueError(f"is on line {lines[name]} too")
            lines[name] = line
            if name in NOT_IN_FILES:
                raise ValueError("is for the command line only")
            row = flags.get(name)
            if row is not None:
                given[row.path] = _value(row.flag.kind, node)
            else:
                ignored += _absent(name, node, flags)
        except ValueError as error:
            raise FileError(f"{path}:{line}: {name}: {error}") from None
    return FromFile(path, given, lines, tuple(ignored))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _absent(name: str, node: yaml.Node, flags: Mapping[str, FlagRow]) -> list[IgnoredFlag]:
    """What becomes of a key that is no flag of ours.

    Raises:
        ValueError: it is refused.
    """
    if name not in table():
        near = get_close_matches(name.lstrip("-").replace("_", "-"), list(flags), 1)
        raise ValueError(f"unknown flag{f', did you mean {near[0]}?' if near else ''}")
    judged = judge([f"--{name}={','.join(_texts(node))}"])
    for refused in judged.refused:
        raise ValueError(refused.removeprefix(f"--{name}: "))
    return judged.ignored


def _value(kind: Kind, node: yaml.Node) -> Any:
    """The value of a flag, as the parser makes it.

    Raises:
        ValueError: it is none.
    """
    texts = _texts(node)
    if kind.repeated:
        return [kind.parse(text) for text in texts]
    text = ",".join(texts)
    if kind.choices and text not in kind.choices:
        raise ValueError(f"invalid choice: {text!r} (choose from {', '.join(kind.choices)})")
    return kind.parse(text)


def _texts(node: yaml.Node) -> list[str]:
    """A value as the command line would be given it; one text unless it is a list.

    Raises:
        ValueError: nothing, or a list or mapping in another.
    """
    import yaml

    if isinstance(node, yaml.SequenceNode):
        return [_scalar(each) for each in node.value]
    if isinstance(node, yaml.MappingNode):
        return [f"{_scalar(key)}={_scalar(each)}" for key, each in node.value]
    return [_scalar(node)]


def _scalar(node: yaml.Node) -> str:
    import yaml

    if not isinstance(node, yaml.ScalarNode):
        raise ValueError("has a list or a mapping in another; write texts")
    if node.tag == NULL:
        raise ValueError("has no value; leave the line out for the default")
    return str(node.value)


def printed(
    config: Config, terminal: Terminal, terminal_rows: Mapping[str, FlagRow]
) -> Iterator[str]:
    """The lines of a file that says what a configuration is; what has no value is a comment.

    Args:
        config: the configuration.
        terminal: what the command line does besides.
        terminal_rows: flags of that, by name.
    """
    given = [(row, value) for row, value in values(config) if row.flag.name]
    given += [
        (row, getattr(terminal, row.field))
        for name, row in terminal_rows.items()
        if name not in NOT_IN_FILES
    ]
    for title, rows in groupby(given, key=lambda pair: pair[0].group):
        yield f"# {title}"
        for row, value in rows:
            yield line_of(row, value)


def line_of(row: FlagRow, value: Any) -> str:
    """The line of a file that gives a flag a value; a comment where there is no value.

    Args:
        row: the flag.
        value: as the parser makes it.
    """
    kind, name = row.flag.kind, row.flag.name
    if kind.repeated:
        shown = [kind.show((each,)) for each in value]
        return f"{name}: {json.dumps(shown)}" if shown else f"# {name}: []"
    text = kind.show(value)
    if not text and not isinstance(value, str | tuple):
        return f"# {name}:"
    if isinstance(value, bool | int) or text.isalpha():
        return f"{name}: {text}"
    return f"{name}: {json.dumps(text, ensure_ascii=False)}"
