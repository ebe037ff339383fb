"""The table of plugins."""

from __future__ import annotations

from kubetrio.controllers.scheduler.framework import Happening
from kubetrio.controllers.scheduler.plugins.profile import FILTERS, SCORES


def test_names_are_unique_and_every_refusal_can_be_helped() -> None:
    """A plugin that nothing helps would leave a pod waiting until its rest is over."""
    for table in (FILTERS, SCORES):
        names = [plugin.name for plugin in table]
        assert len(set(names)) == len(names)
    assert all(Happening.NODE in plugin.helped_by for plugin in FILTERS)
    assert {what for plugin in FILTERS for what in plugin.helped_by} == set(Happening)
