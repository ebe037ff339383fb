"""The fixtures of the pytest plugin in a session of their own, where tests time them.

`python -m benchmarks.fixtures`: a spec as JSON in, times out.  pytest loads the plugin, no other
one of the environment, and this module as the file of tests: they ask for a fixture by its name, so
that what is timed is its set-up and that of the fixtures it needs.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from benchmarks import tools
from benchmarks.clock import perf_counter
from benchmarks.errors import BenchError

if TYPE_CHECKING:
    import pytest

    from kubetrio.threads import ServerThread

OBJECTS = 12
WARM_UP = 5
PLUGIN = "kubetrio.pytest_plugin"
FOREIGN = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")  # variables that add to what we ask for
START, READYZ, RESET = "start", "readyz", "reset"
Record = Callable[[str, object], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixtureSpec:
    """A session.

    Args:
        folder: for what the tests leave.
        flags: more flags for the server.
        resets: how many are measured.
    """

    folder: str
    flags: tuple[str, ...] = ()
    resets: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FixtureResult:
    """What fixtures took.

    Args:
        start_s: the server of the session, in seconds.
        readyz_s: the first GET of `/readyz` after it, on a new connection.
        resets_s: each reset to the snapshot.
    """

    start_s: float
    readyz_s: float
    resets_s: tuple[float, ...]


def run(spec: FixtureSpec) -> FixtureResult:
    """Measure in a process of its own.

    Raises:
        BenchError: a test failed.
    """
    return FixtureResult(**tools.run("fixtures", dataclasses.asdict(spec)))


def test_start(request: pytest.FixtureRequest, record_property: Record) -> None:
    """The server of the session is ready when its fixture is."""
    began = perf_counter()
    server = request.getfixturevalue("kube_server")
    record_property(START, perf_counter() - began)
    record_property(READYZ, _ready(server))


def test_reset(turn: int, request: pytest.FixtureRequest, record_property: Record) -> None:
    """What the test before this one created is taken back; then there is as much again."""
    began = perf_counter()
    server = request.getfixturevalue("kube_cluster")
    if turn > WARM_UP:
        record_property(RESET, perf_counter() - began)
    _fill(server, request.getfixturevalue("kube_namespace"))


def _ready(server: ServerThread) -> float:
    """Seconds until `/readyz` is answered with 200, which it has to be at once."""
    from benchmarks.endpoint import Endpoint

    url = urlsplit(server.url)
    ca_file = server.config.pki_dir / "ca.crt"
    endpoint = Endpoint(host=url.hostname or "", port=url.port or 443, ca_file=str(ca_file))
    began = perf_counter()
    endpoint.call("GET", "/readyz", accept=(200,))
    return perf_counter() - began


def _fill(server: ServerThread, namespace: str) -> None:
    client = server.server.client()

    async def create() -> None:
        for number in range(OBJECTS):
            meta = {"name": f"cm-{number}", "namespace": namespace}
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
            await client.create({**body, "data": {"key": "value"}})

    server.call(create)


class Session:
    """What the session does with the tests: how often they run, what they recorded.

    Args:
        resets: how many are measured.
    """

    def __init__(self, resets: int) -> None:
        self._resets = resets
        self.recorded: dict[str, list[float]] = {START: [], READYZ: [], RESET: []}

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """So many resets, behind the first, which has nothing to do, and some that warm up."""
        if "turn" in metafunc.fixturenames:
            metafunc.parametrize("turn", range(1 + WARM_UP + self._resets))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the times."""
        if report.when == "call":
            for name, seconds in report.user_properties:
                self.recorded[name].append(float(str(seconds)))


def measure(spec: FixtureSpec) -> FixtureResult:
    """One session of pytest.

    Raises:
        BenchError: a test failed.
    """
    import pytest

    for name in FOREIGN:
        os.environ.pop(name, None)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    session, folder, said = Session(spec.resets), Path(spec.folder), io.StringIO()
    tests = ["test_start", *(["test_reset"] if spec.resets else [])]
    with contextlib.redirect_stdout(said):
        code = pytest.main(
            [
                *("-c", os.devnull, "--rootdir", str(folder), "--basetemp", str(folder / "pytest")),
                *("-p", PLUGIN, "-p", "no:cacheprovider", "-q"),
                *(f"--kubetrio-flag={flag}" for flag in spec.flags),
                *(f"{__file__}::{test}" for test in tests),
            ],
            plugins=[session],
        )
    if code:
        lines = said.getvalue().strip().splitlines()[-8:]
        raise BenchError(f"pytest ended with {code!s}: {' | '.join(lines)}")
    recorded = session.recorded
    return FixtureResult(
        start_s=recorded[START][0], readyz_s=recorded[READYZ][0], resets_s=tuple(recorded[RESET])
    )


def main() -> None:
    """Read a spec, print a result."""
    try:
        tools.report(dataclasses.asdict(measure(FixtureSpec(**tools.spec()))))
    except (BenchError, OSError) as error:
        tools.report({"error": str(error)})


if __name__ == "__main__":
    main()
