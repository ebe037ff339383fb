"""Parts of built-in kinds, where something is missing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from checks.helpers import resource

from kubetrio.kinds.common.builtinkind import MissingPart
from kubetrio.resources.validation import validate_create


def test_a_built_in_kind_of_which_nothing_is_said_is_an_error() -> None:
    """It is not served without checks."""
    thing = replace(resource("configmaps"), resource="maps")
    with pytest.raises(MissingPart, match="says nothing of maps"):
        validate_create(thing, {"spec": {}})
    with pytest.raises(MissingPart, match="no such module for the group"):
        validate_create(replace(thing, group="elsewhere.io"), {"spec": {}})


def test_rules_of_pods() -> None:
    """Rules are found by resource."""
    assert resource("pods").rules.validation.create is not None
