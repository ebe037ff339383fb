"""Health endpoints."""

from __future__ import annotations

import pytest

from kubetrio.api.health import Health
from kubetrio.api.request import Request, parse_query, resolve
from kubetrio.api.response import Response
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess

VERBOSE_LIVEZ = "[+]ping ok\n[+]log ok\n"


def ask(health: Health, path: str, query: str = "") -> Response:
    request = Request("GET", path, query, {}, [])
    request.query = parse_query(query)
    request.info = resolve("GET", path, request.query)
    return health.answer(request)


@pytest.fixture
def health() -> Health:
    """One check that passes, one that fails in readyz only."""
    made = Health()
    made.add("ping", lambda: None)
    made.add("bad", lambda: "secret reason", ["readyz"])
    return made


def test_ok_is_two_letters(health: Health) -> None:
    """Probes look for nothing more."""
    answer = ask(health, "/healthz")
    assert (answer.status, answer.body) == (200, b"ok")
    assert answer.content_type == b"text/plain; charset=utf-8"


def test_verbose_names_the_checks(health: Health) -> None:
    """One line a check."""
    assert ask(health, "/livez", "verbose").body == b"[+]ping ok\nlivez check passed\n"


def test_a_failure_is_listed_and_its_reason_withheld(health: Health) -> None:
    """Anonymous clients may ask: reasons are for the log."""
    answer = ask(health, "/readyz")
    assert answer.status == 500
    assert answer.body == (b"[+]ping ok\n[-]bad failed: reason withheld\nreadyz check failed\n")


def test_excluded_checks_do_not_count(health: Health) -> None:
    """And an unknown exclusion is told."""
    answer = ask(health, "/readyz", "verbose&exclude=bad&exclude=none&exclude=a%22b")
    assert answer.status == 200
    assert answer.body == (
        b"[+]ping ok\n[+]bad excluded: ok\n"
        b'warn: some health checks cannot be excluded: no matches for "a\\"b","none"\n'
        b"readyz check passed\n"
    )


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
def test_types_are_not_to_be_guessed(health: Health, path: str, query: str, told: bool) -> None:
    """Everything says so but a single check that passes."""
    header = (b"X-Content-Type-Options", b"nosniff")
    assert (header in ask(health, path, query).headers) is told


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/readyz/ping", 200, b"ok"),
        ("/readyz/bad", 500, b"internal server error: secret reason\n"),
        ("/livez/bad", 404, b"404 page not found\n"),
    ],
)
def test_each_check_has_a_path(health: Health, path: str, status: int, body: bytes) -> None:
    """A single check may be asked for."""
    answer = ask(health, path)
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


async def test_readyz_is_false_before_the_bootstrap(server: InProcess, client: Client) -> None:
    """A server without its namespaces is not ready."""
    server.state.bootstrapped = False
    assert (await client.request("GET", "/readyz")).status == 500


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/version"])
async def test_anybody_may_ask(server: InProcess, path: str) -> None:
    """Load balancers have no credentials."""
    async with server.connect(certificate=None) as anonymous:
        assert (await anonymous.request("GET", path)).status == 200
