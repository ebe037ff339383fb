"""A script is lines of curl; tests/harness/test_live.py runs them."""

from __future__ import annotations

import subprocess

import pytest

from kubetrio.faults import Rule
from kubetrio.harness.script import Inject, Move, Request, Restart, Script, Settle, Step, Watch
from kubetrio.harness.shell import HEAD, shell

PIPED = "printf %s /w== | base64 -d |"


def lines(*steps: Step) -> list[str]:
    """Lines without the head and the numbers of steps."""
    text = shell(Script(steps=steps))
    assert text.startswith(HEAD)
    return [line for line in text.removeprefix(HEAD).splitlines() if line and line[:6] != "# step"]


@pytest.mark.parametrize(
    ("step", "line"),
    [
        (Request(path="/api/v1/pods?limit=1"), "curl -sS \"$SERVER\"'/api/v1/pods?limit=1'"),
        (Request(path="/a", method="DELETE"), 'curl -sS -X DELETE "$SERVER"/a'),
        (
            Request(path="/a", method="POST", text="x: y", headers={"Content-Type": "t"}),
            "curl -sS \"$SERVER\"/a -H 'Content-Type: t' --data-binary 'x: y'",
        ),
        (
            Request(path="/a", method="POST", base64="/w==", headers={"Content-Type": "t"}),
            f"{PIPED} curl -sS \"$SERVER\"/a -H 'Content-Type: t' --data-binary @-",
        ),
        (
            Request(path="/a", user="u", groups=("g",)),
            "curl -sS \"$SERVER\"/a -H 'Impersonate-User: u' -H 'Impersonate-Group: g'",
        ),
        (Move(seconds=5), "# the clock moves by 5 seconds: sleep 5"),
        (Inject(), 'curl -sS -X DELETE "$SERVER"/debug/faults'),
        (
            Inject(rule=Rule(fault="500")),
            'curl -sS "$SERVER"/debug/faults -d \'{"fault": "500"}\'',
        ),
        (Settle(), "sleep 1  # the controllers do what there is to do"),
        (Restart(), "# the server is stopped and started again"),
    ],
)
def test_each_step_is_a_line(step: Step, line: str) -> None:
    """Quoted for the shell."""
    assert lines(step) == [line]


def test_watches_run_beside_the_rest() -> None:
    """And are waited for at the end."""
    assert lines(Watch(path="/w")) == [
        'curl -sSN "$SERVER"/w &', "wait  # for watches; Ctrl-C ends them",
    ]  # fmt: skip


def test_an_answer_that_is_used_is_kept() -> None:
    """And read by jq, escaped for where it is put."""
    first, second, third = lines(
        Request(path="/a"),
        Request(path="/b/{{1.metadata.name}}"),
        Request(path="/c", method="PUT", body={"n": "{{1.n}}", "t": "x{{1.items.0.a-b}}"}),
    )
    assert first == 'A1=$(curl -sS "$SERVER"/a); printf "%s\\n" "$A1"'
    jq = 'jq -r \'.["metadata"]["name"]|tostring|@uri\''
    assert second == f'curl -sS "$SERVER"/b/"$(printf %s "${{A1-}}" | {jq})"'
    assert "jq -c '.[\"n\"]'" in third
    assert 'jq -r \'.["items"][0]["a-b"]|tostring|tojson[1:-1]\'' in third


def test_it_is_a_shell_script() -> None:
    """The shell reads it; nothing is run."""
    text = shell(Script(steps=[Request(path="/'\"$(x)", method="POST", body={"a": "'`x`"})]))
    subprocess.run(["/bin/sh", "-n"], input=text.encode(), check=True)
