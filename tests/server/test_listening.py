"""Where a server listens besides the secure port, and who counts as whom there."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
import trio

from kubetrio.api.pipeline import Handle
from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse
from kubetrio.cli import main
from kubetrio.config import Config, ConfigError, Local, Serving, Storage
from kubetrio.http import peers
from kubetrio.kubeconfig import KubeconfigError
from kubetrio.machinery.identity import UserInfo
from kubetrio.server import Parts, Server, listening, open_server
from kubetrio.server.files import StartError

WHO = b'{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}'


def config(data_dir: Path, **local: Any) -> Config:
    """A server in memory that listens on no secure port."""
    chosen = Local(**{"secure_serving": False, **local})
    return Config(
        data_dir=data_dir,
        serving=Serving(secure_port=0),
        local=chosen,
        storage=Storage(in_memory=True),
    )


async def asked(stream: trio.SocketStream, headers: Mapping[str, str]) -> Mapping[str, Any]:
    """Who the server says asks; or what it answers instead."""
    given = {"Host": "localhost", **headers}
    lines = [f"{name}: {value}" for name, value in given.items()]
    head = "\r\n".join(
        [
            "POST /apis/authentication.k8s.io/v1/selfsubjectreviews HTTP/1.1",
            *lines,
            "Content-Type: application/json",
            f"Content-Length: {len(WHO)}",
            "Connection: close",
        ]
    )
    async with stream:
        await stream.send_all(head.encode() + b"\r\n\r\n" + WHO)
        answer = b"".join([part async for part in stream])
    found: Mapping[str, Any] = orjson.loads(answer.partition(b"\r\n\r\n")[2])
    return found


async def over_plain(server: Server, **headers: str) -> Mapping[str, Any]:
    """A question over the plain port."""
    return await asked(await trio.open_tcp_stream("127.0.0.1", server.port), headers)


async def test_a_unix_socket_knows_its_peers(tmp_path: Path) -> None:
    """The server's own user is an administrator; the file is the owner's and goes at the end."""
    path = tmp_path / "api.sock"
    async with open_server(config(tmp_path / "data", unix_socket=path)) as server:
        assert server.url == f"unix://{path}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        said = await asked(await trio.open_unix_socket(path), {})
        user = said["status"]["userInfo"]
        assert user["username"] == f"system:unix:{os.geteuid()}"
        assert {"system:masters", "system:authenticated"} <= set(user["groups"])
        with pytest.raises(KubeconfigError):
            server.kubeconfig()
        with pytest.raises(ValueError, match="no TCP port"):
            _ = server.port
    assert not path.exists()


def test_other_users_are_only_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither root nor the server's own user: no administrator."""
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    monkeypatch.setattr(peers, "_ROOT", 4243)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        user = peers.user_of_peer(ours)
    assert user is not None
    assert user.name == f"system:unix:{os.getuid()}"
    assert "system:masters" not in user.groups


async def test_the_plain_port_is_for_this_machine_and_no_browser(tmp_path: Path) -> None:
    """A page that has a browser ask, or a name that was bent here, is anonymous."""
    async with open_server(config(tmp_path / "data", plain_port=0)) as server:
        assert server.url == f"http://127.0.0.1:{server.port}"
        for host in ("localhost", f"127.0.0.1:{server.port}", "[::1]:80"):
            said = await over_plain(server, Host=host)
            assert said["status"]["userInfo"]["username"] == "system:unsecured"
        for headers in ({"Host": "evil.example"}, {"Origin": "http://localhost:3000"}):
            said = await over_plain(server, **headers)
            assert (said["kind"], said["code"]) == ("Status", 403)
            assert "system:anonymous" in said["message"]
        assert "http://127.0.0.1" in str(server.kubeconfig())


async def test_what_stands_around_the_pipeline_is_asked_by_connections_alone(
    tmp_path: Path,
) -> None:
    """A client without sockets asks the pipeline itself."""
    paths: list[str] = []

    def around(handle: Handle) -> Handle:
        async def noting(request: Request) -> AnyResponse:
            paths.append(request.raw_path)
            return await handle(request)

        return noting

    parts = Parts(around=around)
    async with open_server(config(tmp_path / "data", plain_port=0), parts=parts) as server:
        said = await over_plain(server)
        assert said["status"]["userInfo"]["username"] == "system:unsecured"
        client = server.client()
        await client.list(client.kind("v1", "Namespace"))
    assert paths == ["/apis/authentication.k8s.io/v1/selfsubjectreviews"]


async def test_nothing_listens_and_the_client_inside_works(tmp_path: Path) -> None:
    """In memory: of the data directory only keys, certificates and the lock are there."""
    data = tmp_path / "data"
    async with open_server(config(data)) as server:
        assert (server.url, server.listeners.all) == ("", [])
        client = server.client()
        made = await client.create(
            {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "x"}}
        )
        assert made["metadata"]["uid"]
        assert {path.name for path in data.iterdir()} == {"kubetrio.lock", "pki"}
    async with open_server(config(data)) as server:
        names = [
            one["metadata"]["name"]
            for one in (await server.client().list(server.client().kind("v1", "Namespace"))).items
        ]
        assert "x" not in names


async def test_all_at_once(tmp_path: Path) -> None:
    """The secure port is the one that is told."""
    path = tmp_path / "s"
    chosen = config(tmp_path / "data", secure_serving=True, unix_socket=path, plain_port=0)
    async with open_server(chosen) as server:
        assert server.url.startswith("https://127.0.0.1:")
        assert len(server.listeners.all) == 3
        said = await asked(await trio.open_unix_socket(path), {})
        assert said["kind"] == "SelfSubjectReview"


async def test_a_socket_that_is_left_behind_is_taken_and_no_other_file(tmp_path: Path) -> None:
    """A server that listens, and a file that is no socket, stay."""
    path = tmp_path / "s"
    chosen = config(tmp_path / "data", unix_socket=path)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    async with open_server(chosen):
        with pytest.raises(StartError, match="Address already in use"):
            listening.opened(config(tmp_path / "other", unix_socket=path), None)
        assert path.exists()
    path.write_text("mine")
    with pytest.raises(StartError, match="it is no socket"):
        listening.opened(chosen, None)
    assert path.read_text() == "mine"


def test_values_that_may_not_be() -> None:
    """A path that no socket may have, a mode that no file has."""
    with pytest.raises(ConfigError, match="107 bytes"):
        Local(unix_socket=Path("x" * 200))
    with pytest.raises(ConfigError, match="mode"):
        Local(unix_socket_mode=0o7777)


def test_a_server_that_nobody_could_reach_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the command line; nothing is written."""
    data = tmp_path / "data"
    assert main(["serve", "--secure-serving=false", "--data-dir", str(data)]) == 1
    assert "no client could reach the server" in capsys.readouterr().err
    assert not data.exists()


def test_who_is_unsecured() -> None:
    """An administrator with the name that kube-apiserver's insecure port gave."""
    assert isinstance(peers.UNSECURED, UserInfo)
    assert peers.UNSECURED.groups == ("system:masters", "system:authenticated")
