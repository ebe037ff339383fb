"""Ranges of service addresses: those of all ServiceCIDR objects that are ready.

Source: docs "Extend Service IP Ranges"; KEP-1880.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Hashable, Iterator, Mapping
from random import Random  # noqa: TID251  (the type; the generator is an argument)
from typing import Any

from kubetrio.allocation.allocators import Addresses, Full, Holders, NotReady, OutOfRange, family_of

_LONGEST_IPV6 = 64  # bits of the prefix, at least


class ServiceRanges:
    """The ranges of one server, and who holds which of their addresses.

    Addresses outside all ranges have holders too: their range may come back.
    """

    def __init__(self) -> None:
        self._held = {"IPv4": Holders(), "IPv6": Holders()}
        self._ranges: dict[str, Addresses] = {}  # by CIDR
        self._named: dict[str, dict[str, bool]] = {}  # by CIDR: objects that have it, if ready

    def note(self, name: str, obj: Mapping[str, Any] | None) -> None:
        """Note the state of a ServiceCIDR.

        Args:
            name: its name.
            obj: the object, None when it is gone.
        """
        cidrs = ((obj or {}).get("spec") or {}).get("cidrs") or ()
        for cidr in cidrs:
            self._named.setdefault(cidr, {})[name] = _is_ready(obj or {})
        for cidr in [each for each, names in self._named.items() if name in names]:
            if cidr not in cidrs:
                del self._named[cidr][name]
                if not self._named[cidr]:
                    del self._named[cidr]
                    self._ranges.pop(cidr, None)
            elif cidr not in self._ranges:
                network = ipaddress.ip_network(cidr, strict=False)
                if network.version == 4 or network.prefixlen >= _LONGEST_IPV6:
                    self._ranges[cidr] = Addresses(network, self._held[family_of(network)])

    def hold(self, address: str, who: Hashable) -> None:
        """Note who holds an address; nothing happens for what is none."""
        if (held := self._find(address)) is not None:
            held[0].hold(held[1], who)

    def drop(self, address: str, who: Hashable) -> None:
        """Forget who holds an address."""
        if (held := self._find(address)) is not None:
            held[0].drop(held[1], who)

    def held_only_by(self, address: str, who: Hashable) -> bool:
        """Whether this is the only holder of an address."""
        held = self._find(address)
        return held is not None and held[0].held_only_by(held[1], who)

    def _find(self, address: str) -> tuple[Holders, int] | None:
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return None
        return self._held[family_of(parsed)], int(parsed)

    def _ready(self, family: str) -> list[Addresses]:
        return [
            addresses
            for cidr, addresses in self._ranges.items()
            if addresses.family == family and any(self._named[cidr].values())
        ]

    def take(self, address: str, who: Hashable) -> None:
        """Hold an address that was asked for.

        Raises:
            OutOfRange: in no range that is ready.
            Taken: another object holds it.
        """
        for addresses in self._ready(family_of(ipaddress.ip_address(address))):
            if address in addresses:
                addresses.take(address, who)
                return
        raise OutOfRange("the provided network does not match the current range")

    def take_any(self, family: str, who: Hashable, rng: Random) -> str:
        """Hold a free address, of the first range that has one.

        Raises:
            Full: there is none.
        """
        for addresses in self._ready(family):
            try:
                return addresses.text(addresses.take_any(who, rng))
            except Full:
                continue
        raise Full("range is full")

    def tried(self, family: str, address: str) -> str:
        """The address that a dry run shows; it looks at one range only and at no holders.

        Args:
            family: of the address.
            address: what is asked for, empty for any.

        Raises:
            NotReady: there is no range.
            OutOfRange: the address is not in the range.
        """
        ready = self._ready(family)
        if not ready:
            raise NotReady("allocator not ready")
        if not address:
            return ready[0].placeholder
        ready[0].check(address)
        return address

    def ready(self) -> Iterator[tuple[str, Addresses]]:
        """The ranges from which addresses are given, by CIDR."""
        for cidr, addresses in list(self._ranges.items()):
            if any(self._named[cidr].values()):
                yield cidr, addresses

    def label(self, family: str, address: str) -> str:
        """The range that an address is of, empty where there is none; any of it without one."""
        for addresses in self._ready(family):
            if not address or address in addresses:
                return str(addresses.network)
        return ""

    def covers(self, address: str) -> bool:
        """Whether an address is in a range, ready or not."""
        return any(address in addresses for addresses in self._ranges.values())


def _is_ready(obj: Mapping[str, Any]) -> bool:
    """Whether addresses may be taken; without the condition Ready, they may."""
    if "deletionTimestamp" in obj["metadata"]:
        return False
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Ready":
            return bool(condition["status"] == "True")
    return True
