"""Pages are written in slices; what reads and writes them is tested with lists."""

import pytest

from kubetrio.resources import paging
from kubetrio.store.model import KeyValue


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 100])
def test_slices_are_the_whole(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, none empty, each as small as it may be."""
    monkeypatch.setattr(paging, "SLICE_BYTES", 8)
    for step in (1, 3, 8, 20):
        values = [KeyValue(str(n), b"x" * step, 1, 1) for n in range(size)]
        found = list(paging.slices(values))
        assert [value for some in found for value in some] == values
        assert all(found)
        assert all((len(some) - 1) * step < 8 for some in found)
