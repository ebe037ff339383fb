"""The embedding API: a server with sockets for as long as a block lasts."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
import trio
from trio.testing import MockClock

from kubetrio.bootstrap.flowconfig import MAINTENANCE_PERIOD_S
from kubetrio.bootstrap.lease import identity
from kubetrio.config import Authentication, Config, Serving, Storage
from kubetrio.env import STARTED, Env, seeded
from kubetrio.kubeconfig import context_name
from kubetrio.runtime.files import write_atomic
from kubetrio.server import Server, StartError, open_server
from kubetrio.server.composition import _written
from kubetrio.store.errors import StoreError, StoreFull
from kubetrio.store.model import Range
from kubetrio.store.sqlite.database import FILE_NAME
from kubetrio.store.sqlite.space import LOOKS_EACH_S
from kubetrio.testing.client import Client, Exchange
from kubetrio.testing.faults import Faults, Lack
from kubetrio.testing.store_model import MemoryStore
from kubetrio.transport import TlsTransport

LEASE = (
    f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{identity(socket.gethostname())}"
)
SETTLED_S = 2 * LOOKS_EACH_S + MAINTENANCE_PERIOD_S
YEAR_S = 365 * 86400.0
STEPS = {Lack.ROOM: 61, Lack.DESCRIPTORS: 11}  # of operations, of which there are many alike
SERVICE = "/api/v1/namespaces/default/services/kubernetes"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Any free port, a data directory of its own."""
    return Config(
        data_dir=tmp_path / "data",
        serving=Serving(secure_port=0),
        storage=Storage(durability="normal"),
    )


@asynccontextmanager
async def administrator(server: Server) -> AsyncIterator[Exchange]:
    """A connection that checks the server's certificate by the real clock."""
    context = ssl.create_default_context(cafile=str(server.pki.ca.cert))
    context.load_cert_chain(server.pki.admin.cert, server.pki.admin.key)
    tcp = await trio.open_tcp_stream("127.0.0.1", server.port)
    raw = socket.socket(fileno=os.dup(tcp.socket.fileno()))
    await tcp.aclose()
    raw.setblocking(False)
    wrapped = context.wrap_socket(raw, server_hostname="127.0.0.1", do_handshake_on_connect=False)
    transport = TlsTransport(wrapped)
    try:
        with trio.fail_after(10):
            await transport.handshake()
        yield Exchange(transport)
    finally:
        transport.close()


async def get(server: Server, path: str) -> Any:
    """The answer to a GET of the administrator."""
    async with administrator(server) as client:
        return (await client.request("GET", path)).json()


# ---------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize(
    "error", [ValueError("mine"), KeyboardInterrupt(), ExceptionGroup("mine", [ValueError("a")])]
)
async def test_what_the_block_raises_arrives_as_itself(
    config: Config, error: BaseException
) -> None:
    """Not in groups of nurseries that the embedder never opened."""
    with pytest.raises(type(error)) as caught:
        async with open_server(config):
            raise error
    assert caught.value is error


async def test_a_port_in_use_arrives_as_itself(config: Config) -> None:
    """One line, and no group around it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartError, match="Address already in use"):
            async with open_server(
                replace(config, serving=replace(config.serving, secure_port=port))
            ):
                pass


async def test_a_foreign_database_arrives_as_itself(config: Config) -> None:
    """What goes wrong inside nurseries of the server's too."""
    config.data_dir.mkdir()
    (config.data_dir / FILE_NAME).write_bytes(b"rather a letter" * 100)
    with pytest.raises(StoreError):
        async with open_server(config):
            pass


async def test_a_gate_that_is_not_known_is_named(config: Config) -> None:
    """As the flag refuses it."""
    with pytest.raises(StartError, match=r"^--feature-gates: unrecognized feature gate: Nope$"):
        async with open_server(replace(config, feature_gates={"Nope": True})):
            pass


# ---------------------------------------------------------------- while it runs


async def test_clients_accept_the_certificates_of_a_seeded_server(config: Config) -> None:
    """They check them by their own clock, whatever the server's says."""
    async with open_server(config, seeded(1)) as server:
        found = await get(server, SERVICE)
    assert found["metadata"]["creationTimestamp"].startswith("2023-11-14T")


async def test_certificates_are_made_by_a_clock_that_is_given(config: Config) -> None:
    """Whoever injects a time means it."""
    for number, env in enumerate((seeded(1, start=0.0), Env(now=lambda: 0.0))):
        async with open_server(replace(config, data_dir=config.data_dir / str(number)), env) as one:
            info = ssl._ssl._test_decode_cert(str(one.pki.serving.cert))  # type: ignore[attr-defined]
        assert info["notAfter"].endswith("1971 GMT")


async def test_a_signal_ends_the_wait_for_it(config: Config) -> None:
    """Ctrl-C and SIGTERM, without an exception."""
    for number in (signal.SIGINT, signal.SIGTERM):
        async with open_server(config) as server, trio.open_nursery() as nursery:
            nursery.start_soon(server.until_signal)
            await trio.testing.wait_all_tasks_blocked()
            os.kill(os.getpid(), number)
        assert server.state.stopping


async def test_its_lease_is_there_as_long_as_it_is(config: Config) -> None:
    """From its first answer to its end."""
    async with open_server(config) as server:
        assert (await get(server, LEASE))["spec"]["leaseDurationSeconds"] == 3600
        store, resource = server.api.storage.store, server.api.storage.registry.resources
        leases = resource["coordination.k8s.io", "v1", "leases"]
        key = leases.key("kube-system", identity(socket.gethostname()))
        assert await store.get(key) is not None
        await server.stop()
        assert await store.get(key) is None


async def test_extension_servers_find_its_authority(config: Config) -> None:
    """The one that client certificates are checked against, and another of front proxies."""
    path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    async with open_server(config) as server:
        found = await get(server, path)
        authority = server.pki.ca.cert.read_text()
        assert found["data"]["client-ca-file"] == authority
        proxies = server.pki.front_proxy_ca.cert.read_text()
        assert found["data"]["requestheader-client-ca-file"] == proxies != authority
        assert found["data"]["requestheader-allowed-names"] == '["front-proxy-client"]'


async def test_services_have_addresses_of_two_families(config: Config) -> None:
    """The first range is that of the API's own Service."""
    ranges = "10.96.0.0/16,fd00::/112"
    async with open_server(
        replace(config, services=replace(config.services, cluster_ip_range=ranges))
    ) as server:
        assert (await get(server, SERVICE))["spec"]["clusterIPs"] == ["10.96.0.1"]
        range_ = await get(server, "/apis/networking.k8s.io/v1/servicecidrs/kubernetes")
        assert range_["spec"]["cidrs"] == ranges.split(",")


@pytest.mark.parametrize(
    ("oldest", "spoken"),
    [("VersionTLS10", True), ("VersionTLS12", True), ("VersionTLS13", False)],
)
async def test_an_older_tls_than_asked_for_is_refused(
    config: Config, oldest: str, spoken: bool
) -> None:
    """A client that knows TLS 1.2 at most finds a server that is set to 1.3 closed."""
    config = replace(config, serving=replace(config.serving, tls_min_version=oldest))
    async with open_server(config) as server:
        context = ssl.create_default_context(cafile=str(server.pki.ca.cert))
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        tcp = await trio.open_tcp_stream("127.0.0.1", server.port)
        async with trio.SSLStream(
            tcp, context, server_hostname="127.0.0.1", https_compatible=True
        ) as stream:
            if spoken:
                await stream.do_handshake()
            else:
                with pytest.raises(trio.BrokenResourceError):
                    await stream.do_handshake()


async def test_the_kubeconfig_is_an_administrators(config: Config) -> None:
    """Named after the server."""
    async with open_server(replace(config, name="dev")) as server:
        made = server.kubeconfig()
    assert made["current-context"] == context_name("dev")
    assert orjson.dumps(made)


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "::ffff:127.0.0.1", "192.0.2.10"])
async def test_it_is_no_kubelet_of_its_own(config: Config, address: str) -> None:
    """Who may write nodes does not become the server by naming one of its addresses."""
    config = replace(config, serving=replace(config.serving, advertise_address="192.0.2.10"))
    async with open_server(config) as server, administrator(server) as client:
        status = {
            "addresses": [{"type": "InternalIP", "address": address}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": server.port}},
        }
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": status}
        pods = "/api/v1/namespaces/default/pods"
        spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
        assert (await client.request("POST", "/api/v1/nodes", json=node)).status == 201
        assert (await client.request("POST", pods, json=pod)).status == 201
        for path in (f"{pods}/p/log", "/api/v1/nodes/n/proxy/api/v1/secrets"):
            answer = await client.request("GET", path)
            assert (answer.status, answer.json()["message"]) == (400, "address not allowed")
        assert not server.listeners.secure.peers.statistics().strangers


async def test_bad_credentials_are_counted(config: Config) -> None:
    """As kube-apiserver counts them."""
    async with open_server(config) as server, administrator(server) as client:
        server.api.security.authenticator.attempts.failed("192.0.2.1")
        page = (await client.request("GET", "/metrics")).body
        assert b'\nauthentication_attempts{result="error"} 1.0\n' in page
        assert b'\nauthenticated_user_requests{username="other"} ' in page


# ---------------------------------------------------------------- the disk


async def test_a_data_directory_of_another_user_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What a server that root starts once leaves is not for the user who starts it next."""
    if os.geteuid() != 0:
        pytest.skip("only root may give files away")
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    config = Config(data_dir=data, serving=Serving(secure_port=0))
    os.chown(data, 12345, -1)
    async with open_server(config):
        pass
    (said,) = (r for r in caplog.records if "another user" in r.getMessage())
    assert said.kubetrio_fields["owner"] == "12345"


async def test_files_that_others_can_use_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each with the command that mends it; and nothing is said where all is well."""
    tokens = tmp_path / "tokens.csv"
    write_atomic(tokens, b"secret,alice,1\n")
    data = tmp_path / "data"
    config = Config(
        data_dir=data, serving=Serving(secure_port=0), auth=Authentication(token_auth_file=tokens)
    )
    async with open_server(config):
        pass
    assert "others can use" not in caplog.text
    tokens.chmod(0o644)
    data.chmod(0o755)
    (data / "pki" / "sa.key").chmod(0o604)
    (data / "kubetrio.db").chmod(0o620)
    async with open_server(config):
        pass
    said = [r.kubetrio_fields["mend"] for r in caplog.records if "others can" in r.getMessage()]
    assert said == [
        f"chmod 700 {data}",
        f"chmod 600 {data}/kubetrio.db",
        f"chmod 600 {data}/pki/sa.key",
        f"chmod 600 {tokens}",
    ]


async def test_a_disk_with_room_is_ready(client: Client) -> None:
    """The check has a name of its own."""
    answer = await client.request("GET", "/readyz/storage-space")
    assert (answer.status, answer.body) == (200, b"ok")


async def test_objects_of_the_server_fail_loudly_where_there_is_room() -> None:
    """Only a full disk is waited for."""

    async def write() -> None:
        await trio.lowlevel.checkpoint()
        raise StoreFull

    with pytest.raises(ExceptionGroup):
        await _written(write, MemoryStore())


async def keys_of(
    config: Config, env: Env | None = None, started: Callable[[], None] = bool
) -> set[str]:
    """What a server has of its own: all that it makes at its start, or soon behind it."""
    async with open_server(config, env or seeded(1)) as server:
        started()
        await trio.sleep(SETTLED_S)
        items = (await server.api.storage.store.range(Range.prefix("/"))).items
        return {item.key for item in items}


@pytest.mark.skipif(sys.platform != "linux", reason="replaces Linux's system calls")
@pytest.mark.parametrize("lack", [Lack.ROOM, Lack.DESCRIPTORS])
async def test_a_start_without_room_or_descriptors_ends_with_a_line_or_goes_on(
    config: Config, tmp_path: Path, autojump_clock: MockClock, lack: Lack
) -> None:
    """Wherever that happens: with the certificates, in the store, among its objects.

    It is complete when there is enough again, or the next time.
    """
    with Faults(tmp_path) as faults:
        complete = await keys_of(config)
        number = outlived = 0
        while True:
            each = replace(config, data_dir=tmp_path / str(number))
            faults.fail(lack, number)
            line = str(each.data_dir)
            try:
                found = await keys_of(each, started=faults.clear)
                outlived += bool(faults.fired)
            except (StartError, StoreError, OSError) as error:
                line = str(error)
                faults.clear()
                found = await keys_of(each)
            assert str(each.data_dir) in line
            assert "\n" not in line
            assert found == complete
            if not faults.fired:
                break
            number += STEPS[lack]
    assert outlived or lack is Lack.DESCRIPTORS


# ---------------------------------------------------------------- the clock


class Wall:
    """A wall clock that is set at one of the looks at it."""

    def __init__(self, number: int = -1, by: float = 0.0) -> None:
        self.left = number
        self._ahead = 0.0
        self._by = by
        self._begun = trio.current_time()

    def now(self) -> float:
        if not self.left:
            self._ahead = self._by
        self.left -= 1
        return STARTED + self._ahead + trio.current_time() - self._begun


@pytest.mark.parametrize(
    ("first", "by"),
    [
        pytest.param(1, YEAR_S, id="ahead", marks=pytest.mark.slow),
        pytest.param(32, -YEAR_S, id="back", marks=pytest.mark.slow),
        pytest.param(63, -STARTED, id="1970"),
    ],
)
async def test_a_clock_that_is_set_while_it_starts_runs_or_ends_is_outlived(
    config: Config, autojump_clock: MockClock, first: int, by: float
) -> None:
    """It has what every server has, the next time too; each way takes a third of the looks."""
    wall = Wall()
    complete = await keys_of(config, replace(seeded(1), now=wall.now, clients_now=None))
    looks = -1 - wall.left
    assert looks > 100 > first
    for number in range(first, looks, 93):
        each = replace(config, data_dir=config.data_dir / str(number))
        wall = Wall(number, by)
        assert await keys_of(each, replace(seeded(1), now=wall.now, clients_now=None)) == complete
        assert await keys_of(each, seeded(1, start=STARTED + 60)) == complete


@pytest.mark.parametrize("by", [-YEAR_S, -STARTED], ids=["back", "1970"])
async def test_a_clock_that_is_behind_the_certificates_is_named(
    config: Config, autojump_clock: MockClock, by: float
) -> None:
    """One line, and all is in order when it is set."""
    complete = await keys_of(config, seeded(1, start=STARTED))
    with pytest.raises(StartError, match=r"^\S+ is valid from .* set the clock, or move [^\n]+$"):
        await keys_of(config, seeded(1, start=STARTED + by))
    assert await keys_of(config, seeded(1, start=STARTED + YEAR_S)) == complete


async def test_cbor_needs_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is to serve it and cannot does not start, and says what helps."""
    monkeypatch.setitem(sys.modules, "cbor2", None)
    config = Config(data_dir=tmp_path, feature_gates={"CBORServingAndStorage": True})
    with pytest.raises(
        StartError, match=r"CBORServingAndStorage=true: .* install kubetrio\[cbor\]"
    ):
        async with open_server(config):
            pass
