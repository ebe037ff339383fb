"""The pytest plugin, as somebody has it who installed the package: in processes of pytest."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "how-to" / "test-with-pytest.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
Run = Callable[..., pytest.RunResult]
pytest_plugins = ["pytester"]
pytestmark = pytest.mark.e2e
UNUSED = ("hypothesispytest", "schemathesis", "trio")
"""Plugins that a session loads for nothing, in a third of its time."""


def needs(package: str) -> None:
    """Skip a test that needs a package; not by its import, which `pytester` would undo by half."""
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs pytest, which finds the plugin by the entry point that pyproject.toml names."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    info = pytester.mkdir("site") / "entry_point-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: entry-point\nVersion: 0\n")
    lines = [f"{name} = {module}" for name, module in points["pytest11"].items()]
    (info / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines]))
    monkeypatch.setenv("PYTHONPATH", f"{info.parent}:{ROOT}", prepend=":")

    def run(*arguments: str, without: Sequence[str] = UNUSED) -> pytest.RunResult:
        quiet = ["-p", "no:cacheprovider", "-q", "-W", "error::pytest.PytestWarning"]
        if importlib.util.find_spec("pytest_asyncio"):
            quiet += ["-o", "asyncio_default_fixture_loop_scope=function"]
        quiet += [f"-pno:{name}" for name in without]
        return pytester.runpytest_subprocess(*quiet, *arguments, timeout=120)

    return run


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_of_the_page_pass(example: str, run: Run, pytester: pytest.Pytester) -> None:
    """Each in a session of its own."""
    for module in re.findall(r"^from (kubernetes\w*) import", example, re.MULTILINE):
        needs(module)
    pytester.makepyfile(example)
    run().assert_outcomes(passed=1)


def test_modules_of_the_server_are_not_rewritten(run: Run, pytester: pytest.Pytester) -> None:
    """pytest marks all of a distribution that has a plugin, which costs the first session."""
    pytester.makeconftest("import pytest\n\npytest.register_assert_rewrite('kubetrio')\n")
    pytester.makepyfile(
        """
        from importlib.machinery import SourceFileLoader
        from kubetrio.runtime import groups

        def test_it():
            assert type(groups.__spec__.loader) is SourceFileLoader
        """
    )
    run("-W", "ignore::pytest.PytestAssertRewriteWarning").assert_outcomes(passed=1)


def test_nothing_of_one_test_is_seen_in_the_next(run: Run, pytester: pytest.Pytester) -> None:
    """Whatever the order: the same assertions hold in each."""
    pytester.makepyfile(
        """
        import os
        import pytest

        @pytest.mark.parametrize("n", range(5))
        def test_it(kube_cluster, kubeconfig, n):
            client = kube_cluster.server.client()
            namespaces = client.kind("v1", "Namespace")

            async def names():
                return sorted(o["metadata"]["name"] for o in (await client.list(namespaces)).items)

            assert kube_cluster.call(names) == [
                "default", "kube-node-lease", "kube-public", "kube-system"
            ]
            made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mine"}}
            kube_cluster.call(client.create, made)
            assert os.environ["KUBECONFIG"] == str(kubeconfig)

        def test_namespace(kube_cluster, kube_namespace):
            client = kube_cluster.server.client()

            async def accounts():
                found = await client.list(client.kind("v1", "ServiceAccount"), kube_namespace)
                return [o["metadata"]["name"] for o in found.items]

            assert kube_cluster.call(accounts) == ["default"]

        def test_environment_is_restored():
            assert "KUBECONFIG" not in os.environ
        """
    )
    run().assert_outcomes(passed=7)


CLIENTS = {
    "kubernetes": """
        def test_it(kubernetes_client):
            from kubernetes import client
            assert len(client.CoreV1Api(kubernetes_client).list_namespace().items) == 4
        """,
    "kubernetes_asyncio": """
        import asyncio

        def test_it(kubernetes_asyncio_client):
            from kubernetes_asyncio import client

            async def main():
                async with kubernetes_asyncio_client() as api:
                    return await client.CoreV1Api(api).list_namespace()

            assert len(asyncio.run(main()).items) == 4
        """,
    "kr8s": """
        import asyncio

        def test_it(kr8s_api, kr8s_asyncio_api):
            assert len(list(kr8s_api.get("namespaces"))) == 4

            async def main():
                api = await kr8s_asyncio_api()
                return [one async for one in api.get("namespaces")]

            assert len(asyncio.run(main())) == 4
        """,
    "lightkube": """
        import asyncio

        def test_it(lightkube_client, lightkube_async_client):
            from lightkube.resources.core_v1 import Namespace
            assert len(list(lightkube_client.list(Namespace))) == 4

            async def main():
                async with lightkube_async_client() as api:
                    return [one async for one in api.list(Namespace)]

            assert len(asyncio.run(main())) == 4
        """,
}


@pytest.mark.parametrize("package", CLIENTS)
def test_clients_are_ready(package: str, run: Run, pytester: pytest.Pytester) -> None:
    """Those that are installed."""
    needs(package)
    pytester.makepyfile(CLIENTS[package])
    run().assert_outcomes(passed=1)


def test_an_operator_runs_beside_a_test(run: Run, pytester: pytest.Pytester) -> None:
    """A handler of kopf sees what the test makes."""
    for package in ("kopf", "kubernetes"):
        needs(package)
    pytester.makepyfile(
        operator_program="""
        import kopf

        @kopf.on.create("configmaps", labels={"watched": "yes"})
        def created(patch, **_):
            patch.setdefault("data", {})["seen"] = "by kopf"
        """,
        test_operator="""
        import time
        from kubernetes import client

        def test_it(kopf_runner, kubernetes_client, kube_namespace):
            core = client.CoreV1Api(kubernetes_client)
            command = ["run", "--standalone", "-n", kube_namespace, "operator_program.py"]
            with kopf_runner(command, timeout=60) as runner:
                meta = {"name": "watched", "labels": {"watched": "yes"}}
                core.create_namespaced_config_map(kube_namespace, {"metadata": meta})
                until = time.monotonic() + 30
                while time.monotonic() < until:
                    found = core.read_namespaced_config_map("watched", kube_namespace)
                    if found.data:
                        break
                    time.sleep(0.05)
            assert runner.exit_code == 0
            assert found.data == {"seen": "by kopf"}
        """,
    )
    run().assert_outcomes(passed=1)


FLAVOURS = {
    "pytest_trio": ("@pytest.mark.trio", "trio"),
    "anyio": ("@pytest.mark.anyio", "anyio"),
    "pytest_asyncio": ("@pytest.mark.asyncio", "asyncio"),
}


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_asynchronous_tests_have_the_same_fixtures(
    flavour: str, run: Run, pytester: pytest.Pytester
) -> None:
    """A test under each of the plugins for them, without blocking its event loop."""
    needs(flavour)
    mark, library = FLAVOURS[flavour]
    backend = "anyio_backend, " if flavour == "anyio" else ""
    pytester.makepyfile(
        f"""
        import pytest, ssl, {library}
        from kubetrio.threads import ServerThread

        {mark}
        async def test_it({backend}kube_cluster, kube_namespace, kubeconfig):
            await {library}.sleep(0)
            assert isinstance(kube_cluster, ServerThread)
            assert kubeconfig.exists()
            client = kube_cluster.server.client()
            kind = client.kind("v1", "Namespace")
            assert kube_cluster.call(client.get, kind, kube_namespace)["metadata"]["uid"]
        """
    )
    result = run("-o", "trio_mode=false", without=())
    result.assert_outcomes(passed=2 if flavour == "anyio" else 1)


def test_a_missing_client_skips_with_its_name(run: Run, pytester: pytest.Pytester) -> None:
    """And how to get it."""
    pytester.makeconftest("import sys; sys.modules['lightkube'] = None")
    pytester.makepyfile("def test_it(lightkube_client): pass")
    result = run("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*lightkube is not installed: pip install lightkube"])


def test_flags_come_from_settings_and_the_command_line(run: Run, pytester: pytest.Pytester) -> None:
    """The command line's come after; a wrong one is told in a line."""
    pytester.makepyfile(
        """
        def test_it(kube_config, kube_cluster):
            assert kube_config.storage.event_ttl_s == 20
            assert kube_cluster.config is kube_config
            assert kube_config.storage.durability == "full"
        """
    )
    pytester.makeini("[pytest]\nkubetrio_flags = --event-ttl=10s\n")
    run("--kubetrio-flag=--event-ttl=20s", "--kubetrio-flag=--durability=full").assert_outcomes(
        passed=1
    )
    wrong = run("--kubetrio-flag=--evnt-ttl=20s")
    wrong.assert_outcomes(errors=1)
    wrong.stdout.fnmatch_lines(["*flags of kubetrio: *--evnt-ttl=20s*"])


def test_each_worker_of_xdist_has_a_server(run: Run, pytester: pytest.Pytester) -> None:
    """Of its own, on a port of its own."""
    needs("xdist")
    pytester.makepyfile(
        """
        import pathlib, pytest

        @pytest.mark.parametrize("n", range(4))
        def test_it(kube_cluster, worker_id, n):
            pathlib.Path(f"{worker_id}.url").write_text(kube_cluster.url)
        """
    )
    run("-n", "2", "--dist=each").assert_outcomes(passed=8)
    assert len({path.read_text() for path in pytester.path.glob("*.url")}) == 2


def test_who_does_not_use_it_pays_nothing(pytester: pytest.Pytester) -> None:
    """The module imports pytest and nothing of the server."""
    code = (
        "import sys, pytest, kubetrio.pytest_plugin;"
        "print([m for m in sys.modules if m.split('.')[0] in ('trio', 'apsw', 'quart')"
        " or m.startswith('kubetrio.') and m != 'kubetrio.pytest_plugin'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
