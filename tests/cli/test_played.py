"""A script is done again, and what it wrote is served read-only, at each of its steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio

from kubetrio.api.request import Request as ApiRequest
from kubetrio.api.request import by_name
from kubetrio.cli import main
from kubetrio.cli.played import Played, play
from kubetrio.env import Env
from kubetrio.harness import Script, Setup, replayed
from kubetrio.harness.script import Move, Request

MAPS = "/api/v1/namespaces/default/configmaps"


def a_map(value: str) -> dict[str, Any]:
    """A ConfigMap."""
    return {"metadata": {"name": "a"}, "data": {"k": value}}


STEPS = (
    Request(method="POST", path=MAPS, body=a_map("1")),
    Move(seconds=3600),
    Request(method="PUT", path=f"{MAPS}/a", body=a_map("2")),
    Request(method="DELETE", path=f"{MAPS}/a"),
)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """The script of a file, done again."""
    path = tmp_path_factory.mktemp("script") / "story.json"
    replayed(Script(setup=Setup(seed=3), steps=STEPS)).save(path)
    return play(path)


async def test_the_cluster_at_each_step(played: Played) -> None:
    """Objects as they were after it, though the hour compacted history; nothing is written."""
    with trio.fail_after(60):
        async with played.serve(Env()) as handle:

            async def ask(method: str, path: str) -> Any:
                headers = [(b"host", b"x")]
                path, _, query = path.partition("?")
                return await handle(ApiRequest(method, path, query, by_name(headers), headers))

            about = json.loads((await ask("GET", "/ui/about")).body)
            assert (about["cluster"], about["steps"]) == ("story.json", 4)
            assert "4 steps" in about["kept"]
            steps = json.loads((await ask("GET", "/ui/steps")).body)["items"]
            assert [one["status"] for one in steps] == [201, 0, 200, 200]
            states = []
            for step in steps:
                exact = f"resourceVersion={step['revision']}&resourceVersionMatch=Exact"
                found = json.loads((await ask("GET", f"{MAPS}?{exact}")).body)["items"]
                states.append([one["data"] for one in found if one["metadata"]["name"] == "a"])
            assert states == [[{"k": "1"}], [{"k": "1"}], [{"k": "2"}], []]
            past = json.loads((await ask("GET", f"/ui/history{MAPS}/a")).body)["items"]
            assert [one["verb"] for one in past] == ["delete", "update", "create"]
            assert [one["time"] for one in past] == [
                steps[3]["time"], steps[2]["time"], steps[0]["time"],
            ]  # fmt: skip
            then = json.loads((await ask("GET", f"/ui/moment?time={steps[1]['time']}")).body)
            assert then["revision"] == steps[0]["revision"]
            assert json.loads((await ask("GET", "/ui/steps/3")).body)["earlier"]["number"] == 1
            assert (await ask("GET", "/ui/steps/5")).status == 404
            for method in ("POST", "DELETE", "PATCH", "PUT"):
                assert (await ask(method, MAPS)).status in (403, 405)
            assert (await ask("POST", "/ui/steps")).status == 403


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file"),
        ("apiVersion: v1", "a kubeconfig is named with --kubeconfig"),
        ("{}", "kubetrio.harness records"),
        ('{"format":"kubetrio-script/1","steps":[],"server":{"flags":["--x"]}}', "--x is not"),
    ],
)
def test_what_cannot_be_shown_is_one_line(
    text: str | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the next step."""
    path = tmp_path / "s.json"
    if text is not None:
        path.write_text(text)
    assert main(["ui", str(path)]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_directory_is_named_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The flag is told."""
    assert main(["ui", str(tmp_path)]) == 1
    assert f"kubetrio ui --data-dir {tmp_path}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "flag", ["--kubeconfig", "--audit-log-path", "--encryption-provider-config", "--data-dir"]
)
def test_a_script_needs_no_server(
    flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Naming one too is a mistake on the command line."""
    with pytest.raises(SystemExit):
        main(["ui", str(tmp_path / "s.json"), flag, str(tmp_path / "x")])
    assert f"leave {flag} out" in capsys.readouterr().err
