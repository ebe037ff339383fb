"""Whom aggregated API servers see."""

from __future__ import annotations

import datetime as dt
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from registered import register

from kubetrio.aggregation.frontproxy import names_user, user_headers
from kubetrio.config import Aggregation, Config
from kubetrio.env import Env
from kubetrio.machinery.identity import UserInfo
from kubetrio.testing.aggregated import HOST, PATH, OtherServer, open_other
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess, in_memory, open_api
from kubetrio.tls import pki


def test_names_of_extra_fields_are_escaped() -> None:
    """What no name of a header may hold, and the escape itself."""
    user = UserInfo("a", extra={"b/c %é": ("1", "2")})
    name = b"X-Remote-Extra-b%2Fc%20%25%C3%A9"
    assert user_headers(user) == [(b"X-Remote-User", b"a"), (name, b"1"), (name, b"2")]


@pytest.mark.parametrize(
    ("header", "does"),
    [
        (b"X-Remote-User", True), (b"x_remote_user", True), (b"x-remote-extra-a", True),
        (b"X_Remote-Extra_b", True), (b"x-remote-uid", True), (b"x-remote-group", True),
        (b"x-remote-users", False), (b"x-remote-extra", False), (b"accept", False),
    ],
)  # fmt: skip
def test_headers_that_name_users(header: bytes, does: bool) -> None:
    """Also in the spelling that some servers take for the same."""
    assert names_user(header) is does


async def test_its_own_certificate(admin: Client, front: InProcess) -> None:
    """It is made when somebody is connected to, and is what is published."""
    path = front.config.pki_dir / "front-proxy-client.crt"
    assert not path.exists()
    made = pki.ensure(front.config.pki_dir, now=dt.datetime.now(dt.UTC), hosts=[HOST])
    async with open_other(made, ask=True) as other:
        await register(admin, other)
        assert other.asked(PATH)[0].certificate.endswith("/front-proxy-client")
    assert path.exists()


async def test_a_given_certificate(tmp_path: Path, other_pki: pki.Pki) -> None:
    """Files of flags are shown, and read again when they changed."""
    cert, key = tmp_path / "proxy.crt", tmp_path / "proxy.key"
    shutil.copy(other_pki.admin.cert, cert)
    shutil.copy(other_pki.admin.key, key)
    chosen = Aggregation(client_cert_file=cert, client_key_file=key)
    config: Config = replace(in_memory(tmp_path / "data"), aggregation=chosen)
    async with (
        open_other(other_pki, ask=True) as other,
        open_api(env=Env(), config=config, kept=True) as server,
        server.connect() as admin,
    ):
        await register(admin, other)
        assert other.asked(PATH)[0].certificate == "system:masters/kubernetes-admin"
        folder, now = other_pki.ca.cert.parent, dt.datetime.now(dt.UTC)
        another = pki.ensure_front_proxy_client(folder, now=now)
        shutil.copy(another.cert, cert)
        shutil.copy(another.key, key)
        server.api.edge.delegation.aggregation.proxy.reload()
        await admin.request("GET", f"{PATH}/things")
        assert other.asked(f"{PATH}/things")[0].certificate.endswith("/front-proxy-client")


async def test_a_certificate_that_cannot_be_used(
    admin: Client, front: InProcess, other: OtherServer
) -> None:
    """It is an error of this server, in the condition and to clients."""
    await register(admin, other)
    files = ("front-proxy-client.crt", "front-proxy-client.key", "front-proxy-ca.key")
    for name in files:
        (front.config.pki_dir / name).unlink()
    front.api.edge.delegation.aggregation.proxy.reload()
    answer = await admin.request("GET", f"{PATH}/things")
    assert answer.status == 500
    assert b"front-proxy-client.crt has to be issued" in answer.body
