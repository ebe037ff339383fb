"""Fixtures of pytest: a server for the session, a fresh cluster for each test, and clients of it.

pytest loads this module wherever kubetrio is installed, so it imports nothing until a fixture is
asked for.  All fixtures are synchronous: plain tests and those of pytest-trio, AnyIO and
pytest-asyncio use the same ones.  With pytest-xdist each worker has a server of its own.

Source: docs/how-to/test-with-pytest.md.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kubetrio.config import Config
    from kubetrio.server.parts import Parts
    from kubetrio.server.resetting import Snapshot
    from kubetrio.threads import ServerThread

FLAGS = "kubetrio_flags"


class _AsInstalled:
    """Finds modules of the server for Python itself.

    pytest rewrites the assertions of all modules of a distribution that has a plugin, which makes
    the first session two seconds slower; these have none to rewrite.
    """

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, _target: object = None
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        return PathFinder.find_spec(name, path) if name.startswith("kubetrio.") else None


sys.meta_path.insert(0, _AsInstalled)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option and the setting for flags of the server."""
    parser.getgroup("kubetrio").addoption(
        "--kubetrio-flag",
        action="append",
        default=[],
        metavar="FLAG",
        help="a flag of `kubetrio serve` for the test server, such as "
        "--kubetrio-flag=--controllers=-*; may be repeated",
    )
    parser.addini(FLAGS, "flags of `kubetrio serve` for the test server", "args", default=[])


def _config(data_dir: Path, flags: list[str]) -> Config:
    """A configuration for tests; flags that are given come before its own choices.

    Raises:
        UsageError: a flag cannot be used.
    """
    from kubetrio.flags.given import FlagsError, configured

    # Nothing has to outlive the session, so no write waits for the disk.
    own = [f"--data-dir={data_dir}", "--secure-port=0", "--durability=normal"]
    try:
        return configured(own, flags)
    except FlagsError as problem:
        raise pytest.UsageError(f"flags of kubetrio: {problem}") from problem


@pytest.fixture(scope="session")
def kube_config(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Config:
    """How the server of the session is started; override it to say more than flags can."""
    flags = [*request.config.getini(FLAGS), *request.config.getoption("--kubetrio-flag")]
    return _config(tmp_path_factory.mktemp("kubetrio") / "data", flags)


@pytest.fixture(scope="session")
def kube_parts() -> Parts | None:
    """Kinds, authorizers and admission plugins of your own; override it to have some."""
    return None


@pytest.fixture(scope="session")
def kube_server(kube_config: Config, kube_parts: Parts | None) -> Iterator[ServerThread]:
    """The server of the session, in a thread of its own; what tests write stays in it."""
    from kubetrio.threads import in_thread

    with in_thread(kube_config, parts=kube_parts, handle_sigterm=False) as server:
        yield server


@pytest.fixture(scope="session")
def kube_prepared(kube_server: ServerThread) -> None:
    """What each test finds; override it to install definitions, roles or objects first."""
    del kube_server


@pytest.fixture(scope="session")
def _kube_snapshot(kube_server: ServerThread, kube_prepared: None) -> Snapshot:
    del kube_prepared
    return kube_server.snapshot()


@pytest.fixture
def kube_cluster(kube_server: ServerThread, _kube_snapshot: Snapshot) -> ServerThread:
    """The server as it was before the first test: nothing that other tests wrote is there."""
    kube_server.reset(_kube_snapshot)
    return kube_server


_numbers = itertools.count(1)


@pytest.fixture
def kube_namespace(kube_cluster: ServerThread) -> str:
    """The name of a new namespace, with its default service account and root certificate."""
    name = f"test-{next(_numbers)}"
    server = kube_cluster.server

    async def make() -> None:
        await server.client().create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        )
        await server.settled()

    kube_cluster.call(make)
    return name


@pytest.fixture(scope="session")
def _kubeconfig_file(kube_server: ServerThread, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from kubetrio import kubeconfig as writing

    path = tmp_path_factory.mktemp("kubeconfig") / "kubeconfig"
    writing.write(path, kube_server.kubeconfig())
    return path


@pytest.fixture
def kubeconfig(
    kube_cluster: ServerThread, _kubeconfig_file: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The administrator's kubeconfig for `kube_cluster`, which ``KUBECONFIG`` names in the test."""
    del kube_cluster
    monkeypatch.setenv("KUBECONFIG", str(_kubeconfig_file))
    for package in ("kubernetes", "kubernetes_asyncio"):
        # They look at the environment when they are imported.
        module = sys.modules.get(f"{package}.config.kube_config")
        if module is not None:
            monkeypatch.setattr(module, "KUBE_CONFIG_DEFAULT_LOCATION", str(_kubeconfig_file))
    return _kubeconfig_file


def _installed(module: str, package: str) -> Any:
    return pytest.importorskip(module, reason=f"{package} is not installed: pip install {package}")


@pytest.fixture
def kubernetes_client(kubeconfig: Path) -> Iterator[Any]:
    """An ``ApiClient`` of the package kubernetes, for ``CoreV1Api(kubernetes_client)``."""
    kubernetes = _installed("kubernetes", "kubernetes")
    client = kubernetes.config.new_client_from_config(str(kubeconfig))
    yield client
    client.close()


@pytest.fixture
def kubernetes_asyncio_client(
    kubeconfig: Path,
) -> Callable[[], AbstractAsyncContextManager[Any]]:
    """Opens an ``ApiClient`` of kubernetes-asyncio, by ``async with``."""
    from contextlib import asynccontextmanager

    package = _installed("kubernetes_asyncio", "kubernetes-asyncio")

    @asynccontextmanager
    async def opened() -> Any:
        loaded = package.client.Configuration()
        await package.config.load_kube_config(str(kubeconfig), client_configuration=loaded)
        async with package.client.ApiClient(loaded) as client:
            yield client

    return opened


@pytest.fixture
def kr8s_api(kubeconfig: Path) -> Any:
    """An ``Api`` of kr8s, for synchronous tests; its objects take it by ``api=``."""
    kr8s = _installed("kr8s", "kr8s")
    return kr8s.api(kubeconfig=str(kubeconfig))


@pytest.fixture
def kr8s_asyncio_api(kubeconfig: Path) -> Callable[[], Any]:
    """A function to await for an ``Api`` of kr8s.asyncio."""
    package = _installed("kr8s.asyncio", "kr8s")

    def opened() -> Any:
        return package.api(kubeconfig=str(kubeconfig))

    return opened


@pytest.fixture
def lightkube_client(kubeconfig: Path) -> Iterator[Any]:
    """A ``Client`` of lightkube."""
    lightkube = _installed("lightkube", "lightkube")
    config = lightkube.KubeConfig.from_file(kubeconfig)
    with lightkube.Client(config=config, trust_env=False) as client:
        yield client


@pytest.fixture
def lightkube_async_client(kubeconfig: Path) -> Callable[[], AbstractAsyncContextManager[Any]]:
    """Opens an ``AsyncClient`` of lightkube, by ``async with``."""
    lightkube = _installed("lightkube", "lightkube")
    config = lightkube.KubeConfig.from_file(kubeconfig)

    def opened() -> AbstractAsyncContextManager[Any]:
        client: AbstractAsyncContextManager[Any] = lightkube.AsyncClient(
            config=config, trust_env=False
        )
        return client

    return opened


@pytest.fixture
def kopf_runner(kubeconfig: Path) -> Callable[..., AbstractContextManager[Any]]:
    """A ``KopfRunner``, which runs an operator beside the test for as long as a block lasts."""
    del kubeconfig  # which KUBECONFIG names
    testing = _installed("kopf.testing", "kopf")
    runner: Callable[..., AbstractContextManager[Any]] = testing.KopfRunner
    return runner
