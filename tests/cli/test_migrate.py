"""``kubetrio migrate``: its flags, what it prints, and its errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubetrio.cli import main
from kubetrio.config.storage import Storage
from kubetrio.datadir import frometcd, toetcd
from kubetrio.datadir.migration import EtcdPlace, Migrated, MigrationError

SERVERS = ("--etcd-servers", "http://127.0.0.1:1,http://127.0.0.1:2")


def test_to_etcd(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flags are those of the server; what did not keep its resourceVersion is counted."""
    asked: list[object] = []

    async def copy(
        directory: Path, place: EtcdPlace, encryption: Path | None, *_: object, renumber: bool
    ) -> Migrated:
        asked.extend((directory, place, encryption, renumber))
        return Migrated(objects=12, before=5, renumbered=2, revision=70)

    monkeypatch.setattr(toetcd, "copy_to_etcd", copy)
    files = ("--etcd-cafile", "ca", "--etcd-certfile", "c", "--etcd-keyfile", "k")
    more = ("--encryption-provider-config", "e", "--renumber", "--event-ttl", "30s")
    flags = (*SERVERS, *files, *more, "--etcd-prefix", "/mine")
    assert main(["migrate", "to-etcd", "--data-dir", str(tmp_path), *flags]) == 0
    place = EtcdPlace(
        servers=("http://127.0.0.1:1", "http://127.0.0.1:2"),
        prefix="/mine",
        media_type="application/vnd.kubernetes.protobuf",
        ca=Path("ca"),
        cert=Path("c"),
        key=Path("k"),
        event_ttl_s=30,
    )
    assert asked == [tmp_path, place, Path("e"), True]
    printed = capsys.readouterr()
    assert printed.out == "/mine: 12 objects, revision 70\n"
    assert printed.err == (
        "kubetrio: 5 of them were there from an interrupted copy\n"
        "kubetrio: 2 objects have another resourceVersion than before\n"
    )


def test_from_etcd(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a server has by default is what it has."""

    async def copy(directory: Path, place: EtcdPlace, *_: object) -> Migrated:
        assert directory == tmp_path
        assert place.event_ttl_s == Storage().event_ttl_s
        return Migrated(objects=3, before=0, renumbered=0, revision=9)

    monkeypatch.setattr(frometcd, "copy_from_etcd", copy)
    assert main(["migrate", "from-etcd", "--data-dir", str(tmp_path), *SERVERS]) == 0
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == (f"{tmp_path}: 3 objects, revision 9\n", "")


def test_errors_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With exit code 1."""

    async def copy(*_: object) -> Migrated:
        raise MigrationError("name another --data-dir")

    monkeypatch.setattr(frometcd, "copy_from_etcd", copy)
    assert main(["migrate", "from-etcd", "--data-dir", str(tmp_path), *SERVERS]) == 1
    assert capsys.readouterr().err == "kubetrio: name another --data-dir\n"


@pytest.mark.parametrize("arguments", [["sideways", *SERVERS], ["to-etcd"]])
def test_usage_errors(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A direction that there is not, and no etcd."""
    with pytest.raises(SystemExit) as caught:
        main(["migrate", *arguments])
    assert caught.value.code == 2
    assert "(see kubetrio migrate --help)" in capsys.readouterr().err
