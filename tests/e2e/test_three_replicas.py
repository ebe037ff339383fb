"""Three replicas behind a balancer, from the files and commands of the how-to."""

from __future__ import annotations

import json
import re
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubetrio.testing.etcd import MISSING, binary, etcd, free_ports
from kubetrio.testing.process import ServerProcess, start

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
PAGE = (HOW_TO / "run-three-replicas.md").read_text()
SERVICE = (HOW_TO / "run-as-a-service.md").read_text()
NAME = "api.example.org"
CONNECTIONS = 9
TRIES = 200  # of 50 ms
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
ANALYZE, HAPROXY = shutil.which("systemd-analyze"), shutil.which("haproxy")

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def block(kind: str) -> str:
    """The only block of a kind on the page."""
    [text] = re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(text)


def shared_files() -> list[str]:
    """Patterns of the files that the page has copied."""
    [braces] = re.findall(r"scp -p \S+/(\{[^ ]+) ", PAGE)
    [names, ends] = re.findall(r"\{([^}]+)\}", braces)
    [more] = re.findall(r"pki/sa\.\{([^}]+)\}", PAGE)
    patterns = [f"{name}.{end}" for name in names.split(",") for end in ends.split(",")]
    return [*patterns, *(f"sa.{end}" for end in more.split(","))]


def replica(folder: Path, number: int, etcd_url: str, shared: Path | None) -> ServerProcess:
    """A replica with the page's configuration, on an address of the loopback interface."""
    config = yaml.safe_load(block("yaml"))
    assert config.pop("etcd-servers").count("https://") == 3
    for name in ("etcd-cafile", "etcd-certfile", "etcd-keyfile"):
        del config[name]  # this etcd has no TLS
    config |= {
        "bind-address": "127.0.0.1",
        "advertise-address": f"127.0.0.{number}",
        "etcd-servers": etcd_url,
    }
    file = folder / f"{number}.yaml"
    file.write_text(yaml.safe_dump(config))
    data_dir = folder / f"data{number}"
    if shared is not None:
        (data_dir / "pki").mkdir(parents=True, mode=0o700)
        for name in shared_files():
            shutil.copy2(shared / "pki" / name, data_dir / "pki" / name)
    return start(data_dir, folder / f"{number}.log", "--config", str(file))


def balanced(stack: ExitStack, folder: Path, servers: list[ServerProcess]) -> int:
    """The page's balancer if it is installed, else ours; returns its port."""
    addresses = [f"127.0.0.1:{server.port}" for server in servers]
    if HAPROXY is None:
        command = [sys.executable, "-m", "kubetrio.testing.balancer", *addresses]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        stack.callback(process.wait)
        stack.callback(process.kill)
        assert process.stdout is not None
        return int(process.stdout.readline().rpartition(":")[2])
    [port] = free_ports(1)
    [text] = re.findall(r"^```text\n(defaults.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    text = text.replace("bind :6443", f"bind 127.0.0.1:{port}").replace("rise 2", "rise 1")
    for address, number in zip(addresses, (11, 12, 13), strict=True):
        text = text.replace(f"10.0.0.{number}:6443", address)
    file = folder / "haproxy.cfg"
    file.write_text(text)
    subprocess.run([HAPROXY, "-c", "-f", str(file)], check=True, capture_output=True)
    listening = subprocess.Popen([HAPROXY, "-db", "-f", str(file)])
    stack.callback(listening.wait)
    stack.callback(listening.kill)
    for _ in range(TRIES):
        with suppress(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port)).close()
            break
        with suppress(subprocess.TimeoutExpired):
            listening.wait(timeout=0.05)
    return port


class Clients:
    """Clients of the balancer, each with a connection of its own, which check its name.

    Args:
        port: of the balancer.
        pki: authority, and the administrator's certificate.
    """

    def __init__(self, port: int, pki: Path) -> None:
        self._port = port
        self._pki = pki

    def ask(self, method: str, path: str, body: Any = None, token: str = "") -> tuple[int, Any]:
        """Send one request as administrator, or by a token."""
        context = ssl.create_default_context(cafile=str(self._pki / "ca.crt"))
        if not token:
            context.load_cert_chain(self._pki / "admin.crt", self._pki / "admin.key")
        headers = {"Content-Type": "application/json", "Host": NAME}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        connection = HTTPSConnection("127.0.0.1", self._port, timeout=30, context=context)
        raw = context.wrap_socket
        context.wrap_socket = lambda sock, **_: raw(sock, server_hostname=NAME)  # type: ignore[method-assign]
        with closing(connection):
            connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())


@pytest.fixture
def etcd_url(tmp_path: Path) -> Iterator[str]:
    """An etcd of one member."""
    if binary() is None:
        pytest.skip(MISSING)
    with etcd(tmp_path / "etcd") as cluster:
        yield cluster.urls[0]


def test_the_page_followed_and_not(tmp_path: Path, etcd_url: str) -> None:
    """Certificates, tokens and objects are good at each replica; with keys of its own at none."""
    with ExitStack() as stack:
        servers: list[ServerProcess] = []
        for number in (11, 12, 13):
            shared = servers[0].data_dir if servers else None
            servers.append(replica(tmp_path, number, etcd_url, shared))
            stack.callback(servers[-1].kill)
        pki = servers[0].data_dir / "pki"
        clients = Clients(balanced(stack, tmp_path, servers), pki)

        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
        assert clients.ask("POST", CONFIGMAPS, made)[0] == 201
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        status, answer = clients.ask("POST", f"{account}/token", {"spec": {}})
        assert status == 201, answer
        token = answer["status"]["token"]
        for _ in range(CONNECTIONS):
            assert clients.ask("GET", f"{CONFIGMAPS}/c")[0] == 200
            assert clients.ask("GET", f"{CONFIGMAPS}/c", token=token)[0] == 403  # known, no right
        status, endpoints = clients.ask("GET", "/api/v1/namespaces/default/endpoints/kubernetes")
        [subset] = endpoints["subsets"]
        assert [each["ip"] for each in subset["addresses"]] == [
            f"127.0.0.{number}" for number in (11, 12, 13)
        ]

        servers[1].kill()
        for _ in range(CONNECTIONS):
            assert clients.ask("GET", f"{CONFIGMAPS}/c")[0] == 200

        wrong = replica(tmp_path, 14, etcd_url, None)
        stack.callback(wrong.kill)
        stranger = Clients(wrong.port, pki)
        with pytest.raises(ssl.SSLCertVerificationError):
            stranger.ask("GET", f"{CONFIGMAPS}/c")
        mixed = tmp_path / "mixed"
        shutil.copytree(pki, mixed)
        shutil.copy2(wrong.data_dir / "pki" / "ca.crt", mixed / "ca.crt")
        assert Clients(wrong.port, mixed).ask("GET", f"{CONFIGMAPS}/c")[0] == 401
        assert Clients(wrong.port, mixed).ask("GET", f"{CONFIGMAPS}/c", token=token)[0] == 401


@pytest.mark.skipif(ANALYZE is None, reason="there is no systemd-analyze")
def test_systemd_takes_the_file_beside_the_unit(tmp_path: Path) -> None:
    """Without a warning about it."""
    [unit] = re.findall(
        r"kubetrio\.service`:\n\n```ini\n(.*?)^```$", SERVICE, re.MULTILINE | re.DOTALL
    )
    service = tmp_path / "kubetrio.service"
    service.write_text(unit.replace("/usr/local/bin/kubetrio", sys.executable))
    beside = tmp_path / "kubetrio.service.d"
    beside.mkdir()
    (beside / "etcd.conf").write_text(block("ini"))
    assert ANALYZE is not None
    done = subprocess.run(
        [ANALYZE, "verify", "--man=no", service], check=False, capture_output=True, text=True
    )
    about = [line for line in (done.stdout + done.stderr).splitlines() if "kubetrio" in line]
    assert (done.returncode, about) == (0, [])
