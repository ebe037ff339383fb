"""Commands about a data directory that has no database."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubetrio.cli import main
from kubetrio.store.lock import DirectoryLock
from kubetrio.store.remote import Remote, leave

COMMANDS = (
    ("backup", "b.tar"),
    ("export",),
    ("verify",),
    ("history", "pod", "p"),
    ("diff", "1", "2"),
    ("compact",),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_they_say_why_there_is_none(
    command: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server that has the directory keeps everything in memory; else it is another one."""
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    data.mkdir()
    arguments = [*command, "--data-dir", str(data)]
    begin = f"kubetrio: {data} has no kubetrio.db: "
    lock = DirectoryLock(data)
    try:
        assert main(arguments) == 1
    finally:
        lock.release()
    assert capsys.readouterr().err == (
        f"{begin}the server that runs on it keeps everything in memory; read objects from it with "
        "kubectl, or start it without --in-memory\n"
    )
    assert main(arguments) == 1
    named = "name the directory of a server with --data-dir\n"
    assert capsys.readouterr().err == begin + named
    data.joinpath("kubetrio.lock").unlink(missing_ok=True)
    data.rmdir()
    assert main(arguments) == 1
    assert capsys.readouterr().err == begin + named


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("former", [False, True])
def test_they_say_that_objects_are_in_etcd(
    command: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    former: bool,
) -> None:
    """With the command that copies them; a database of before is not taken for what is there."""
    monkeypatch.chdir(tmp_path)
    leave(tmp_path, Remote(["http://127.0.0.1:2379"], "/mine"))
    older = ""
    if former:
        (tmp_path / "kubetrio.db").write_bytes(b"")
        older = f" {tmp_path}/kubetrio.db is older; remove kubetrio.etcd to use it."
    assert main([*command, "--data-dir", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        f"kubetrio: the server of {tmp_path} keeps objects in etcd.{older} Copy them, kubetrio "
        "migrate from-etcd --etcd-servers http://127.0.0.1:2379 --etcd-prefix /mine --data-dir "
        "COPY, and name COPY with --data-dir; a backup of etcd is made with etcdctl snapshot save\n"
    )
