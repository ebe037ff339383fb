"""Which address a request about a pod, a service or a node leads to."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.api.proxy.locations import (
    Location,
    behind_proxy,
    clean_path,
    node_address,
    split_target,
)
from kubetrio.backend.backends import PeerVerification
from kubetrio.config.kinds import ADDRESS_TYPES
from kubetrio.machinery.status import ApiError


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a", ("", "a", "")),
        ("a:80", ("", "a", "80")),
        ("https:a:", ("https", "a", "")),
        ("ftp:a:80", None),
        ("a:b:c:d", None),
    ],
)
def test_proxy_targets(text: str, found: tuple[str, str, str] | None) -> None:
    """Name, port and scheme in one path element."""
    assert split_target(text) == found


@pytest.mark.parametrize(
    ("path", "cleaned"),
    [("", ""), ("/", "/"), ("/a//b", "/a/b"), ("/a/../../b/", "/b/"), ("/..", "/"), ("/a/.", "/a")],
)
def test_paths_are_cleaned(path: str, cleaned: str) -> None:
    """Nothing above the root can be asked for; a last slash means something."""
    assert clean_path(path) == cleaned


def test_a_url() -> None:
    """Addresses of version 6 in brackets, paths escaped as by Go, ports only where given."""
    location = Location("fd00::1", "8080", PeerVerification.ANY)
    parts = ["pods", "p", "proxy", "a b", "c!"]
    location = behind_proxy(
        location, "/api/v1/namespaces/default/pods/p/proxy/a b/c!", parts, "x=1"
    )
    assert location.url == "https://[fd00::1]:8080/a%20b/c%21?x=1"
    plain = Location("10.0.0.1", "", PeerVerification.PLAIN)
    assert (plain.url, plain.dial_port) == ("http://10.0.0.1/", "80")


def node(*addresses: tuple[str, str], hostname: str = "") -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": hostname} if hostname else {}
    listed = [{"type": kind, "address": address} for kind, address in addresses]
    return {"metadata": {"name": "n", "labels": labels}, "status": {"addresses": listed}}


@pytest.mark.parametrize(
    ("given", "preferred", "address"),
    [
        (node(("InternalIP", "10.0.0.1"), ("Hostname", "n")), ADDRESS_TYPES, "n"),
        (node(("InternalIP", "10.0.0.1"), hostname="h"), ADDRESS_TYPES, "10.0.0.1"),
        (node(("ExternalIP", "1.2.3.4"), ("InternalIP", "10.0.0.1")), ADDRESS_TYPES, "10.0.0.1"),
        (node(("InternalIP", "10.0.0.1"), hostname="h"), ("InternalIP",), "10.0.0.1"),
    ],
)
def test_the_address_of_a_node(given: Any, preferred: tuple[str, ...], address: str) -> None:
    """The first of the preferred types; a label says nothing, as since Kubernetes 1.36."""
    assert node_address(given, preferred) == address


def test_a_node_without_a_fitting_address() -> None:
    """The message lists what there is."""
    with pytest.raises(ApiError) as caught:
        node_address(node(("InternalIP", "10.0.0.1"), ("InternalDNS", "n.x")), ("ExternalIP",))
    assert caught.value.message == (
        "no preferred addresses found; known addresses: [{InternalIP 10.0.0.1} {InternalDNS n.x}]"
    )
