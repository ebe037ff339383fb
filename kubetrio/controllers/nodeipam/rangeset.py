"""A range of addresses cut into equal parts, and which of them are taken.

Source: k8s.io/kubernetes/pkg/controller/nodeipam/ipam/cidrset.
"""

from __future__ import annotations

import ipaddress

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class RangeFull(Exception):
    """All parts are taken."""


class OutOfRange(Exception):
    """A network is no part of the range; the text names both."""


class RangeSet:
    """The parts of one range.

    Args:
        whole: the range.
        prefix: length of the prefix of a part, at least that of the range.
    """

    def __init__(self, whole: Network, prefix: int) -> None:
        self._whole = whole
        self._size = 1 << (whole.max_prefixlen - prefix)
        self._prefix = prefix
        self._parts = 1 << (prefix - whole.prefixlen)
        self._taken: set[int] = set()
        self._next = 0

    def allocate(self) -> str:
        """Take the next part that is free, and return it.

        Raises:
            RangeFull: there is none.
        """
        if len(self._taken) >= self._parts:
            raise RangeFull("CIDR allocation failed; there are no remaining CIDRs left to allocate "
                            "in the accepted range")  # fmt: skip
        while self._next in self._taken:
            self._next = (self._next + 1) % self._parts
        index = self._next
        self._taken.add(index)
        self._next = (index + 1) % self._parts
        return f"{self._whole.network_address + index * self._size}/{self._prefix}"

    def occupy(self, network: Network) -> None:
        """Take all parts that a network has a share in.

        Raises:
            OutOfRange: it has a share in none.
        """
        self._taken.update(self._indexes(network))

    def release(self, network: Network) -> None:
        """Give all parts back that a network has a share in.

        Raises:
            OutOfRange: it has a share in none.
        """
        self._taken.difference_update(self._indexes(network))

    def _indexes(self, network: Network) -> range:
        first, last = int(network.network_address), int(network.broadcast_address)
        begin = int(self._whole.network_address)
        low = max((first - begin) // self._size, 0)
        high = min((last - begin) // self._size, self._parts - 1)
        if network.version != self._whole.version or low > high:
            raise OutOfRange(f"cidr {network} is out the range of cluster cidr {self._whole}")
        return range(low, high + 1)
