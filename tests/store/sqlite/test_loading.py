"""Databases of values whose revisions are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubetrio.store.errors import KeyExists
from kubetrio.store.sqlite.inspection import FILE_NAME, inspect
from kubetrio.store.sqlite.loading import MIGRATED, PARTIAL, Loaded, discard, loading

NOW_MS = 1_700_000_000_000
ROWS = [Loaded("/a", 7, b'{"rev":7}', 7), Loaded("/b", 1000, b"k8s:enc:x", -1)]


def test_values_are_at_their_revisions(tmp_path: Path) -> None:
    """History begins behind the revision of the source, and the file is whole."""
    with loading(tmp_path, NOW_MS) as loader:
        loader.write(ROWS, NOW_MS)
        assert not (tmp_path / FILE_NAME).exists()
        assert loader.written() == {"/a": 7, "/b": 1000}
        assert loader.finish(2000, NOW_MS) == 2001
    with inspect(tmp_path / FILE_NAME) as seen:
        assert (seen.revision, seen.compacted) == (2001, 2001)
        assert seen.live() == [(7, "/a"), (1000, "/b"), (2001, MIGRATED)]
        assert seen.value("/a") == seen.value_of(7) == b'{"rev":7}'
        assert seen.value("/b") == b"k8s:enc:x"
        assert seen.value(MIGRATED) == b'{"from":2000,"revision":2001}'
        assert list(seen.faults(lambda: None)) == []


def test_an_interrupted_load_is_gone_on_with(tmp_path: Path) -> None:
    """Whole batches are there, and one that failed is not."""
    with loading(tmp_path, NOW_MS) as loader:
        loader.write(ROWS[:1], NOW_MS)
        with pytest.raises(KeyExists):
            loader.write([ROWS[1], ROWS[0]._replace(revision=1001)], NOW_MS)
        assert loader.revision == 7
    with loading(tmp_path, NOW_MS) as loader:
        assert loader.written() == {"/a": 7}
        loader.write(ROWS[1:], NOW_MS)
        assert loader.finish(3, NOW_MS) == 1001
    discard(tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(PARTIAL)] == []
    assert (tmp_path / FILE_NAME).exists()
