"""Flags of controllers that depend on each other."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.config import ConfigError
from kubetrio.config.controllers import NodeIpam


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        ({}, []),
        ({"cluster_cidr": "10.0.0.0/16"}, [24]),
        ({"cluster_cidr": "10.0.0.0/16", "mask_size": 20}, [20]),
        ({"cluster_cidr": "10.0.0.0/16,fd00::/56"}, [24, 64]),
        ({"cluster_cidr": "fd00::/56, 10.0.0.0/16", "mask_size_ipv6": 60}, [60, 24]),
    ],
)
def test_sizes_of_nodes(given: dict[str, Any], sizes: list[int]) -> None:
    """Each range is cut as its family is."""
    assert [size for _, size in NodeIpam(**given).ranges] == sizes


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"cluster_cidr": "10.0.0.0/25"}, "24 cuts no part of 10.0.0.0/25"),
        ({"cluster_cidr": "10.0.0.0/16", "mask_size_ipv4": 33}, "33 cuts no part"),
        ({"cluster_cidr": "fd00::/40"}, "64 cuts fd00::/40 into more than 65536 parts"),
        ({"cluster_cidr": "10.0.0.0/16,fd00::/56", "mask_size": 24}, "is for one range"),
    ],
)
def test_sizes_that_do_not_fit(given: dict[str, Any], text: str) -> None:
    """They are refused before the server starts."""
    with pytest.raises(ConfigError, match=text):
        NodeIpam(**given)
