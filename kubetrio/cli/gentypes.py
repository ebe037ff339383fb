"""``kubetrio gen-types``: Python types of custom resources."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kubetrio.cli.common import Failure, describe, told
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from kubetrio.cli.commands import Call

EXAMPLES = """\
  kubetrio gen-types widgets-crd.yaml -o widgets.py
  kubectl get crd widgets.example.com -o yaml | kubetrio gen-types -
"""
STANDARD = "-"
KIND = "CustomResourceDefinition"


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    describe(
        parser,
        "Print a Python module with a TypedDict for each version of the custom resources that\n"
        "manifests define, for type checkers of programs that use the in-process client.",
        EXAMPLES,
    )
    parser.add_argument(
        "file", nargs="+", metavar="FILE", help="manifests in YAML or JSON, - for standard input"
    )
    parser.add_argument(
        "-o", "--output", default=STANDARD, metavar="FILE",
        help="where the module goes (default: - for standard output)",
    )  # fmt: skip


@told
def run(call: Call) -> int:
    """Print the module."""
    from kubetrio.cli.typegen import SchemaError, module_of

    options = call.options
    definitions = [each for file in options.file for each in _definitions(file)]
    if not definitions:
        raise Failure(f"there is no {KIND} in {', '.join(options.file)}")
    try:
        text = module_of(definitions)
    except SchemaError as error:
        raise Failure(str(error)) from error
    if options.output == STANDARD:
        print(text, end="")
    else:
        Path(options.output).write_text(text, encoding="utf-8")
    return 0


def _definitions(file: str) -> Iterator[dict[str, Any]]:
    """The definitions of a file of manifests, of lists too."""
    import yaml

    text = sys.stdin.read() if file == STANDARD else Path(file).read_text(encoding="utf-8")
    try:
        documents = list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        raise Failure(f"{file}: {' '.join(str(error).split())}") from error
    for document in documents:
        for obj in document.get("items", [document]) if isinstance(document, dict) else ():
            if isinstance(obj, dict) and obj.get("kind") == KIND:
                yield obj
