"""Replay recorded conversations of a kube-apiserver that must pass, listed in scenarios.txt.

Usage: ``python .ci/conformance.py CONFORMANCE_DIR [--update] [--replicas N]``; the list only ever
grows.  ``--update`` adds every scenario that passes now.  With ``--replicas`` several servers on an
etcd answer behind a TCP balancer, and each request has a connection of its own, so that it goes to
another server than the one before.  What is waited for may take longer there: each write is on the
disk of an etcd, and in the tables of all replicas.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kubetrio.testing.etcd import etcd

Scenario = dict[str, Any]
HERE = Path(__file__).resolve().parent
LIST = HERE / "scenarios.txt"
TOKENS = (
    'ci-admin,admin,admin-uid,"system:masters"\n'
    'ci-alice,alice,alice-uid,"devs"\n'
    'ci-bob,bob,bob-uid,"devs"\n'
)
REFUSAL = frozenset({"/message", "/details/kind", "/details/group", "/details/name"})
DIFFERENT = (
    (
        "auth-impersonate-*",
        REFUSAL,
        "a refusal tells of the mode of impersonation that this server remembers for the user",
    ),
    (
        "auth-*",
        frozenset({"/metadata/creationTimestamp"}),
        "a TokenRequest has the uid of its account and its own time, some seconds later",
    ),
)
"""What differs on several servers, and would on several kube-apiservers: names of scenarios, paths
in answers, and why."""
SHARED = ("ca.*", "front-proxy-ca.*", "sa.*")  # files that all replicas need


def replay(
    conformance: Path, url: str, tokens: Path, names: list[str], report: Path, *, apart: bool
) -> int:
    """Run the recordings; returns the exit code of the replayer.

    Args:
        conformance: folder of the replayer and its recordings.
        url: of the server.
        tokens: its users.
        names: scenarios, all if empty.
        report: file that is written.
        apart: whether each request has a connection of its own.
    """
    only = [part for name in names for part in ("--only", name)]
    goldens = sorted(str(path) for path in (conformance / "golden").glob("*.json"))
    command = [
        sys.executable, *((str(HERE / "replay_apart.py"),) if apart else ()),
        str(conformance / "replay.py"), "check", "--server", url, "--insecure",
        "--token-file", str(tokens), "--quiet", "--jobs", "4", "--max-wait", "10" if apart else "2",
        "--json", str(report), *only, *goldens,
    ]  # fmt: skip
    return subprocess.run(command, check=False, timeout=1800 if apart else 900).returncode


def explained(entry: Scenario) -> list[str] | None:
    """Return why a scenario differs on several servers, None where that explains not all of it.

    Args:
        entry: of the replayer's report.
    """
    reasons: list[str] = []
    for failure in entry["failures"]:
        for diff in failure["diffs"]:
            found = [
                why
                for pattern, paths, why in DIFFERENT
                if fnmatch(entry["name"], pattern) and diff["path"] in paths
            ]
            if not found:
                return None
            reasons += found
    return sorted(set(reasons))


def judged(scenarios: Sequence[Scenario]) -> int:
    """Tell why scenarios differ on several servers; returns how many do without a reason."""
    count = 0
    for entry in scenarios:
        if entry["failed"]:
            reasons = explained(entry)
            count += reasons is None
            print(f"{entry['name']}:", "NOT EXPLAINED" if reasons is None else "; ".join(reasons))
    return count


def started(stack: ExitStack, command: Sequence[str], pattern: str) -> str:
    """Start a program that ends with the stack, and return what its first line says.

    Args:
        stack: ends it.
        command: its command line.
        pattern: what to find in the line.

    Raises:
        SystemExit: it did not start.
    """
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    stack.callback(process.wait, timeout=30)
    stack.callback(process.terminate)
    line = process.stdout.readline() if process.stdout else ""
    found = re.search(pattern, line)
    if found is None:
        raise SystemExit(f"{command} did not start: {line}")
    return found[0]


def serve(stack: ExitStack, data: Path, tokens: Path, *flags: str) -> str:
    """Start a server as the kube-apiserver was started that was recorded; returns its URL."""
    command = [
        sys.executable, "-m", "kubetrio", "serve", "--data-dir", str(data), "--secure-port", "0",
        "--token-auth-file", str(tokens), "--disable-admission-plugins=ServiceAccount",
        "--allow-privileged=false", *flags,
    ]  # fmt: skip
    return started(stack, command, r"https://\S+")


def serve_replicas(stack: ExitStack, folder: Path, tokens: Path, count: int) -> str:
    """Start replicas on an etcd, and a balancer before them; returns its URL."""
    cluster = stack.enter_context(etcd(folder / "etcd"))
    urls = []
    for number in range(count):
        data = folder / f"data{number}"
        if number:
            (data / "pki").mkdir(parents=True)
            for pattern in SHARED:
                for file in (folder / "data0" / "pki").glob(pattern):
                    shutil.copy2(file, data / "pki")
        urls.append(serve(stack, data, tokens, "--etcd-servers", ",".join(cluster.urls)))
    servers = [urlsplit(url).netloc for url in urls]
    command = [sys.executable, "-m", "kubetrio.testing.balancer", *servers]
    return f"https://{started(stack, command, r'[0-9.]+:[0-9]+')}"


def main(arguments: Sequence[str]) -> int:
    """Start a server, replay, compare with the list."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("conformance", type=Path, help="folder of the replayer")
    parser.add_argument("--update", action="store_true", help="add what passes to the list")
    parser.add_argument("--replicas", type=int, default=0, help="servers on an etcd (0: one alone)")
    parser.add_argument("--json", type=Path, help="write the replayer's report there")
    parser.add_argument("--only", action="append", help="scenarios in place of the list")
    options = parser.parse_args(arguments)
    conformance, apart = options.conformance.resolve(), bool(options.replicas)
    must = options.only or (LIST.read_text().split() if LIST.exists() else [])
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        tokens = folder / "tokens.csv"
        tokens.write_text(TOKENS)
        if options.replicas:
            url = serve_replicas(stack, folder, tokens, options.replicas)
        else:
            url = serve(stack, folder / "data", tokens)
        report = options.json or folder / "report.json"
        code = replay(conformance, url, tokens, [] if options.update else must, report, apart=apart)
        scenarios = json.loads(report.read_text())["scenarios"]
        if not options.update:
            # An address given at random may be one that a scenario names, which the replayer
            # then takes for a literal: what is wrong is wrong twice.
            again = [entry["name"] for entry in scenarios if entry["failed"]]
            if code and again:
                print("once more:", *again)
                code = replay(conformance, url, tokens, again, report, apart=apart)
                if apart:
                    return int(judged(json.loads(report.read_text())["scenarios"]) > 0)
            return code
        passing = {entry["name"] for entry in scenarios if not entry["failed"]}
        LIST.write_text("\n".join(sorted(passing | set(must))) + "\n")
        print(f"{len(passing)} of {len(scenarios)} scenarios pass")
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
