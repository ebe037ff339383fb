"""``kubetrio diff``: what changed between two revisions, of an object or of everything."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

import trio

from kubetrio.cli.arguments import add_data_dir
from kubetrio.cli.common import (
    Failure,
    Named,
    add_encryption,
    add_object,
    describe,
    key_of,
    object_of,
    told,
    whole,
)
from kubetrio.cli.progress import BOLD, CYAN, GREEN, RED, painted
from kubetrio.flags import parser as flags
from kubetrio.resources.timeline import time_text

if TYPE_CHECKING:
    from argparse import Namespace

    from kubetrio.cli.commands import Call
    from kubetrio.datadir.objects import Moment
    from kubetrio.schema.kind import Kind
    from kubetrio.store.past import Past

EXAMPLES = """\
  kubetrio diff cm/settings                   what the last write changed
  kubetrio diff deploy/web -n shop --from 1200 --to 1300
  kubetrio diff --from 1200                   which objects changed since then
"""
COLOURS = {"---": BOLD, "+++": BOLD, "@@": CYAN, "+": GREEN, "-": RED}
SIGNS = {"created": ("+", GREEN), "changed": ("~", CYAN), "deleted": ("-", RED)}


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    describe(
        parser,
        "Show what changed between two revisions that the server still remembers, from its data\n"
        "directory, whether it runs or not: of an object as a unified diff of YAML, and without\n"
        "one which objects were created, changed and deleted.",
        EXAMPLES,
    )
    add_object(parser)
    parser.add_argument(
        "--from",
        dest="since",
        type=whole,
        metavar="REVISION",
        help="the state before (default: what the newest change replaced)",
    )
    parser.add_argument(
        "--to", dest="upto", type=whole, metavar="REVISION", help="that after (default: now)"
    )
    parser.add_argument(
        "--show-managed-fields",
        action="store_true",
        help="show metadata.managedFields and resourceVersion too",
    )
    add_data_dir(parser)
    add_encryption(parser)


@told
def run(call: Call) -> int:
    """Show what changed."""
    options = call.options
    named = object_of(options)
    if named is None and options.since is None:
        options.parser.error("--from is needed where no object is named")
    return trio.run(_run, options, named)


async def _run(options: Namespace, named: Named | None) -> int:
    from kubetrio.datadir.objects import open_moment
    from kubetrio.env import Env

    async with open_moment(options.data_dir, Env(), options.encryption_provider_config) as moment:
        upto = moment.revision if options.upto is None else options.upto
        for revision in (options.since, upto):
            _refuse_unknown(moment, revision)
        if options.since is not None and options.since > upto:
            raise Failure(f"--from {options.since} is after --to {upto}: give the older one first")
        if named is None:
            await _everything(moment, options.since, upto)
        else:
            await _one(moment, options, named, upto)
    return 0


def _refuse_unknown(moment: Moment, revision: int | None) -> None:
    if revision is not None and not moment.compacted <= revision <= moment.revision:
        raise Failure(
            f"revision {revision} is not known: from {moment.compacted} to {moment.revision} are; "
            "kubetrio serve --history-window keeps more"
        )


async def _everything(moment: Moment, since: int, upto: int) -> None:
    """A line for each object that is not as it was."""
    paint = painted(sys.stdout)
    for key in sorted(await moment.changed(since, upto)):
        kind = moment.kinds.of(key)
        if kind is None:
            continue
        before, after = await moment.at(key, since), await moment.at(key, upto)
        if before is None and after is None:
            continue  # it came and went
        what = "created" if before is None else "deleted" if after is None else "changed"
        sign, colour = SIGNS[what]
        namespace, _, name = key.removeprefix(kind.storage_prefix).rpartition("/")
        print(paint(f"{sign} {_named(kind, namespace, name)}", colour))


def _named(kind: Kind, namespace: str, name: str) -> str:
    """An object as ``kubectl get --output name`` writes it, and the flag of its namespace."""
    typed = f"{kind.singular}.{kind.group}" if kind.group else kind.singular
    return f"{typed}/{name} -n {namespace}" if namespace else f"{typed}/{name}"


async def _one(moment: Moment, options: Namespace, named: Named, upto: int) -> None:
    key = key_of(moment.kinds, named, options.namespace)
    past = await moment.revisions_of(key)
    since = options.since
    if since is None:
        known = [one.revision for one in past if one.revision <= upto]
        if not known:
            raise Failure(f"nothing is known of {named} up to {upto}")
        since = known[-1] - 1
        if since < moment.compacted:
            raise Failure(
                f"what revision {known[-1]} of {named} replaced is not kept "
                "any more; kubetrio serve --history-window keeps more"
            )
    texts = []
    for revision in (since, upto):
        state = await moment.at(key, revision)
        if state is not None and state.value is None:
            raise Failure(f"{named} is encrypted: give the server's --encryption-provider-config")
        value = None if state is None else state.value
        texts.append(list(_lines(value, managed=options.show_managed_fields)))
    kind = moment.kinds.named(named.kind)
    title = _named(kind, options.namespace if kind.namespaced else "", named.name)
    names = [f"{title} at revision {revision}" for revision in (since, upto)]
    dates = [_date(past, revision) for revision in (since, upto)]
    paint = painted(sys.stdout)
    (before, after), (old, new), (since_date, upto_date) = texts, names, dates
    for line in unified_diff(before, after, old, new, since_date, upto_date, lineterm=""):
        colour = next((code for start, code in COLOURS.items() if line.startswith(start)), "")
        print(paint(line, colour) if colour else line)


def _date(past: Sequence[Past], revision: int) -> str:
    """When the state at a revision was written, as far as that is known."""
    dates = [time_text(one.at_ms) for one in past if one.revision <= revision]
    return dates[-1] if dates else ""


def _lines(value: dict[str, Any] | None, *, managed: bool) -> Iterator[str]:
    """An object as lines of YAML; none where there is no object."""
    from kubetrio.wire import yamlwire

    if value is None:
        return
    if not managed:
        hidden = ("managedFields", "resourceVersion")
        meta = {name: of for name, of in value["metadata"].items() if name not in hidden}
        value = {**value, "metadata": meta}
    yield from yamlwire.encode(value).decode().splitlines()
