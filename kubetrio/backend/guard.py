"""Which addresses the server may connect to when a user has it connect somewhere.

A user may write where a pod or a node is.  So an address is judged before it is dialled, and by
what it means: IPv6 has several spellings of an IPv4 address, and a gateway, or the kernel, makes
the same connection of them.

Source: k8s.io/apimachinery's and kube-apiserver's rule for proxies ("IsProxyableIP": global
unicast only); RFC 4291 (mapped and compatible addresses), RFC 6052 and 8215 (NAT64), RFC 2765
(translated addresses), RFC 3056 (6to4), RFC 4380 (Teredo).
"""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Networks whose last 32 bits are an IPv4 address.
EMBEDDING = tuple(
    map(
        ipaddress.IPv6Network,
        ("::ffff:0:0/96", "::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48"),
    )
)
PLAIN = frozenset(map(ipaddress.IPv6Address, ("::", "::1")))  # in ::/96, and themselves
BROADCAST = ipaddress.IPv4Address("255.255.255.255")
# What the system says of an address that is not its own, or of a family that it does not have.
ELSEWHERE = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EINVAL})


def meanings(address: str) -> Iterator[Address]:
    """An address, and the IPv4 address that is inside of it.

    Args:
        address: an IP address.

    Raises:
        ValueError: it is none.
    """
    parsed = ipaddress.ip_address(address)
    yield parsed
    if isinstance(parsed, ipaddress.IPv4Address) or parsed in PLAIN:
        return
    if any(parsed in network for network in EMBEDDING):
        yield ipaddress.IPv4Address(int(parsed) & 0xFFFF_FFFF)
    if parsed.sixtofour is not None:
        yield parsed.sixtofour
    if parsed.teredo is not None:
        yield parsed.teredo[1]


def _nowhere(address: Address) -> bool:
    """Return whether an address is of no particular machine: link-local, multicast and the like."""
    vague = address.is_link_local or address.is_multicast or address.is_unspecified
    return vague or address == BROADCAST


def proxyable(address: str) -> bool:
    """Whether a proxy may connect to an address: no loopback, link-local or multicast one."""
    try:
        return not any(_nowhere(each) or each.is_loopback for each in meanings(address))
    except ValueError:
        return False


def is_local(address: str) -> bool:
    """Whether an address is of this machine: one can be bound to it.

    Also where the system cannot tell, for want of file descriptors: no request gets past it by
    that.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.bind((address, 0))
    except OSError as error:
        return error.errno not in ELSEWHERE
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """The judge of one server.

    Args:
        port: where the server listens; 0 when it does not.
        places: further addresses and ports that lead to it.
        local: whether an address is of this machine.
    """

    port: int = 0
    places: frozenset[tuple[Address, int]] = frozenset()
    local: Callable[[str], bool] = is_local

    def allows(self, address: str, port: int, *, kubelet: bool) -> bool:
        """Whether the server may connect to an address.

        Args:
            address: an IP address, never a name.
            port: TCP port.
            kubelet: for a kubelet, which may be on this machine, and on its loopback; proxies lead
                away from it.
        """
        try:
            addresses = tuple(meanings(address))
        except ValueError:
            return False
        if any(map(_nowhere, addresses)) or not (kubelet or proxyable(address)):
            return False
        return not any(self._own(each, port) for each in addresses)

    def _own(self, address: Address, port: int) -> bool:
        """Whether this server answers at an address."""
        if (address, port) in self.places:
            return True
        return port == self.port and (address.is_loopback or self.local(str(address)))
