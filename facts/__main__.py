"""The command line; see ``python -m facts --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from facts import (
    check,
    compare,
    etcd,
    generate,
    help_text,
    scaffold,
    server,
    source,
    storage,
    stubs,
)
from facts.client import Client, from_kubeconfig, target
from facts.documents import dump

SCHEMAS = Path(__file__).resolve().parent.parent / "schemas"

ABOUT = """\
Make the facts of schemas/ again, from a Kubernetes release and a running kube-apiserver.

The way to a new version, each step a command of this program:

  git clone --depth 1 --branch v1.37.0 https://github.com/kubernetes/kubernetes
  python -m facts source kubernetes inputs-1.37
  kube-apiserver --help > help.txt; python -m facts flags help.txt inputs-1.37
  python -m facts server inputs-1.37 --kubeconfig admin.conf --private
  python -m facts generate inputs-1.37 new-schemas
  python -m facts diff schemas new-schemas

The last one prints what the new version has, lacks and does differently.
For a kind that is new,

  python -m facts scaffold scheduling.k8s.io Workload
  python -m facts check

write the skeleton of what is said of it by hand, and print what is missing of any kind.
The messages of etcd are facts too; they are read from a checkout of it:

  python -m facts etcd etcd

Types of built-in objects for Python programs are made of the facts that are there:

  python -m facts stubs

Where and in which version kinds are kept in etcd is compared with upstream's test of that:

  python -m facts storage kubernetes

schemas/README.md describes every input and every file, and what is left to do by hand.
"""
SOURCE = """\
Read what upstream publishes in its source tree: OpenAPI documents and discovery documents of all
versions (api/), generated.proto files with the Go types beside them (staging/), the strategies and
the registration of kinds (pkg/), the list of metrics (test/instrumentation).  Nothing is run.
"""
SERVER = """\
Ask a running kube-apiserver of any version: discovery, types, operations, columns of tables,
objects it made by itself, field selectors, names, defaults and metrics.

Use a server that was just started on empty storage, with no other client and no controllers:
what it holds is taken for what every server has.  It is left as it was: a ServiceAccount that Pods
need is deleted at the end, and all other writes are dry runs; but with --private, it can be used
for nothing else afterwards.  The user must be allowed everything (group system:masters).
"""
FLAGS = """\
Read flags and feature gates from what kube-apiserver --help prints ("-" reads standard input).
"""
GENERATE = """\
Turn inputs into the data files of schemas/.  The folder needs what source, server and flags made.
Files written by hand (schemas/README.md lists them) are not touched.
"""
DIFF = """\
Print what differs between two versions: kinds, fields, protobuf numbers, verbs, columns, defaults,
flags, metrics.  OLD and NEW are folders of inputs, or of generated files; "+" is only in NEW, "-"
only in OLD, "~" changed.  Exits with 1 if anything differs, as diff does.
"""
SCAFFOLD = """\
Write the skeleton of a new built-in kind: a module of its group's folder in kubetrio/kinds, with
its checks, defaults, printer and selectable fields, and a row in the kinds.py of the folder, which
is made where there is none.  What is missing then is said by check.
"""
ETCD = """\
Write the numbers of the fields of etcd's messages into the module of the package that has them.
They are read from the .proto files in a checkout of etcd (api/); nothing is run.
"""
STUBS = """\
Write a stub for type checkers for each package of types, of the facts in schemas/: a TypedDict for
each kind and what it consists of.
"""
STORAGE = """\
Print what differs between the folders and versions in which kube-apiserver keeps kinds in etcd, by
its own test (test/integration/etcd/data.go of a checkout), and those of this server.  Nothing is
printed, and the exit code is 0, if nothing differs.
"""
CHECK = """\
Print what is missing of built-in kinds: types, list types, protobuf messages, columns, selectable
fields, conversions, and what the values of kinds name that is not there.  Nothing is printed, and
the exit code is 0, if nothing is.
"""


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    top = argparse.ArgumentParser(
        prog="python -m facts",
        description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, about: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name,
            help=about.partition(":")[0].partition(".")[0].replace("\n", " "),
            description=about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    made = command("source", SOURCE)
    made.add_argument("tree", type=Path, help="root of a Kubernetes checkout")
    made.add_argument("inputs", type=Path, help="folder to write to")
    made = command("server", SERVER)
    made.add_argument("inputs", type=Path, help="folder to write to")
    made.add_argument("--kubeconfig", type=Path, help="use its current context")
    made.add_argument("--server", help="or: address, such as https://127.0.0.1:6443")
    made.add_argument("--token", default="", help="bearer token, with --server")
    made.add_argument("--certificate-authority", default="", help="file of the server's CA")
    made.add_argument(
        "--insecure-skip-tls-verify", action="store_true", help="trust any certificate"
    )
    made.add_argument(
        "--private",
        action="store_true",
        help="also store and delete objects, to see what updates and deletions do; some stay",
    )
    made = command("flags", FLAGS)
    made.add_argument("help_text", help='file with the output of --help, or "-"')
    made.add_argument("inputs", type=Path, help="folder to write to")
    made = command("generate", GENERATE)
    made.add_argument("inputs", type=Path, help="folder of inputs")
    made.add_argument(
        "output", type=Path, nargs="?", default=SCHEMAS, help="folder to write to; schemas/"
    )
    made = command("diff", DIFF)
    made.add_argument("old", type=Path, metavar="OLD")
    made.add_argument("new", type=Path, metavar="NEW")
    command("check", CHECK)
    made = command("scaffold", SCAFFOLD)
    made.add_argument("group", help='API group, such as scheduling.k8s.io; "" for the core group')
    made.add_argument("kind", help="such as PriorityClass")
    made.add_argument("--plural", default="", help="name of the resource, if facts do not know it")
    made = command("etcd", ETCD)
    made.add_argument("tree", type=Path, help="root of a checkout of etcd")
    made.add_argument(
        "output", type=Path, nargs="?", default=etcd.MODULE, help="the module; that of the package"
    )
    made = command("stubs", STUBS)
    made.add_argument(
        "output", type=Path, nargs="?", default=stubs.FOLDER, help="folder; that of the package"
    )
    made = command("storage", STORAGE)
    made.add_argument("tree", type=Path, help="root of a Kubernetes checkout")
    return top


def _flags(arguments: argparse.Namespace) -> Iterator[str]:
    name = arguments.help_text
    text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    found = {"flags": help_text.flags(text), "featureGates": help_text.feature_gates(text)}
    if not found["flags"]:
        raise ValueError(f"{name}: no flags; is it the output of kube-apiserver --help?")
    dump(arguments.inputs / "flags.json", found)
    yield "flags"


def _server(arguments: argparse.Namespace) -> Iterator[str]:
    if bool(arguments.kubeconfig) == bool(arguments.server):
        raise ValueError("give one of --kubeconfig and --server")
    where = (
        from_kubeconfig(arguments.kubeconfig)
        if arguments.kubeconfig
        else target(
            arguments.server,
            arguments.token,
            arguments.certificate_authority,
            insecure=arguments.insecure_skip_tls_verify,
        )
    )
    with Client(where) as client:
        yield from server.make(client, arguments.inputs, private=arguments.private)


def run(arguments: argparse.Namespace) -> Iterator[str]:
    """Do a command; yields what to print.

    Raises:
        LookupError: the server refuses a request, or a kubeconfig lacks something.
        OSError: a file is not there, or the server cannot be reached.
        ValueError: an argument or a document is not what it should be.
    """
    match arguments.command:
        case "source":
            yield from source.make(arguments.tree, arguments.inputs)
        case "server":
            yield from _server(arguments)
        case "flags":
            yield from _flags(arguments)
        case "generate":
            yield from generate.generate(arguments.inputs, arguments.output)
        case "diff":
            yield from compare.compare(arguments.old, arguments.new)
        case "check":
            yield from check.check()
        case "etcd":
            yield from etcd.make(arguments.tree, arguments.output)
        case "stubs":
            yield from stubs.make(arguments.output)
        case "storage":
            yield from storage.check(arguments.tree)
        case "scaffold":
            yield from scaffold.scaffold(arguments.group, arguments.kind, arguments.plural)


def main(argv: list[str] | None = None) -> int:
    """Run; returns the exit code: 2 for what went wrong, 1 for differences and missing parts."""
    arguments = parser().parse_args(argv)
    said = False
    try:
        for line in run(arguments):
            print(line)
            said = True
    except (LookupError, OSError, ValueError) as error:
        print(f"{arguments.command}: {error}", file=sys.stderr)
        return 2
    return int(said and arguments.command in ("diff", "check", "storage"))


if __name__ == "__main__":
    sys.exit(main())
