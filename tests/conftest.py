"""Fixtures shared by every room."""

from __future__ import annotations

import datetime as dt
import gc
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from pathlib import Path

import examples  # noqa: F401  (its profiles)
import pytest
import slowtests
from hypothesis import settings

from kubetrio.observe import logs
from kubetrio.testing import process
from kubetrio.testing.client import Client
from kubetrio.testing.process import ServerProcess
from kubetrio.testing.server import InProcess, open_api
from kubetrio.tls import pki

# What a run says of a commit is the same on each machine; `--hypothesis-profile=explore` (and
# `tox -e explore`) draws other examples each time, to find what no run has met yet.
settings.load_profile("repeatable")

# The tests start hundreds of interpreters, and each compiles all of the server, 2.5 s of CPU, where
# bytecode is not written, as in many images of containers.  Git ignores what is written.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell has its background jobs ignore Ctrl-C, and so all that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# A full collection of garbage walks all objects that there are: a million of what imports and the
# collection of the tests made, 0.4 s each time, and many tests ask for one.
gc.disable()


LONG_RUN = '--hypothesis-profile=long -m "slow or shortened"'


def leave_out_of_collections() -> None:
    """Have later collections of garbage walk only what is made from now on."""
    gc.collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    """Begin to collect garbage, less often than Python does of its own accord."""
    leave_out_of_collections()
    gc.set_threshold(20_000, 5, 20)
    gc.enable()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what is in the list of slow tests, before markers are chosen by."""
    path, _, test = item.nodeid.partition("[")[0].removeprefix("tests/").partition("::")
    if f"{path}::{test.rpartition('::')[2]}" in slowtests.listed():
        item.add_marker(pytest.mark.slow)


def leaves_out(config: pytest.Config) -> bool:
    """Whether this run leaves slow tests out: unless it names files, or says what it chooses."""
    return not config.option.markexpr and all(Path(one).is_dir() for one in config.args)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Have workers take files by their path: those with the most tests are not the longest.

    Few of the last are long then; processes and browsers are in the middle.
    """
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave slow tests out."""
    if leaves_out(config):
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say what was left out."""
    if leaves_out(config):
        terminalreporter.write_line(
            "Left out: slow tests, and three of four examples of the longest property tests; "
            f"pytest {LONG_RUN} runs them."
        )


@pytest.fixture(scope="module", autouse=True)
def collected() -> Iterator[None]:
    """What a module leaves in caches is not walked by the tests of the next."""
    yield
    leave_out_of_collections()


def levels() -> Mapping[logging.Logger, int]:
    """Levels of the root logger and of the server's, as far as these were made."""
    made = logging.root.manager.loggerDict.items()
    ours = [one for name, one in made if name.startswith(logs.LOGGER)]
    return {one: one.level for one in [logging.root, *ours] if isinstance(one, logging.Logger)}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Give loggers back their levels and handlers, which a test that runs a command changes."""
    before, handlers = levels(), logging.root.handlers[:]
    try:
        return (yield)
    finally:
        for logger, level in levels().items():
            if level != before.get(logger, logging.NOTSET):
                logger.setLevel(before.get(logger, logging.NOTSET))
        logging.root.handlers[:] = handlers


@pytest.fixture
async def server() -> AsyncIterator[InProcess]:
    """A complete server without sockets, on seed 0."""
    async with open_api(seed=0) as running:
        yield running


@pytest.fixture
async def client(server: InProcess) -> AsyncIterator[Client]:
    """An administrator's connection to `server`."""
    async with server.connect() as connected:
        yield connected


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> pki.Pki:
    """Self-made certificates for 127.0.0.1."""
    directory = tmp_path_factory.mktemp("pki")
    return pki.ensure(directory, now=dt.datetime.now(dt.UTC), hosts=["127.0.0.1", "localhost"])


# ---------------------------------------------------------------- real processes


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., ServerProcess]]:
    """Starts servers on a data directory, with flags; none outlives the test."""
    started: list[ServerProcess] = []

    def start(data_dir: Path, *flags: str) -> ServerProcess:
        log = tmp_path / f"server-{len(started)}.log"
        started.append(process.start(data_dir, log, *flags))
        return started[-1]

    yield start
    for server in started:
        server.kill()
