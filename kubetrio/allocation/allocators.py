"""What services are given: addresses of a range and ports of nodes, each to one holder.

Random choices come from the upper part of a range first, so that what people pick by hand, near
its beginning, stays free (KEP-3070, KEP-3668).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from random import Random  # noqa: TID251  (the type; the generator is an argument)
from typing import Any

from kubetrio.allocation.counts import DYNAMIC, STATIC, AllocationCounts

NODE_PORTS = (30000, 32767)


class Taken(Exception):
    """Another object holds it; the text is kube-apiserver's."""


class OutOfRange(Exception):
    """The value is not in the range; the text is kube-apiserver's."""


class Full(Exception):
    """Nothing is free; the text is kube-apiserver's."""


class NotReady(Exception):
    """No range is left to take from; the text is kube-apiserver's."""


def static_band(size: int, smallest: int, largest: int, step: int) -> int:
    """How many values at the beginning of a range random choices leave alone.

    Args:
        size: number of values of the range.
        smallest: at least so many, and none at all when the range is smaller than that.
        largest: at most so many.
        step: one for each so many values.
    """
    return 0 if size < smallest else min(max(smallest, size // step), largest)


@dataclass(slots=True, eq=False)
class Claim:
    """What one write holds: the identity of this object is the token.

    Args:
        dry_run: whether nothing is held at all.
        service: namespace and name.
        addresses: addresses taken.
        ports: node ports taken.
        shared_ports: those of them that this write has taken in the store, where servers share it.
    """

    dry_run: bool
    service: tuple[str, str]
    addresses: list[str] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)
    shared_ports: set[int] = field(default_factory=set)


class Holders:
    """Holders of values, in memory; a holder with several holds counts once."""

    def __init__(self) -> None:
        self._holders: dict[Any, set[Hashable]] = {}

    def __contains__(self, value: object) -> bool:
        return value in self._holders

    def __len__(self) -> int:
        return len(self._holders)

    def count(self, first: int, last: int) -> int:
        """How many values between two are held."""
        return sum(first <= value <= last for value in self._holders)

    def held_only_by(self, value: Hashable, who: Hashable) -> bool:
        """Whether this is the only holder of a value."""
        return self._holders.get(value) == {who}

    def beside(self, who: Hashable) -> list[Any]:
        """Values that have a holder other than this one."""
        return [value for value, holders in self._holders.items() if holders != {who}]

    def hold(self, value: Hashable, who: Hashable) -> None:
        """Note a holder."""
        self._holders.setdefault(value, set()).add(who)

    def drop(self, value: Hashable, who: Hashable) -> None:
        """Forget a holder; nothing happens when it holds nothing."""
        holders = self._holders.get(value)
        if holders is not None:
            holders.discard(who)
            if not holders:
                del self._holders[value]


def _pick(first: int, count: int, band: int, taken: Holders, rng: Random) -> int:
    """A free number: a random one behind the band, the next free one, at last in the band."""
    for start, size in ((band, count - band), (0, band)):
        if size <= 0:
            continue
        offset = rng.randrange(size)
        for step in range(min(size, len(taken) + 1)):
            value = first + start + (offset + step) % size
            if value not in taken:
                return value
    raise Full("range is full")


class Ports:
    """Node ports.

    Args:
        first: lowest port.
        last: highest port.
    """

    def __init__(self, first: int = NODE_PORTS[0], last: int = NODE_PORTS[1]) -> None:
        self.first = first
        self.last = last
        self.holders = Holders()
        self._band = static_band(last - first + 1, 16, 128, 32)
        self.counts = AllocationCounts("nodeport")

    @property
    def size(self) -> int:
        """How many there are."""
        return self.last - self.first + 1

    def take(self, port: int, who: Hashable) -> None:
        """Hold a port.

        Raises:
            OutOfRange: not a node port.
            Taken: another object holds it.
        """
        with self.counts.counted(STATIC):
            self._take(port, who)

    def _take(self, port: int, who: Hashable) -> None:
        if not self.first <= port <= self.last:
            raise OutOfRange(
                "provided port is not in the valid range. "
                f"The range of valid ports is {self.first}-{self.last}"
            )
        if port in self.holders:
            raise Taken("provided port is already allocated")
        self.holders.hold(port, who)

    def take_any(self, who: Hashable, rng: Random) -> int:
        """Hold a free port.

        Raises:
            Full: there is none.
        """
        with self.counts.counted(DYNAMIC):
            port = _pick(self.first, self.size, self._band, self.holders, rng)
        self.holders.hold(port, who)
        return port


Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def family_of(network: Network | ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    """``IPv4`` or ``IPv6``."""
    return f"IPv{network.version}"


class Addresses:
    """Addresses of one range.

    Args:
        network: the range.
        holders: who holds which addresses, as integers, shared by all ranges of a family: ranges
            may overlap.
    """

    def __init__(self, network: Network, holders: Holders | None = None) -> None:
        self.network = network
        self.holders = Holders() if holders is None else holders
        self._first = int(network.network_address) + 1
        self._last = int(network.broadcast_address) - (1 if network.version == 4 else 0)
        self._count = min(self._last - self._first + 1, 1 << 62)
        self._band = static_band(self._count, 16, 256, 16)

    @property
    def family(self) -> str:
        """``IPv4`` or ``IPv6``."""
        return family_of(self.network)

    @property
    def size(self) -> int:
        """How many there are."""
        return self._count

    def held(self) -> int:
        """How many of them have holders."""
        return self.holders.count(self._first, self._last)

    @property
    def placeholder(self) -> str:
        """What a dry run shows instead of a chosen address."""
        return str(self.network.network_address)

    def text(self, value: int) -> str:
        """The address of a value."""
        kind = type(self.network.network_address)
        return str(kind(value))

    def __contains__(self, address: object) -> bool:
        parsed = ipaddress.ip_address(str(address))
        return parsed.version == self.network.version and (self._first <= int(parsed) <= self._last)

    def check(self, address: str) -> None:
        """See that an address is one of the range.

        Raises:
            ValueError: not an address.
            OutOfRange: not in the range.
        """
        if address not in self:
            raise OutOfRange(
                f"the provided IP ({address}) is not in the valid range. "
                f"The range of valid IPs is {self.network}"
            )

    def take(self, address: str, who: Hashable) -> int:
        """Hold an address.

        Raises:
            ValueError: not an address.
            OutOfRange: not in the range.
            Taken: another object holds it.
        """
        self.check(address)
        value = int(ipaddress.ip_address(address))
        if value in self.holders:
            raise Taken("provided IP is already allocated")
        self.holders.hold(value, who)
        return value

    def take_any(self, who: Hashable, rng: Random) -> int:
        """Hold a free address.

        Raises:
            Full: there is none.
        """
        value = _pick(self._first, self._count, self._band, self.holders, rng)
        self.holders.hold(value, who)
        return value


def node_ports_of(spec: Mapping[str, Any]) -> set[int]:
    """All node ports of a service's spec, the health check's too."""
    ports = {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
    if spec.get("healthCheckNodePort"):
        ports.add(spec["healthCheckNodePort"])
    return ports


def addresses_of(spec: Mapping[str, Any]) -> list[str]:
    """Cluster addresses of a service's spec, none for a headless one."""
    listed = spec.get("clusterIPs") or ([spec["clusterIP"]] if spec.get("clusterIP") else [])
    return [address for address in listed if address and address != "None"]
