"""Examples of the page about faults pass, and operators ride over faults."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
PAGE = Path(__file__).parent.parent.parent / "docs" / "how-to" / "inject-faults.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
PLUGIN = 'pytest_plugins = ["kubetrio.pytest_plugin"]\n'
pytestmark = pytest.mark.e2e

OPERATOR = """\
import kopf

@kopf.on.create("configmaps", labels={"watched": "yes"})
def created(patch, **_):
    patch.setdefault("data", {})["seen"] = "by kopf"
"""
RIDES_OVER = """\
from kubernetes import client
from kubetrio.faults import Rule

FAULTS = [
    Rule(fault="500", id="patches", verb="patch", resource="configmaps", count=1),
    Rule(fault="429", id="lists", verb="list", resource="configmaps", count=1),
    Rule(fault="410", id="expires", verb="watch", resource="configmaps", count=1),
    Rule(fault="watch-drop", id="drops", verb="watch", resource="configmaps", count=1,
         after_events=1),
]


def test_kopf(kube_cluster, kopf_runner, kubernetes_client, kube_namespace):
    for rule in FAULTS:
        kube_cluster.faults.add(rule)
    core = client.CoreV1Api(kubernetes_client)
    settings = ["--namespace", kube_namespace, "--standalone"]
    with kopf_runner(["run", *settings, "riding.py"], timeout=60):
        for name in ("one", "two"):
            meta = {"name": name, "labels": {"watched": "yes"}}
            core.create_namespaced_config_map(kube_namespace, {"metadata": meta})
        seen = set()
        while seen != {"one", "two"}:
            for one in core.list_namespaced_config_map(kube_namespace, limit=5).items:
                if (one.data or {}).get("seen") == "by kopf":
                    seen.add(one.metadata.name)
    struck = {rule["id"]: rule["injected"] for rule in kube_cluster.faults.rules()}
    assert struck == {"patches": 1, "lists": 1, "expires": 1, "drops": 1}


def test_none_is_left_for_the_next_test(kube_cluster):
    assert kube_cluster.faults.rules() == []
"""


def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.RunResult:
    pytester.makeconftest(PLUGIN)
    monkeypatch.setenv("PYTHONPATH", str(PAGE.parent.parent.parent), prepend=":")
    quiet = ["-p", "no:cacheprovider", "-q"]
    if importlib.util.find_spec("pytest_asyncio"):
        quiet += ["-o", "asyncio_default_fixture_loop_scope=function"]
    # Installed with an entry point or not: the plugin is the one of this tree, once.
    # Those of Hypothesis and Trio take a third of the session, and nothing here uses them.
    quiet += [f"-pno:{name}" for name in ("kubetrio", "hypothesispytest", "schemathesis", "trio")]
    return pytester.runpytest_subprocess(*quiet, timeout=120)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_examples_of_the_page_pass(
    example: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each in a session of its own."""
    if importlib.util.find_spec("kubernetes") is None:
        pytest.skip("kubernetes is not installed")
    pytester.makepyfile(example)
    run(pytester, monkeypatch).assert_outcomes(passed=1)


def test_kopf_rides_over_faults(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does its work in the end; and the next test has no faults."""
    for package in ("kopf", "kubernetes"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    pytester.path.joinpath("riding.py").write_text(OPERATOR)
    pytester.makepyfile(RIDES_OVER)
    run(pytester, monkeypatch).assert_outcomes(passed=2)
