"""The disk below SQLite fails on demand."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from kubetrio.harness.disk import Fault, FaultyDisk


@pytest.mark.parametrize(
    ("fault", "error"), [(Fault.FULL, apsw.FullError), (Fault.SYNC, apsw.IOError)]
)
def test_writes_fail_while_the_disk_does(
    tmp_path: Path, fault: Fault, error: type[Exception]
) -> None:
    """And succeed when it does not any more."""
    with FaultyDisk() as disk:
        database = apsw.Connection(str(tmp_path / "a.db"))
        database.execute("create table t(x)")
        disk.fault = fault
        with pytest.raises(error):
            database.execute("insert into t values(1)")
        disk.fault = Fault.NONE
        database.execute("insert into t values(2)")
        assert database.execute("select x from t").fetchall() == [(2,)]
        database.close()
    assert "kubetrio-faulty" not in apsw.vfs_names()


def test_reads_fail_while_the_disk_does(tmp_path: Path) -> None:
    """Of a database that is opened anew, so that nothing of it is in memory."""
    path = str(tmp_path / "a.db")
    apsw.Connection(path).execute("create table t(x)")
    with FaultyDisk() as disk:
        database = apsw.Connection(path)
        disk.fault = Fault.READ
        with pytest.raises(apsw.IOError):
            database.execute("select * from t").fetchall()
        database.close()
