"""How a real etcd is found and started."""

from pathlib import Path

import pytest

from kubetrio.testing import etcd as found
from kubetrio.testing.etcd import (
    VARIABLE,
    Certificates,
    Etcd,
    Member,
    NotStarted,
    binaries,
    binary,
    etcd,
    free_ports,
    packaged,
)


def test_the_variable_comes_before_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without both there is none, and starting says how to get one."""
    monkeypatch.setenv(VARIABLE, "/somewhere/etcd")
    assert binary() == "/somewhere/etcd"
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(found, "PACKAGE", "no_such_package")
    assert binary() is None
    assert binaries() == []


def test_the_package_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each binary is named once."""
    folder = tmp_path / "some_distro"
    (folder / "etcdbin").mkdir(parents=True)
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(found, "PACKAGE", "some_distro")
    assert packaged() is None
    program = folder / "etcdbin" / "etcd"
    program.touch(mode=0o755)
    assert packaged() == str(program)
    monkeypatch.setenv(VARIABLE, "/somewhere/etcd")
    monkeypatch.setenv("PATH", str(folder / "etcdbin"))
    assert binaries() == ["/somewhere/etcd", str(program)]
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("PATH", "")
    assert binary() == str(program)


def test_no_etcd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting says how to get one."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(found, "PACKAGE", "no_such_package")
    with pytest.raises(NotStarted, match="etcd-server"), etcd(tmp_path):
        pass


def test_a_process_that_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is told with what it printed, and the others do not stay."""
    program = tmp_path / "etcd"
    program.write_text("#!/bin/sh\necho no room; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(program))
    with pytest.raises(NotStarted, match="no room"), etcd(tmp_path / "data", members=2):
        pass


def test_ports_differ() -> None:
    """All of those that are asked for together."""
    assert len(set(free_ports(20))) == 20


def test_command_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the cluster, further flags, and files for TLS where there are some."""
    monkeypatch.setenv(VARIABLE, "etcd")
    member = Member("m", tmp_path, 1, 2, 3)
    cluster = Etcd([member])
    line = member.command("m=http://127.0.0.1:2", ["--x"])
    assert line[0] == "etcd"
    assert line[-1] == "--x"
    assert cluster.urls == ["http://127.0.0.1:1"]
    assert "--cert-file" not in line
    member.certificates = Certificates(tmp_path / "ca", tmp_path / "cert", tmp_path / "key")
    assert cluster.urls == ["https://127.0.0.1:1"]
    assert "--client-cert-auth" in member.command("", [])
