"""How often addresses and node ports were given, as metrics."""

from __future__ import annotations

import pytest

from kubetrio.allocation.counts import DYNAMIC, STATIC, AllocationCounts


def test_an_allocation_counts_as_made_or_failed() -> None:
    """By where it is and by scope; the failure goes on."""
    counts = AllocationCounts("clusterip", "cidr")
    with counts.counted(DYNAMIC, "10.0.0.0/24"):
        pass
    with pytest.raises(KeyError), counts.counted(STATIC, "10.0.0.0/24"):
        raise KeyError
    rows = {
        (row.name, row.labels["scope"]): row.value
        for family in counts.families()
        for row in family.samples
    }
    prefix = "kube_apiserver_clusterip_allocator_allocation"
    assert rows == {(f"{prefix}_total", DYNAMIC): 1, (f"{prefix}_errors_total", STATIC): 1}
