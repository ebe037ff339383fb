"""Faults: which processes they are made of, and that all run again afterwards."""

from __future__ import annotations

import random  # noqa: TID251 -- a driver with a seed
import signal
from typing import cast

import pytest

from fuzz.killing import KilledServer, Processes
from kubetrio.testing.etcd import Etcd


class Server:
    """Notes what is done to it."""

    def __init__(self, log: list[str]) -> None:
        self._log = log
        self.ended = False

    def kill(self) -> None:
        self._log.append("server killed")

    def pause(self, seconds: float) -> None:
        assert 0 < seconds < 5
        self._log.append("server paused")


class Member:
    """Notes what is done to it.

    Attributes:
        runs: whether it runs, and is not paused.
    """

    def __init__(self) -> None:
        self.runs = True

    def kill(self) -> None:
        self.runs = False

    def signal(self, number: signal.Signals) -> None:
        self.runs = number == signal.SIGCONT


class Cluster:
    """Members."""

    def __init__(self, count: int) -> None:
        self.members = [Member() for _ in range(count)]

    def launch(self, member: Member) -> None:
        member.runs = True

    def wait_healthy(self, member: Member) -> None:
        assert all(each.runs for each in self.members)
        del member


@pytest.mark.parametrize("members", [0, 1, 3])
def test_all_runs_again(members: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of fault comes, members are counted, and none of them stays away."""
    monkeypatch.setattr("fuzz.killing.time.sleep", lambda _: None)
    log: list[str] = []
    cluster = Cluster(members) if members else None
    processes = Processes(
        cast("list[KilledServer]", [Server(log)]), cast("Etcd | None", cluster), random.Random(1)
    )
    for _ in range(60):
        processes.fault()
        assert cluster is None or all(member.runs for member in cluster.members)
    kinds = {"server killed", "server paused"}
    if members:
        kinds |= {"member killed", "member paused"}
    if members > 1:
        kinds.add("majority killed")
    assert set(processes.faults) == kinds
    assert processes.faults.total() == 60
    assert len(log) == processes.faults["server killed"] + processes.faults["server paused"]


def test_a_server_that_ends_by_itself_is_told() -> None:
    """By its number."""
    servers = [Server([]), Server([])]
    servers[1].ended = True
    processes = Processes(cast("list[KilledServer]", servers), None, random.Random(1))
    assert processes.ended() == [1]
