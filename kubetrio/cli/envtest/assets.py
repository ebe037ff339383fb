"""``kubetrio envtest-assets``: a directory for ``KUBEBUILDER_ASSETS``."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kubetrio import __version__

if TYPE_CHECKING:
    from kubetrio.cli.commands import Call
    from kubetrio.flags.parser import Parser

MARK = "# made by kubetrio envtest-assets"
PROGRAMS = {"kube-apiserver": "apiserver", "etcd": "etcd"}
"""What is laid, and the module of this package that it runs."""
KUBECTL = "kubectl"


class Foreign(Exception):
    """There is another program already; the text says where."""


def add(parser: Parser) -> None:
    """One directory."""
    parser.description = (
        "Lay kube-apiserver, etcd and kubectl into a directory, as envtest of controller-runtime "
        "looks for them in KUBEBUILDER_ASSETS. The first is this kubetrio, the second only says "
        "where the first keeps its data, the third is a link to the kubectl on PATH."
    )
    parser.epilog = """\
examples:
  kubetrio envtest-assets bin/k8s
  KUBEBUILDER_ASSETS="$PWD/bin/k8s" go test ./...
"""
    parser.add_argument("directory", metavar="DIR", type=Path, help="made when missing")


def run(call: Call) -> int:
    """Lay them; the exit code is 1 where a file cannot be written or is of another program."""
    call.refuse_rest()
    directory: Path = call.options.directory.absolute()
    if os.name != "posix":
        print("kubetrio: the programs of envtest are shell scripts here", file=sys.stderr)
        return 1
    try:
        lay(directory, sys.executable)
        kubectl = link_kubectl(directory, os.environ.get("PATH", os.defpath))
    except Foreign as problem:
        print(f"kubetrio: {problem}", file=sys.stderr)
        return 1
    except OSError as problem:
        print(f"kubetrio: {problem.strerror}: {problem.filename}", file=sys.stderr)
        return 1
    if kubectl is None:
        print(
            f"kubetrio: no kubectl on PATH; tests that run it need one at {directory / KUBECTL}",
            file=sys.stderr,
        )
    print(f"export KUBEBUILDER_ASSETS={shlex.quote(str(directory))}")
    return 0


def script(module: str, python: str) -> str:
    """A program that runs a module of this package, in the process that was started.

    Args:
        module: its last name.
        python: path of the interpreter that has kubetrio.
    """
    return (
        f"#!/bin/sh\n{MARK} of kubetrio {__version__}\n"
        # -P: tests run in directories of others, which are no place to import from.
        f'exec {shlex.quote(python)} -P -m kubetrio.cli.envtest.{module} "$@"\n'
    )


def lay(directory: Path, python: str) -> None:
    """Write the programs; a running one is not disturbed.  Blocking.

    Args:
        directory: made when missing.
        python: path of the interpreter that has kubetrio.

    Raises:
        Foreign: a file of that name is not ours; nothing is written then.
        OSError: a file cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        program = directory / name
        if program.exists() and MARK.encode() not in program.read_bytes()[:200]:
            raise Foreign(f"{program} is another program; choose another directory")
    for name, module in PROGRAMS.items():
        new = directory / f".{name}.{os.getpid()}"
        new.write_text(script(module, python))
        new.chmod(0o755)
        new.replace(directory / name)


def link_kubectl(directory: Path, path: str) -> Path | None:
    """Link the first kubectl on a path, unless there is one in the directory already.  Blocking.

    Args:
        directory: where the link goes.
        path: directories with colons between them.

    Returns:
        The kubectl in the directory, None where none was found.

    Raises:
        OSError: the link cannot be made.
    """
    link = directory / KUBECTL
    if link.exists():
        return link
    kubectl = shutil.which(KUBECTL, path=path)
    if kubectl is None:
        return None
    link.unlink(missing_ok=True)  # it leads nowhere
    link.symlink_to(Path(kubectl).absolute())
    return link
