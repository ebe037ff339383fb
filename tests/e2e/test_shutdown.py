"""The end of a server process: in order at the first signal, at once at the second."""

from __future__ import annotations

import signal
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kubetrio.testing.process import ServerProcess, arguments

Start = Callable[..., ServerProcess]
pytestmark = pytest.mark.e2e

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
BODY = b'{"metadata":{"name":"late"}}'


def read_until(sock: ssl.SSLSocket, end: bytes) -> bytes:
    """What comes, up to and with `end`."""
    data = b""
    while end not in data:
        part = sock.recv(65536)
        assert part, data
        data += part
    return data


def read_rest(sock: ssl.SSLSocket) -> bytes:
    """What comes until the connection ends."""
    data = b""
    while part := sock.recv(65536):
        data += part
    return data


def get(sock: ssl.SSLSocket, target: str) -> bytes:
    """Head and first bytes of an answer."""
    sock.sendall(f"GET {target} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    return read_until(sock, b"\r\n\r\n")


def half_a_post(sock: ssl.SSLSocket) -> None:
    """A request in flight: its head was served, its body is not complete."""
    head = f"POST {CONFIGMAPS} HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
    sock.sendall(f"{head}Content-Length: {len(BODY)}\r\n\r\n".encode())
    assert read_until(sock, b"\r\n\r\n").startswith(b"HTTP/1.1 100")
    sock.sendall(BODY[:5])


def ready(server: ServerProcess) -> bool:
    """Whether a new connection finds the server ready."""
    with server.connect() as sock:
        return get(sock, "/readyz").startswith(b"HTTP/1.1 200")


def test_the_first_signal_ends_it_in_order(start_server: Start, tmp_path: Path) -> None:
    """readyz turns false, watches end with their last chunk, requests in flight finish, exit 0."""
    server = start_server(tmp_path / "data", "--shutdown-delay-duration", "1s")
    with server.connect() as watch, server.connect() as slow, server.connect() as idle:
        assert get(watch, "/api/v1/namespaces?watch=1").startswith(b"HTTP/1.1 200")
        assert get(idle, "/readyz").startswith(b"HTTP/1.1 200")
        half_a_post(slow)
        server.process.send_signal(signal.SIGTERM)
        for _ in range(200):
            if not ready(server):
                break
        else:
            raise AssertionError("readyz stayed true")
        with server.connect() as other:
            assert get(other, "/livez").startswith(b"HTTP/1.1 200")
        assert read_rest(watch).endswith(b"0\r\n\r\n")
        assert server.process.poll() is None
        slow.sendall(BODY[5:])
        answer = read_rest(slow)
        assert answer.startswith(b"HTTP/1.1 201")
        assert b"\r\nConnection: close\r\n" in answer
        assert read_rest(idle) in (b"ok", b"")
    assert server.process.wait(timeout=10) == 0
    assert "Traceback" not in server.log.read_text()
    logs = [file for file in server.data_dir.iterdir() if file.name.endswith("-wal")]
    assert sum(file.stat().st_size for file in logs) == 0


def test_the_second_signal_ends_it_at_once(start_server: Start, tmp_path: Path) -> None:
    """A request in flight would hold it for seconds; acknowledged writes are safe in any case."""
    server = start_server(tmp_path / "data")
    with server.connect() as slow:
        half_a_post(slow)
        server.process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            server.process.wait(timeout=0.5)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=2) == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_other_signals_are_like_the_first(
    number: signal.Signals, start_server: Start, tmp_path: Path
) -> None:
    """Ctrl-C and the end of a terminal: exit 0 and no traceback."""
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("whatever runs these tests has this signal ignored, as nohup does")
    server = start_server(tmp_path / "data")
    server.process.send_signal(number)
    assert server.process.wait(timeout=10) == 0
    assert "Traceback" not in server.log.read_text()


def test_two_servers_do_not_share_a_directory(start_server: Start, tmp_path: Path) -> None:
    """The second one says who has it, and changes nothing."""
    server = start_server(tmp_path / "data")
    kubeconfig = server.kubeconfig.read_bytes()
    second = subprocess.run(
        arguments(server.data_dir), check=False, capture_output=True, text=True, timeout=20
    )
    assert second.returncode == 1
    (line,) = [text for text in second.stderr.splitlines() if text.startswith("kubetrio: ")]
    assert str(server.process.pid) in line
    assert "Traceback" not in second.stderr
    assert server.kubeconfig.read_bytes() == kubeconfig
    assert ready(server)
