"""Network resources beyond the recorded samples."""

import pytest

from kubetrio.kinds.core.printers import network as core_network
from kubetrio.kinds.discovery import printers as discovery
from kubetrio.kinds.networking import printers as networking

NOW = 1_000.0


def service(kind, ingress=(), **spec):
    status = {"loadBalancer": {"ingress": list(ingress)}}
    return {"spec": {"type": kind, **spec}, "status": status}


@pytest.mark.parametrize(
    ("obj", "printed"),
    [
        (service("ClusterIP"), "<none>"),
        (service("NodePort", externalIPs=["2.2.2.2", "1.1.1.1"]), "2.2.2.2,1.1.1.1"),
        (service("LoadBalancer"), "<pending>"),
        (service("LoadBalancer", externalIPs=["1.1.1.1"]), "1.1.1.1"),
        (
            service(
                "LoadBalancer", [{"hostname": "b"}, {"ip": "a"}, {"ip": "a"}], externalIPs=["z"]
            ),
            "a,b,z",
        ),
        (service("ExternalName", externalName="x.y"), "x.y"),
        (service("Other"), "<unknown>"),
    ],
)
def test_external_ip(obj, printed):
    """Where a service is reached from outside."""
    assert core_network.service(obj, NOW)[3] == printed


@pytest.mark.parametrize(
    ("subsets", "printed"),
    [
        ([], "<none>"),
        ([{"notReadyAddresses": [{"ip": "1.1.1.1"}], "ports": [{"port": 1}]}], ""),
        ([{"addresses": [{"ip": "1.1.1.1"}]}], "1.1.1.1"),
        ([{"addresses": [{"ip": "fd::1"}], "ports": [{"port": 80}]}], "[fd::1]:80"),
        (
            [{"addresses": [{"ip": "a"}, {"ip": "b"}], "ports": [{"port": 1}, {"port": 2}]}],
            "a:1,b:1,a:2 + 1 more...",
        ),
    ],
)
def test_endpoints(subsets, printed):
    """Three addresses and how many more there are."""
    assert core_network.endpoints({"subsets": subsets}, NOW)[1] == printed


@pytest.mark.parametrize(
    ("ports", "printed"),
    [
        (None, "<unset>"),
        ([{"port": 80}, {"name": "web"}, {}], "80,web,*"),
        ([{"port": n} for n in range(5)], "0,1,2 + 2 more..."),
    ],
)
def test_endpoint_slice_ports(ports, printed):
    """A port prints as number, name or star."""
    assert discovery.endpoint_slice({"ports": ports}, NOW)[2] == printed


@pytest.mark.parametrize(
    ("hosts", "printed"),
    [
        ([], "*"),
        (["", ""], "*"),
        (["a", "", "b"], "a,b"),
        (["a", "b", "c"], "a,b,c"),
        (["a", "b", "c", "", ""], "a,b,c + 2 more..."),
    ],
)
def test_ingress_hosts(hosts, printed):
    """What is left out counts rules, not hosts."""
    rules = [{"host": host} if host else {} for host in hosts]
    assert networking.ingress({"spec": {"rules": rules}}, NOW)[2] == printed


def test_ingress_class_parameters():
    """Kind, group and name of the parameters."""
    parameters = {"apiGroup": "g.io", "kind": "K", "name": "n"}
    assert networking.ingress_class({"spec": {"parameters": parameters}}, NOW)[2] == "K.g.io/n"


@pytest.mark.parametrize(
    ("reference", "printed"),
    [
        (None, "<none>"),
        ({"group": "g.io", "resource": "Gateways", "name": "n"}, "gateways.g.io/n"),
        ({"resource": "services", "namespace": "s", "name": "n"}, "services/s/n"),
    ],
)
def test_ip_address_parent(reference, printed):
    """Whose address it is."""
    assert networking.ip_address({"spec": {"parentRef": reference}}, NOW)[1] == printed
