"""A service manager is told what systemd's manual pages say, and its sockets are taken."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.cli.systemd import ActivationError, Manager, _listening, passed

PID = 4321


def test_without_a_manager_nothing_is_sent() -> None:
    """And nothing fails."""
    manager = Manager.of({}, PID)
    assert manager == Manager()
    manager.tell("READY=1")


@pytest.mark.parametrize("address", ["vsock:2:1", "relative", ""])
def test_an_address_of_another_kind_is_left_alone(address: str) -> None:
    """As where the manager is outside of a virtual machine."""
    assert Manager.of({"NOTIFY_SOCKET": address}, PID).address == ""


def test_a_manager_that_has_gone_stops_nothing(tmp_path: Path) -> None:
    """Its socket is not there."""
    Manager(str(tmp_path / "none")).tell("READY=1")


@pytest.mark.parametrize("abstract", [False, True])
def test_assignments_are_lines_of_a_datagram(tmp_path: Path, abstract: bool) -> None:
    """On a path or in the abstract namespace; those that the process starts do not hear of it."""
    name = f"@kubetrio-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{name[1:]}" if abstract else name)
        manager.settimeout(5)
        environ = {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "1000000", "OTHER": "x"}
        made = Manager.of(environ, PID)
        assert environ == {"OTHER": "x"}
        made.tell("READY=1", "STATUS=x")
        assert manager.recv(100) == b"READY=1\nSTATUS=x"


async def test_signs_of_life_come_twice_in_the_time(tmp_path: Path, mock_clock: MockClock) -> None:
    """The first at once."""
    name = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name)
        manager.settimeout(5)
        made = Manager.of({"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "20000000"}, PID)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(made.live)
            for _ in range(3):
                await wait_all_tasks_blocked()
                assert manager.recv(100) == b"WATCHDOG=1"
                manager.setblocking(False)
                with pytest.raises(BlockingIOError):
                    manager.recv(100)
                manager.settimeout(5)
                mock_clock.jump(10)
            nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({}, 0),
        ({"WATCHDOG_USEC": "3000000"}, 3),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": str(PID)}, 3),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}, 0),
        ({"WATCHDOG_USEC": "soon"}, 0),
    ],
)
def test_the_watchdog_is_for_one_process(environ: dict[str, str], seconds: float) -> None:
    """If it says for which."""
    assert Manager.of(environ, PID).watchdog_s == seconds


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"LISTEN_FDS": "1"},
        {"LISTEN_FDS": "1", "LISTEN_PID": "1"},
        {"LISTEN_FDS": "0", "LISTEN_PID": str(PID)},
        {"LISTEN_FDS": "x", "LISTEN_PID": str(PID)},
    ],
)
def test_sockets_of_others_are_not_taken(environ: dict[str, str]) -> None:
    """Without a number, or for another process; the variables go in any case."""
    assert passed(environ, PID) is None
    assert environ == {}


@pytest.mark.parametrize("names", ["", "a:b", "https:kubetrio"])
def test_of_several_sockets_one_has_to_be_named(names: str) -> None:
    """Neither none nor two of them."""
    environ = {"LISTEN_FDS": "2", "LISTEN_PID": str(PID), "LISTEN_FDNAMES": names}
    with pytest.raises(ActivationError, match="FileDescriptorName=https"):
        passed(environ, PID)


def test_only_a_tcp_socket_that_listens_is_taken(tmp_path: Path) -> None:
    """No file, no datagrams, no connection, no local one."""
    with socket.create_server(("127.0.0.1", 0)) as good:
        one = _listening(os.dup(good.fileno()))
        assert one.getsockname() == good.getsockname()
        assert not one.getblocking()
        one.close()
    wrong = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket()]
    local = socket.socket(socket.AF_UNIX)
    local.bind(str(tmp_path / "local"))
    local.listen()
    for each in (*wrong, local):
        with pytest.raises(ActivationError, match="no TCP socket that listens"):
            _listening(each.detach())
    file = os.open(tmp_path / "file", os.O_CREAT | os.O_RDWR)
    with pytest.raises(ActivationError, match="is no socket"):
        _listening(file)
    os.close(file)
