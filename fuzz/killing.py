"""Processes that are killed and paused: servers, and the members of the etcd that they share."""

from __future__ import annotations

import http.client
import random  # noqa: TID251 -- a driver with a seed
import re
import signal
import ssl
import subprocess
import sys
import time  # noqa: TID251 -- processes keep real time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from fuzz.connecting import Connection, dial
from kubetrio.testing.etcd import Etcd, Member, etcd

TOKEN = "history"
PATIENCE_S = 10.0
CALM = ("--heartbeat-interval", "200", "--election-timeout", "2000")
"""Milliseconds: no leader is elected because a busy machine is late."""


class KilledServer:
    """A process that serves one data directory, and may be killed.

    Args:
        folder: for its data, its tokens and its log.
        flags: further flags.
        most_files: bound of its descriptors; None for that of this process.
    """

    def __init__(
        self, folder: Path, flags: Sequence[str], *, most_files: int | None = None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._flags = folder, flags
        self._limit = [] if most_files is None else ["prlimit", f"--nofile={most_files}"]
        tokens = folder / "tokens.csv"
        tokens.write_text(f'{TOKEN},history,history-uid,"system:masters"\n')
        tokens.chmod(0o600)
        self._port = 0
        self.start()

    def start(self) -> None:
        """Start it, on the port that it had.

        Raises:
            RuntimeError: it does not start.
        """
        command = [
            *self._limit, sys.executable, "-m", "kubetrio", "serve",
            "--data-dir", str(self._folder / "data"), "--secure-port", str(self._port),
            "--token-auth-file", str(self._folder / "tokens.csv"), *self._flags,
        ]  # fmt: skip
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        line = self._process.stdout.readline() if self._process.stdout else ""
        found = re.search(r"https://\S+", line)
        if found is None:
            told = (self._folder / "log").read_text(errors="replace")[-2000:]
            raise RuntimeError(f"the server did not start: {line}{told}")
        self._port = urlsplit(found[0]).port or 0

    def connect(self) -> http.client.HTTPSConnection:
        """Make a connection."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection(
            "127.0.0.1", self._port, timeout=PATIENCE_S, context=context
        )

    def dial(self) -> Connection:
        """Make a connection that costs its client little.

        Raises:
            OSError: the server takes none.
        """
        return dial("127.0.0.1", self._port, PATIENCE_S)

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    @property
    def ended(self) -> bool:
        """Whether it has ended by itself."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """End it without a word, and start it again."""
        self._process.kill()
        self._process.wait()
        self.start()

    def pause(self, seconds: float) -> None:
        """Stop it for a moment."""
        self._process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End it in order."""
        self._process.terminate()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Processes:
    """Servers, and the etcd that they share if they do; made by `running`.

    Args:
        servers: all of them serve the same objects.
        cluster: the etcd, None for a server that stores objects itself.
        rng: chooses faults.

    Attributes:
        faults: how many there were, by kind.
    """

    def __init__(
        self, servers: Sequence[KilledServer], cluster: Etcd | None, rng: random.Random
    ) -> None:
        self.servers = servers
        self.faults: Counter[str] = Counter()
        self._cluster = cluster
        self._rng = rng

    def fault(self) -> None:
        """Kill or pause a process, and have it run again."""
        server = self._rng.choice(self.servers)
        kinds: dict[str, Callable[[], None]] = {
            "server killed": server.kill,
            "server paused": lambda: server.pause(0.1 + self._rng.random() * 2),
        }
        if self._cluster is not None:
            members = self._cluster.members
            kinds["member killed"] = lambda: self._kill(self._rng.sample(members, 1))
            kinds["member paused"] = lambda: self._pause(self._rng.choice(members))
            if len(members) > 1:
                most = len(members) // 2 + 1
                kinds["majority killed"] = lambda: self._kill(self._rng.sample(members, most))
        kind = self._rng.choice(list(kinds))
        kinds[kind]()
        self.faults[kind] += 1

    def _kill(self, members: Sequence[Member]) -> None:
        assert self._cluster is not None
        for member in members:
            member.kill()
        time.sleep(self._rng.random() * 2)
        for member in members:
            self._cluster.launch(member)
        for member in members:
            self._cluster.wait_healthy(member)

    def _pause(self, member: Member) -> None:
        member.signal(signal.SIGSTOP)
        time.sleep(0.1 + self._rng.random() * 3)
        member.signal(signal.SIGCONT)

    def ended(self) -> list[int]:
        """Return the numbers of servers that have ended by themselves."""
        return [number for number, server in enumerate(self.servers) if server.ended]


@contextmanager
def running(
    folder: Path, *, servers: int, members: int, flags: Sequence[str], rng: random.Random
) -> Iterator[Processes]:
    """Servers for as long as the block lasts.

    Args:
        folder: for their data.
        servers: number of them; one, or replicas on an etcd.
        members: number of members of etcd, 0 for none.
        flags: further flags of each server.
        rng: chooses faults.
    """
    with ExitStack() as stack:
        cluster: Etcd | None = None
        if members:
            cluster = stack.enter_context(etcd(folder / "etcd", *CALM, members=members))
            flags = (*flags, "--etcd-servers", ",".join(cluster.urls))
        started = []
        for number in range(servers):
            server = KilledServer(folder / f"server{number}", flags)
            stack.callback(server.stop)
            started.append(server)
        yield Processes(started, cluster, rng)
