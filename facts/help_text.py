"""``kube-apiserver --help`` -> flags and feature gates."""

from __future__ import annotations

import re

from facts.documents import Json

SECTION = re.compile(r"^(\S.*) flags:$")
FLAG = re.compile(r"^ {2,6}(?:-(\w), )?--([\w-]+)(?: ([^\s\[]+)(?:\[=\S+\])?)?(?: {2,}(.*))?$")
GATE = re.compile(r"^\s+(?:kube:)?(\w+)=true\|false \((\w+) - default=(true|false)\)$")
DEFAULT = re.compile(r"\(default (\"(?:[^\"\\]|\\.)*\"|\[[^\]]*\]|[^()\s]+)\)\s*(?:\(DEPRECATED|$)")
DEPRECATED = re.compile(r"\(DEPRECATED: ")
ZERO = {
    "bool": "false",
    "int": "0",
    "int32": "0",
    "uint": "0",
    "float": "0",
    "float32": "0",
    "quantity": "0",
    "duration": "0s",
    "strings": "[]",
    "ints": "[]",
    "ip": "<nil>",
    "ipNet": "<nil>",
    "version": "false",
}
"""Defaults that ``--help`` leaves out, because they are the zero of the type."""


def flags(text: str) -> dict[str, Json]:
    """Flags by name: group, type, default, one-letter name, whether deprecated.

    Args:
        text: what ``--help`` prints.
    """
    found: dict[str, Json] = {}
    group, words, name = "", "", ""
    for line in [*text.splitlines(), "end flags:"]:
        section, flag = SECTION.match(line), FLAG.match(line)
        if name and (section or flag):
            _finish(found[name], words)
            name = ""
        if section:
            group = section[1][0].upper() + section[1][1:]
        elif flag:
            name, words = flag[2], flag[4] or ""
            found[name] = {"group": group, "type": flag[3] or "bool"}
            if flag[1]:
                found[name]["short"] = flag[1]
        elif name and not GATE.match(line):
            words += f" {line.strip()}"
    return found


def _finish(row: Json, words: str) -> None:
    default = DEFAULT.search(words.rstrip())
    if default:
        text = default[1]
        row["default"] = text[1:-1] if text.startswith('"') else text
    else:
        row["default"] = ZERO.get(row["type"], "")
    if DEPRECATED.search(words):
        row["deprecated"] = True


def feature_gates(text: str) -> dict[str, list[str | bool]]:
    """Feature gates by name: stage, and whether they are on by default.

    Args:
        text: what ``--help`` prints.
    """
    matches = (GATE.match(line) for line in text.splitlines())
    return {match[1]: [match[2], match[3] == "true"] for match in matches if match}
