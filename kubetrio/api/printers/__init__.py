"""Printers of the built-in resources: which function makes the cells of which resource."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.api.printers import (
    autoscaling,
    core,
    extensions,
    network,
    pods,
    policy,
    storage,
    workloads,
)
from kubetrio.api.printers.model import Cells, GroupResourceKey

#: Cells by (group, plural name), for the resources that have a printer of their own.
CELLS: Mapping[GroupResourceKey, Cells] = {
    **autoscaling.CELLS,
    **core.CELLS,
    **extensions.CELLS,
    **network.CELLS,
    **pods.CELLS,
    **policy.CELLS,
    **storage.CELLS,
    **workloads.CELLS,
}
