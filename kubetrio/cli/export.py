"""``kubetrio export``: what is in a data directory as manifests."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import trio
import yaml

from kubetrio.cli.arguments import add_data_dir
from kubetrio.cli.common import (
    Failure,
    add_encryption,
    describe,
    say,
    told,
)
from kubetrio.cli.progress import Bar
from kubetrio.cli.wanted import Wanted, wanted
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from kubetrio.cli.commands import Call
    from kubetrio.datadir.objects import Found, Moment

EXAMPLES = """\
  kubetrio export > all.yaml
  kubetrio export deploy,services -n shop
  kubetrio export deploy/web cm/settings
  kubetrio export --data-dir /var/lib/kubetrio --secrets -o manifests/
  kubetrio export -l app=web | kubetrio import - --data-dir other
"""
STANDARD = "-"
Object = dict[str, Any]


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    describe(
        parser,
        "Write the objects of a data directory as manifests, whether its server runs or not:\n"
        "without what servers add (identities, versions, status), and without what every server\n"
        "or its controllers make themselves.",
        EXAMPLES,
    )
    parser.add_argument(
        "kind", metavar="KIND[/NAME]", nargs="*",
        help="only these, as kubectl names them: deploy,svc or deploy/web or pod a b",
    )  # fmt: skip
    parser.add_argument("-n", "--namespace", metavar="NAME", help="only of this namespace")
    parser.add_argument(
        "-l", "--selector", default="", metavar="LABELS", help="only with these labels: app=web,!x"
    )
    parser.add_argument(
        "-o",
        "--output",
        default=STANDARD,
        metavar="FILE",
        help="a file, - for standard output, or a directory (ends with /) for a file each",
    )
    parser.add_argument("--secrets", action="store_true", help="Secrets too")
    parser.add_argument(
        "--all",
        action="store_true",
        help="also what servers and controllers make; owners are left out, for they are others",
    )
    parser.add_argument(
        "--raw", action="store_true", help="objects as they are stored, with all that servers add"
    )
    add_data_dir(parser)
    add_encryption(parser)


@told
def run(call: Call) -> int:
    """Write manifests."""
    return trio.run(_run, call.options)


async def _run(options: Namespace) -> int:
    from kubetrio.datadir.objects import open_moment
    from kubetrio.env import Env
    from kubetrio.kinds.manifests import manifest

    encrypted = written = 0
    async with open_moment(options.data_dir, Env(), options.encryption_provider_config) as moment:
        with _output(options) as output, Bar("export") as bar:
            async for item in _chosen(moment, options):
                bar.turn()
                if item.value is None:
                    encrypted += 1
                    continue
                assert item.kind is not None  # noqa: S101 (it was chosen by its kind)
                obj = item.value if options.raw else manifest(item.kind, item.value)
                output.write(item, obj)
                written += 1
    if encrypted:
        say(f"{encrypted} objects are encrypted; give --encryption-provider-config to read them")
        return 1
    if options.output != STANDARD:
        say(f"{written} objects are in {options.output}")
    return 0


async def _chosen(moment: Moment, options: Namespace) -> AsyncIterator[Found]:
    """The objects that are asked for, kind by kind in the order in which they can be applied."""
    from kubetrio.kinds.manifests import is_made_by_server, is_owned, is_secret, rank
    from kubetrio.machinery.labels import parse

    try:
        matches = parse(options.selector).matches
    except ValueError as error:
        raise Failure(f"--selector: {error}") from error
    chosen = wanted(options.kind, moment.kinds) or [Wanted(kind) for kind in moment.kinds.all]
    chosen.sort(key=lambda one: rank({"apiVersion": one.kind.api_version, "kind": one.kind.kind}))
    for one in chosen:
        kind = one.kind
        if is_secret(kind) and not options.secrets:
            if options.kind:
                raise Failure("Secrets are exported with --secrets only")
            continue
        if options.namespace and not kind.namespaced:
            continue
        async for item in moment.objects(kind.prefix(options.namespace or "")):
            value = item.value
            if not one.takes(item.key.rpartition("/")[2]):
                continue
            if value is None or one.names:  # one with its name is meant, whatever made it
                yield item
                continue
            if not options.all and (is_made_by_server(kind, value) or is_owned(value)):
                continue
            if matches(value["metadata"].get("labels") or {}):
                yield item
        if one.missing:
            raise Failure(f'{kind.resource} "{min(one.missing)}" not found')


def _private(path: Path) -> TextIO:
    """A new file of the owner's alone: secrets may be in it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    return os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8")


class _Stream:
    """Documents one after the other."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, _: Found, obj: Object) -> None:
        """Write an object."""
        self._stream.write("---\n" + text_of(obj))


class _Folder:
    """A file for each object: NAMESPACE/KIND.GROUP/NAME.yaml."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, found: Found, obj: Object) -> None:
        """Write an object."""
        assert found.kind is not None  # noqa: S101 (it was chosen by its kind)
        kind, meta = found.kind, obj["metadata"]
        of = f"{kind.resource}.{kind.group}" if kind.group else kind.resource
        place = self._folder / (meta.get("namespace") or "_cluster") / of
        place.mkdir(parents=True, exist_ok=True)
        with _private(place / f"{_file_name(meta['name'])}.yaml") as stream:
            stream.write(text_of(obj))


def _file_name(name: str) -> str:
    """Names of some kinds have colons and the like, which not all file systems take."""
    return "".join(c if c.isalnum() or c in "-._" else f"%{ord(c):02x}" for c in name)


@contextmanager
def _output(options: Namespace) -> Iterator[_Stream | _Folder]:
    output = Path(options.output)
    if options.output == STANDARD:
        yield _Stream(sys.stdout)
    elif output.is_dir() or options.output.endswith("/"):
        yield _Folder(output)
    else:
        beside = output.with_name(f".{output.name}.part")
        try:
            with _private(beside) as stream:
                yield _Stream(stream)
            beside.replace(output)
        finally:
            beside.unlink(missing_ok=True)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such, and lists as people indent them."""

    def ignore_aliases(self, data: Any) -> bool:
        """Everything is written in full."""
        del data
        return True


_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
"""What Kubernetes reads as no text, where PyYAML would write it without quotes; and numbers."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if "\n" in text:
        style = "|"
    elif not text[:1].isalpha() or text.lower() in _WORDS:
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def text_of(obj: Object) -> str:
    """An object as YAML, its identity first."""
    first: Object = {key: obj[key] for key in ("apiVersion", "kind", "metadata") if key in obj}
    whole: Object = {**first, **obj}
    text: str = yaml.dump(whole, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1 << 20)
    return text
