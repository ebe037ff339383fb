"""Scripts are read from files, and what is none is one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubetrio.cli import main
from kubetrio.cli.common import Failure
from kubetrio.cli.scriptfile import HARMLESS, read_script, refuse_flags
from kubetrio.flags import parser
from kubetrio.harness.script import Script, Settle
from kubetrio.harness.setup import Setup

PATHS = {"FILE", "DIR", "SOCKET", "CERT,KEY"}
"""What help says in place of the value of a flag that names files."""


def test_a_script_is_read(tmp_path: Path) -> None:
    """As it was saved."""
    script = Script(steps=(Settle(),))
    script.save(tmp_path / "s.json")
    assert read_script(tmp_path / "s.json") == script


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff", "utf-8"),
        (b"a: b", "no JSON"),
        (b"[]", "format"),
        (b"[" * 100_000, "nested more than"),
        (b'{"seed":' + b"9" * 5000 + b"}", "no JSON"),
        (None, "No such file"),
    ],
)
def test_what_is_no_script(content: bytes | None, said: str, tmp_path: Path) -> None:
    """Names the file and says what is wrong."""
    path = tmp_path / "s.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Failure, match=said) as failure:
        read_script(path)
    assert "s.json" in str(failure.value)


@pytest.fixture
def flags() -> dict[str, str]:
    """The flags of ``kubetrio serve``, with what help says in place of their values."""
    made = parser.Parser(prog="kubetrio serve")
    parser.add_serve(made)
    return {
        name: str(action.metavar or "")
        for action in made._actions
        for name in action.option_strings
    }


def test_flags_that_are_taken_name_no_files(flags: dict[str, str]) -> None:
    """Each exists, and none of those of files and directories is among them."""
    assert set(flags) >= HARMLESS
    assert not [name for name in HARMLESS if flags[name] in PATHS]
    refuse_flags(Path("s"), Script(setup=Setup(flags=[f"{name}=1" for name in HARMLESS])))


@pytest.mark.parametrize(
    "flag",
    [
        "--data-dir=/tmp/x", "--audit-log-path=/tmp/x", "--audit-log-pat=/tmp/x", "--config=/x",
        "--token-auth-file=/etc/passwd", "--unix-socket=/tmp/x", "--write-kubeconfig=/tmp/x",
        "--secure-port=6443", "--bind-address=0.0.0.0", "--etcd-servers=http://10.0.0.1",
        "--oidc-issuer-url=https://10.0.0.1", "--audit-webhook-config-file=/x", "--help",
        "--secure-serving=true", "--detach", "--no-such-flag",
    ],
)  # fmt: skip
def test_other_flags_are_refused(flag: str) -> None:
    """The flag is named, and what to do."""
    script = Script(setup=Setup(flags=["--event-ttl=5m", flag]))
    with pytest.raises(Failure, match="take it out of the script") as failure:
        refuse_flags(Path("s.json"), script)
    assert f"s.json: server.flags: {flag.partition('=')[0]} is" in str(failure.value)


@pytest.mark.parametrize("command", ["ui", "replay"])
def test_commands_refuse_flags(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written where a flag says."""
    target = tmp_path / "written"
    Script(setup=Setup(flags=[f"--audit-log-path={target}"])).save(tmp_path / "s.json")
    assert main([command, str(tmp_path / "s.json")]) == 1
    assert "--audit-log-path" in capsys.readouterr().err
    assert not target.exists()
