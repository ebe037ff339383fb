"""One run of an operator in a process: faults, deaths, states, and what it was seen to do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from simulated_operators import SHELF, books

from kubetrio.faults import Rule
from kubetrio.harness.operators.calls import OPERATOR
from kubetrio.harness.operators.ground import PrepareError
from kubetrio.harness.operators.outside.attempt import attempt
from kubetrio.harness.operators.outside.program import Program
from kubetrio.harness.operators.outside.trials import Attempt, Pace, Trial
from kubetrio.harness.operators.plans import Crash, Plan, Step
from kubetrio.harness.operators.subjects import subject
from kubetrio.harness.script import Inject, Settle

pytest.importorskip("kubernetes", reason="the kubernetes client is not installed")
pytestmark = pytest.mark.e2e
ABOUT = subject(SHELF)
NOTES = """\
import time
from kubernetes import client, config
config.load_kube_config()
core, custom = client.CoreV1Api(), client.CustomObjectsApi()
while True:
    there = [one.metadata.name for one in core.list_namespaced_config_map("default").items]
    for shelf in custom.list_cluster_custom_object("example.com", "v1", "shelves")["items"]:
        name = shelf["metadata"]["name"]
        if name not in there:
            try:
                core.create_namespaced_config_map("default", {"metadata": {"name": name}})
            except client.ApiException as error:
                print("refused", error.status, flush=True)
    time.sleep(0.05)
"""
"""Makes a ConfigMap for each Shelf, by asking again and again."""


def tried(folder: Path, *steps: Step) -> Attempt:
    """A run of that operator."""
    script = folder / "notes.py"
    script.write_text(NOTES)
    return attempt(
        Trial(
            program=Program(words=(sys.executable, str(script)), log=folder / "log"),
            plan=Plan(steps=steps),
            pace=Pace(quiet_s=0.5, limit_s=4, patience_s=10),
            before=ABOUT.before,
            manifests=({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},),
        )
    )


def maps(objects: object) -> list[str]:
    """Names of the ConfigMaps that are no stubs."""
    assert isinstance(objects, list)
    return [
        one["metadata"]["name"]
        for one in objects
        if one["kind"] == "ConfigMap" and "creationTimestamp" in one["metadata"]
    ]


def test_temporary_files_go_with_the_server(tmp_path: Path) -> None:
    """The client keeps its certificate and key in files, and has no time to remove them."""
    script = tmp_path / "keeping.py"
    told = tmp_path / "told"
    script.write_text(
        "import pathlib, tempfile\n"
        "kept = tempfile.NamedTemporaryFile(delete=False)\n"
        f"pathlib.Path({str(told)!r}).write_text(kept.name)\n" + NOTES
    )
    program = Program(words=(sys.executable, str(script)))
    attempt(Trial(program=program, plan=Plan(), pace=Pace(quiet_s=0.5, limit_s=4, patience_s=10)))
    kept = Path(told.read_text())
    assert kept.parent.name.startswith("kubetrio-")
    assert not kept.parent.exists()


def test_faults_deaths_and_states(tmp_path: Path) -> None:
    """A fault holds until the end, and the operator goes on after its death."""
    run = tried(
        tmp_path,
        ABOUT.create("a", books(1)),
        Settle(),
        Inject(rule=Rule(fault="503", verb="create", resource="configmaps")),
        Crash(down_s=100),
        ABOUT.create("b", books(1)),
        Settle(),
    )
    assert (run.answers, run.crashes, run.silent, run.exhausted) == ([201, 201], [], False, False)
    first, one, other, last = (maps(state.objects) for state in run.states)
    assert (first, one, other, sorted(last)) == ([], ["a"], ["a"], ["a", "b"])
    assert sorted(maps(run.after)) == ["a", "b"]
    assert "refused 503" in (tmp_path / "log").read_text()
    faults = [call.fault for call in run.calls if call.status == 503]
    assert set(faults) == set(run.rules)
    assert {call.user for call in run.calls} == {OPERATOR.name, "kubernetes-admin"}
    made = [call.at for call in run.calls if call.user != OPERATOR.name]
    assert made[1] - made[0] > 100  # the server's clock moved while the operator was down
    stubs = [obj for obj in run.after if obj["metadata"]["name"] == "shop"]
    assert [set(obj) for obj in stubs] == [{"kind", "metadata"}]


def test_what_is_to_be_there_cannot_be_made() -> None:
    """One line says what."""
    manifest = {"apiVersion": "v9", "kind": "Nothing", "metadata": {"name": "x"}}
    trial = Trial(program=Program(words=("true",)), plan=Plan(), manifests=(manifest,))
    with pytest.raises(PrepareError, match=r'Nothing x: .*no matches for kind "Nothing"'):
        attempt(trial)
