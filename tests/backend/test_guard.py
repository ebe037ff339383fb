"""Which addresses the server may be led to."""

from __future__ import annotations

import ipaddress
import socket
import sys

import pytest

from kubetrio.backend.guard import Guard, is_local, proxyable
from kubetrio.testing.faults import no_descriptors


@pytest.mark.parametrize(
    ("address", "fine"),
    [
        ("10.0.0.1", True),
        ("fd00::1", True),
        ("2001:db8::a00:1", True),
        ("::ffff:10.0.0.1", True),
        ("64:ff9b::a00:1", True),
        ("2002:a00:1::1", True),
        ("127.0.0.1", False),
        ("127.8.8.8", False),
        ("::1", False),
        ("169.254.169.254", False),
        ("fe80::1", False),
        ("fe80::1%1", False),
        ("224.0.0.1", False),
        ("ff02::1", False),
        ("255.255.255.255", False),
        ("0.0.0.0", False),
        ("::", False),
        ("", False),
        ("localhost", False),
        ("127.1", False),
        ("2130706433", False),
        ("::ffff:127.0.0.1", False),
        ("::FFFF:7F00:1", False),
        ("0:0:0:0:0:ffff:127.0.0.1", False),
        ("::ffff:0.0.0.0", False),
        ("::ffff:169.254.169.254", False),
        ("::ffff:224.0.0.1", False),
        ("::ffff:255.255.255.255", False),
        ("::127.0.0.1", False),
        ("::ffff:0:127.0.0.1", False),
        ("64:ff9b::127.0.0.1", False),
        ("64:ff9b:1::127.0.0.1", False),
        ("2002:7f00:1::", False),
        ("2002:a9fe:a9fe::1", False),
        ("2001:0:a00:1:0:0:80ff:fffe", False),
    ],
)
def test_proxies_go_to_pods_only(address: str, fine: bool) -> None:
    """Not to the server's own machine or link, in whatever spelling."""
    assert proxyable(address) is fine
    assert Guard().allows(address, 80, kubelet=False) is fine


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "169.254.169.254", "::ffff:0.0.0.0", "x"])
def test_no_kubelet_is_nowhere(address: str) -> None:
    """What the system takes for the loopback, or for a cloud's metadata, is no node."""
    assert not Guard().allows(address, 10250, kubelet=True)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"])
def test_a_kubelet_on_the_loopback(address: str) -> None:
    """May be there, as for kube-apiserver, but not where the server itself listens."""
    guard = Guard(port=6443)
    assert guard.allows(address, 10250, kubelet=True)
    assert not guard.allows(address, 6443, kubelet=True)


@pytest.mark.parametrize("kubelet", [False, True])
def test_the_servers_own_addresses(kubelet: bool) -> None:
    """Those of the machine and those that lead to it from elsewhere, each with its port only."""
    places = frozenset({(ipaddress.ip_address("203.0.113.5"), 443)})
    guard = Guard(port=6443, places=places, local=lambda address: address == "192.0.2.1")
    assert not guard.allows("192.0.2.1", 6443, kubelet=kubelet)
    assert not guard.allows("::ffff:192.0.2.1", 6443, kubelet=kubelet)
    assert not guard.allows("203.0.113.5", 443, kubelet=kubelet)
    assert not guard.allows("64:ff9b::203.0.113.5", 443, kubelet=kubelet)
    assert guard.allows("192.0.2.1", 10250, kubelet=kubelet)
    assert guard.allows("203.0.113.5", 6443, kubelet=kubelet)
    assert guard.allows("192.0.2.2", 6443, kubelet=kubelet)


def test_addresses_of_this_machine() -> None:
    """Every one of an interface; none of the networks kept for documentation."""
    assert is_local("127.0.0.1")
    assert not is_local("198.51.100.1")
    assert not is_local("2001:db8::1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("198.51.100.1", 9))
        except OSError:
            return  # a machine without a network
        assert is_local(sock.getsockname()[0])


@pytest.mark.skipif(sys.platform != "linux", reason="limits the files of the process")
def test_without_descriptors_every_address_is_local() -> None:
    """Using them all up is no way past the guard."""
    with no_descriptors():
        assert is_local("198.51.100.1")
    assert not is_local("198.51.100.1")
