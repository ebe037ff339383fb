"""Scripts are played against servers that run elsewhere, and as shell scripts."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import trio

from kubetrio.faults import Rule
from kubetrio.harness import Harness, Script, Setup, diff, live, perform, run, shell
from kubetrio.harness.script import Inject, Move, Request, Restart, Settle, Watch
from kubetrio.kubeconfig import write

pytestmark = pytest.mark.e2e
MAPS = "/api/v1/namespaces/default/configmaps"
MADE = {"metadata": {"generateName": "a-"}, "data": {"quote": 'it\'s "x"'}}
CHANGED = {"metadata": {"name": "{{2.metadata.name}}"}, "data": {"uid": "uid {{2.metadata.uid}}"}}
STEPS = (
    Watch(path=f"{MAPS}?watch=1&timeoutSeconds=2"),
    Request(method="POST", path=MAPS, body=MADE),
    Request(method="PUT", path=f"{MAPS}/{{{{2.metadata.name}}}}", body=CHANGED),
    Request(path="/api/v1/secrets", user="alice"),
    Settle(),
)
FAULTS = ["--fault-injection", "--plain-port=0"]


def test_a_live_server_answers_alike(tmp_path: Path) -> None:
    """As one in memory, but for what is particular to a server; what cannot be done is said."""
    script = Script(steps=STEPS)

    async def there(server: Harness) -> Script:
        write(tmp_path / "kubeconfig", server.kubeconfig())
        more = (
            Move(seconds=5),
            Restart(),
            Inject(rule=Rule(fault="500", resource="configmaps", verb="list")),
            Request(path=MAPS),
            Inject(),
        )
        async with live(tmp_path / "kubeconfig") as player:
            done = await perform(Script(steps=(*STEPS, *more)), player)
        told = [step.answer.error if step.answer else "" for step in done.steps[len(STEPS) :]]
        assert told[0].startswith("not done: the clock")
        assert told[1:] == ["not done: a live server is not started again", "", "", ""]
        asked = done.steps[len(STEPS) + 3].answer
        assert asked is not None
        assert asked.status == 500
        return Script(steps=done.steps[: len(STEPS)])

    async def here(server: Harness) -> Script:
        from kubetrio.harness.inprocess import playing

        async with playing(server) as player:
            return await perform(script, player)

    found = run(there, Setup(listen=True, flags=FAULTS))
    assert [str(one) for one in diff(run(here), found, exact=False)] == []


@pytest.mark.skipif(not all(map(shutil.which, ("curl", "jq"))), reason="needs curl and jq")
def test_the_shell_script_does_the_same(tmp_path: Path) -> None:
    """By curl and jq, on the plain port."""
    text = shell(Script(steps=STEPS))

    async def main(server: Harness) -> str:
        listening = server.server.listeners
        [plain] = [one for one in listening.all if one is not listening.secure]
        done = await trio.run_process(
            ["/bin/sh", "-c", text],
            env={**os.environ, "SERVER": f"http://127.0.0.1:{plain.port}"},
            capture_stdout=True,
            capture_stderr=True,
        )
        stored = await server.client().list(server.client().kind("v1", "ConfigMap"), "default")
        [made] = [one for one in stored.items if one["metadata"]["name"].startswith("a-")]
        assert made["data"] == {"uid": f"uid {made['metadata']['uid']}"}
        return done.stdout.decode()

    said = run(main, Setup(listen=True, flags=FAULTS))
    assert '"type":"MODIFIED"' in said
    assert "cannot list resource" in said
