"""Health endpoints."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from kubetrio.api.pages.health import Health
from kubetrio.api.request import Request, parse_query, resolve
from kubetrio.api.response import Response
from kubetrio.config import Storage
from kubetrio.env import Env, seeded
from kubetrio.harness.disk import Fault, FaultyDisk
from kubetrio.observe.logs import TextFormatter
from kubetrio.server.health import State, health_checks
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.prober import FRESH_S
from kubetrio.store.sqlite.settings import StoreConfig
from kubetrio.testing.client import Client
from kubetrio.testing.environment import Hold, gated
from kubetrio.testing.server import InProcess

VERBOSE_LIVEZ = "[+]ping ok\n[+]log ok\n"


async def ask(health: Health, path: str, query: str = "") -> Response:
    request = Request("GET", path, query, {}, [])
    request.query = parse_query(query)
    request.info = resolve("GET", path, request.query)
    return await health.answer(request)


@pytest.fixture
def health() -> Health:
    """One check that passes, one that fails in readyz only."""
    made = Health()
    made.add("ping", lambda: None)
    made.add("bad", lambda: "secret reason", ["readyz"])
    return made


async def test_ok_is_two_letters(health: Health) -> None:
    """Probes look for nothing more."""
    answer = await ask(health, "/healthz")
    assert (answer.status, answer.body) == (200, b"ok")
    assert answer.content_type == b"text/plain; charset=utf-8"


async def test_verbose_names_the_checks(health: Health) -> None:
    """One line a check."""
    assert (await ask(health, "/livez", "verbose")).body == b"[+]ping ok\nlivez check passed\n"


async def test_a_failure_is_listed_and_its_reason_withheld(health: Health) -> None:
    """Anonymous clients may ask: reasons are for the log."""
    answer = await ask(health, "/readyz")
    assert answer.status == 500
    assert answer.body == (b"[+]ping ok\n[-]bad failed: reason withheld\nreadyz check failed\n")


async def test_excluded_checks_do_not_count(health: Health) -> None:
    """And an unknown exclusion is told."""
    answer = await ask(health, "/readyz", "verbose&exclude=bad&exclude=none&exclude=a%22b")
    assert answer.status == 200
    assert answer.body == (
        b"[+]ping ok\n[+]bad excluded: ok\n"
        b'warn: some health checks cannot be excluded: no matches for "a\\"b","none"\n'
        b"readyz check passed\n"
    )


async def test_hooks_stand_under_their_names(health: Health) -> None:
    """What is done at start has a check each; what completes one of them follows it."""
    health.add_hooks(lambda: "not yet", {"storage-readiness": lambda: None})
    checks = list(health.checks["livez"])
    assert "poststarthook/rbac/bootstrap-roles" in checks
    assert checks.index("autoregister-completion") == 1 + checks.index(
        "poststarthook/kube-apiserver-autoregistration"
    )
    assert (await ask(health, "/livez/poststarthook/storage-readiness")).status == 200
    assert (await ask(health, "/livez/poststarthook/crd-informer-synced")).status == 500


@pytest.mark.parametrize(
    ("path", "query", "told"),
    [
        ("/healthz", "", True),
        ("/livez", "verbose", True),
        ("/readyz", "exclude=bad", True),
        ("/readyz", "", True),
        ("/readyz/bad", "", True),
        ("/readyz/ping", "", False),
    ],
)
async def test_types_are_not_to_be_guessed(
    health: Health, path: str, query: str, told: bool
) -> None:
    """Everything says so but a single check that passes."""
    header = (b"X-Content-Type-Options", b"nosniff")
    assert (header in (await ask(health, path, query)).headers) is told


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/readyz/ping", 200, b"ok"),
        ("/readyz/bad", 500, b"internal server error: secret reason\n"),
        ("/livez/bad", 404, b"404 page not found\n"),
    ],
)
async def test_each_check_has_a_path(health: Health, path: str, status: int, body: bytes) -> None:
    """A single check may be asked for."""
    answer = await ask(health, path)
    assert (answer.status, answer.body) == (status, body)


async def test_readyz_turns_false_at_shutdown(server: InProcess, client: Client) -> None:
    """And healthz stays, so that nobody kills a server that is finishing its work."""
    assert (await client.request("GET", "/readyz")).body == b"ok"
    server.state.stopping = True
    answer = await client.request("GET", "/readyz")
    assert answer.status == 500
    assert b"[-]shutdown failed: reason withheld\n" in answer.body
    assert (await client.request("GET", "/healthz")).status == 200
    assert (await client.request("GET", "/livez")).status == 200


@pytest.mark.parametrize(
    ("endpoint", "first", "last"),
    [
        (
            "healthz",
            ["ping", "log", "loopback-serving-certificate", "etcd"],
            "openapiv3-controller",
        ),
        ("livez", ["ping", "log", "loopback-serving-certificate", "etcd"], "openapiv3-controller"),
        ("readyz", ["ping", "log", "etcd", "etcd-readiness", "informer-sync"], "shutdown"),
    ],
)
async def test_the_checks_of_kube_apiserver(
    client: Client, endpoint: str, first: list[str], last: str
) -> None:
    """They have its names and stand in its order; each has a path."""
    answer = await client.request("GET", f"/{endpoint}?verbose")
    lines = answer.body.decode().splitlines()
    assert lines.pop() == f"{endpoint} check passed"
    names = [line.removeprefix("[+]").removesuffix(" ok") for line in lines]
    assert names[: len(first)] == first
    assert names[-1].endswith(last)
    for name in (names[0], "poststarthook/start-apiextensions-controllers", names[-1]):
        assert (await client.request("GET", f"/{endpoint}/{name}")).body == b"ok"


async def test_the_root_names_every_health_path(client: Client) -> None:
    """The endpoints themselves, too."""
    paths = (await client.request("GET", "/")).json()["paths"]
    assert {"/healthz", "/livez", "/readyz", "/readyz/shutdown"} <= set(paths)
    assert paths == sorted(set(paths))


def failed(answer: Response) -> list[str]:
    """The checks that an answer says failed."""
    lines = answer.body.decode().splitlines()
    return [line[3:].partition(" ")[0] for line in lines if line.startswith("[-]")]


ABOUT_STORAGE = ["etcd", "etcd-readiness", "poststarthook/storage-readiness"]


async def test_a_database_that_cannot_be_read_is_noticed(
    tmp_path: Path, mock_clock: MockClock
) -> None:
    """The file is read, not what is in memory; it fails the checks about it, and no other."""
    with FaultyDisk() as disk:
        async with open_store(tmp_path, StoreConfig(), seeded(0)) as store:
            health = health_checks(State(bootstrapped=True), store, Storage())
            assert (await ask(health, "/readyz")).status == 200
            disk.fault = Fault.READ
            mock_clock.jump(2 * FRESH_S)
            assert failed(await ask(health, "/readyz")) == ABOUT_STORAGE
            assert b"error getting data from etcd: " in (await ask(health, "/livez/etcd")).body
            disk.fault = Fault.NONE
            mock_clock.jump(2 * FRESH_S)
            assert (await ask(health, "/readyz")).status == 200


async def test_a_store_that_is_closed_is_not_ready(tmp_path: Path) -> None:
    """Nobody waits for an answer that cannot come."""
    async with open_store(tmp_path, StoreConfig(), Env()) as store:
        health = health_checks(State(bootstrapped=True), store, Storage())
    assert failed(await ask(health, "/readyz")) == ABOUT_STORAGE


async def test_a_disk_that_hangs_is_waited_for_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """All checks of an answer share the wait, and who asks next gets the answer at once."""
    env, gate = gated(0)
    limits = Storage(healthcheck_timeout_s=2.0, readycheck_timeout_s=2.0)
    async with open_store(tmp_path, StoreConfig(durability="normal"), env) as store:
        health = health_checks(State(bootstrapped=True), store, limits)
        assert (await ask(health, "/readyz")).status == 200
        gate.hold(Hold.BEFORE)
        await trio.sleep(1.0)
        begun = trio.current_time()
        assert failed(await ask(health, "/readyz")) == ABOUT_STORAGE
        assert trio.current_time() - begun == pytest.approx(2.0)
        assert (await ask(health, "/livez/etcd")).status == 500
        assert trio.current_time() - begun == pytest.approx(2.0)
        gate.open()
        await trio.sleep(1.0)
        assert (await ask(health, "/readyz")).status == 200


async def test_the_reasons_are_in_the_log(health: Health, caplog: pytest.LogCaptureFixture) -> None:
    """From -v=2 on, as kube-apiserver's."""
    caplog.set_level(logging.INFO - 2, "kubetrio")
    await ask(health, "/readyz")
    (record,) = caplog.records
    assert (
        TextFormatter()
        .format(record)
        .endswith('"health checks failed" endpoint="readyz" bad="secret reason"')
    )


async def test_readyz_is_false_before_the_bootstrap(server: InProcess, client: Client) -> None:
    """A server without its namespaces is not ready."""
    server.state.bootstrapped = False
    assert (await client.request("GET", "/readyz")).status == 500


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/version"])
async def test_anybody_may_ask(server: InProcess, path: str) -> None:
    """Load balancers have no credentials."""
    async with server.connect(certificate=None) as anonymous:
        assert (await anonymous.request("GET", path)).status == 200


async def test_health_as_metrics(client: Client) -> None:
    """One sample a check (KEP-3466)."""
    body = (await client.request("GET", "/metrics/slis")).body
    assert b'kubernetes_healthcheck{name="' in body
