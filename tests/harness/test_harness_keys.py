"""The keys of servers in memory are the same in each run."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from kubetrio.harness.keys import PRIMES, write_keys
from kubetrio.tls import pki

NOW = dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC)


def test_the_same_bytes_are_written_each_time(tmp_path: Path) -> None:
    """Keys and certificates, readable by their owner alone."""
    for place in ("a", "b"):
        write_keys(tmp_path / place, NOW)
    files = sorted((tmp_path / "a").iterdir())
    assert len(files) == len(PRIMES) + 2
    for file in files:
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()
        assert file.stat().st_mode & 0o077 == 0


def test_a_server_takes_them_as_its_own(tmp_path: Path) -> None:
    """It makes what is missing, and leaves these."""
    write_keys(tmp_path, NOW)
    made = pki.ensure(tmp_path, now=NOW, hosts=[])
    assert set(made.issued) == {
        "sa.pub", "apiserver.key", "apiserver.crt", "admin.key", "admin.crt",
    }  # fmt: skip
