"""What envtest starts as ``kube-apiserver``: ``kubetrio serve`` with the flags that it means.

Flags go through as they are, but for

- ``--etcd-servers``: our `etcd` is asked there where the data directory is;
- ``--cert-dir``: where kube-apiserver finds ``apiserver.crt`` and ``apiserver.key`` there, it
  serves with them.  Keys of kubetrio's own go to the data directory then;
- ``--insecure-port`` and ``--insecure-bind-address`` of old releases, where they ask for nothing;
- empty arguments, which are what templates of old releases leave.

What kube-apiserver has not is switched off unless a flag says otherwise: controllers, which
kube-controller-manager runs in a cluster and envtest has not.  Privileged containers are
refused unless ``--allow-privileged`` is given, which envtest gives: the flag's default is
kube-apiserver's here, and not that of ``kubetrio serve``.

Source: controller-runtime, controlplane.APIServer and process.State; KubeAPIServerProcess of
java-operator-sdk/jenvtest and of fabric8's kube-api-test.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep  # noqa: TID251  (there is no event loop yet)
from typing import Any
from urllib.parse import urlsplit

from kubetrio.cli.envtest.etcd import DIRECTORY, FSYNC, WHERE

FOLDER = "kubetrio"
"""Of etcd's data directory."""
PAIR = ("apiserver.crt", "apiserver.key")
ASKING_S = 10.0
POLL_S = 0.02
TAKEN = frozenset({"etcd-servers", "cert-dir", "insecure-port", "insecure-bind-address"})


class Mistake(Exception):
    """Flags that cannot be served; the text is one line about them."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of kube-apiserver, sorted.

    Args:
        taken: the flags that are `TAKEN`, with their last values.
        names: of the flags that go through.
        through: arguments that go through, in order.
    """

    taken: dict[str, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    through: list[str] = field(default_factory=list)


def sort(arguments: Sequence[str]) -> Arguments:
    """Take those that mean something else here."""
    args = Arguments()
    rest = [argument for argument in arguments if argument]
    while rest:
        argument = rest.pop(0)
        name, given, value = argument.removeprefix("--").partition("=")
        if not argument.startswith("--") or name not in TAKEN:
            args.through.append(argument)
            if argument.startswith("--"):
                args.names.add(name)
            continue
        if not given and rest and not rest[0].startswith("--"):
            value = rest.pop(0)
        args.taken[name] = value
    return args


def translated(found: Arguments, kept: Mapping[str, Any]) -> list[str]:
    """Arguments of ``kubetrio serve``.

    Args:
        found: arguments of kube-apiserver.
        kept: what our etcd says.
    """
    data = Path(kept[DIRECTORY], FOLDER)
    ours = [f"--data-dir={data}"]
    cert_dir = found.taken.get("cert-dir", "")
    pair = [Path(cert_dir, name) for name in PAIR]
    if cert_dir and "tls-cert-file" not in found.names and all(file.exists() for file in pair):
        ours += [f"--tls-cert-file={pair[0]}", f"--tls-private-key-file={pair[1]}"]
    elif cert_dir:
        ours.append(f"--cert-dir={cert_dir}")
    if "allow-privileged" not in found.names:  # envtest gives it; what else starts this may not
        ours.append("--allow-privileged=false")
    if "controllers" not in found.names:
        ours.append("--controllers=-*")
    if "durability" not in found.names and not kept[FSYNC]:
        ours.append("--durability=normal")
    return [*ours, *found.through]


def refuse_insecure(found: Arguments) -> None:
    """Refuse a port without TLS.

    Raises:
        Mistake: one is asked for.
    """
    port = found.taken.get("insecure-port", "")
    if port not in ("", "0"):
        raise Mistake(
            f"--insecure-port={port}: there is no port without TLS, as in kube-apiserver since "
            "1.20; use controller-runtime 0.9 or newer, and no APIServer.URL"
        )


def ask(servers: str) -> dict[str, Any]:
    """What our etcd says of itself; it may still be starting.

    Args:
        servers: value of ``--etcd-servers``.

    Raises:
        Mistake: no server answers, or another one.
    """
    if not servers:
        raise Mistake("--etcd-servers is missing: it says where the data directory is")
    until = monotonic() + ASKING_S
    url = servers.partition(",")[0].strip()
    parts = urlsplit(url)
    try:
        host, port = parts.hostname or "localhost", parts.port or 2379
    except ValueError as error:
        raise Mistake(f"--etcd-servers: {url}: {error}") from None
    request = f"GET {WHERE} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n"
    while True:
        try:
            with socket.create_connection((host, port), timeout=ASKING_S) as one:
                one.sendall(request.encode())
                answer = b"".join(iter(lambda: one.recv(65536), b""))
            break
        except OSError as error:
            if monotonic() > until:
                raise Mistake(f"--etcd-servers: {url} does not answer: {error}") from error
            sleep(POLL_S)
    try:
        kept = json.loads(answer.partition(b"\r\n\r\n")[2])
        return {DIRECTORY: kept[DIRECTORY], FSYNC: kept[FSYNC]}
    except (ValueError, KeyError, TypeError):
        raise Mistake(
            f"--etcd-servers: {url} is not the etcd of kubetrio envtest-assets; "
            "take both programs from one directory"
        ) from None


def main(arguments: Sequence[str]) -> int:
    """Serve until a signal; returns the exit code.

    Args:
        arguments: those of the command line, without the program.
    """
    from kubetrio.cli.commands import main as kubetrio

    if {"--help", "-h"} & set(arguments):
        return kubetrio(["serve", "--help"])
    if "--version" in arguments or "--version=true" in arguments:
        from kubetrio.api.pages.documents import GIT_VERSION

        print(f"Kubernetes {GIT_VERSION}")
        return 0
    args = sort(arguments)
    try:
        refuse_insecure(args)
        kept = ask(args.taken.get("etcd-servers", ""))
    except Mistake as problem:
        print(f"kube-apiserver: {problem}", file=sys.stderr)
        return 1
    return kubetrio(["serve", *translated(args, kept)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
