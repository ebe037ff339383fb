"""``kubetrio nodes``: simulated nodes of a server that runs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import trio

from kubetrio.cli.common import Failure, describe, told
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from kubetrio.cli.asking import RemoteServer
    from kubetrio.cli.commands import Call

Object = dict[str, Any]
EXAMPLES = """\
  kubetrio nodes add --count 5
  kubetrio nodes add large --capacity cpu=64,memory=512Gi --zone elsewhere
  kubetrio nodes remove node-3 large
"""
NODES = "/api/v1/nodes"
METRICS = "/apis/metrics.k8s.io/v1beta1"
ZONE = "topology.kubernetes.io/zone"
PODS = "110"
"""Of a node whose capacity does not say how many it takes."""


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    from kubetrio.cli.asking import add_server

    describe(
        parser,
        "Add or remove simulated nodes of a server that runs with --simulate-nodes.",
        EXAMPLES,
    )
    parser.add_argument("action", choices=("add", "remove"), help="what to do")
    parser.add_argument("names", metavar="NAME", nargs="*", help="of the nodes")
    parser.add_argument(
        "--count", type=int, metavar="N", help="add: how many, by the first free names node-0, ..."
    )
    parser.add_argument(
        "--capacity",
        metavar="RESOURCE=QUANTITY,...",
        default="",
        help="add: what each has room for (default: cpu=32,memory=128Gi,pods=110)",
    )
    parser.add_argument("--zone", default="", help="add: the zone of each (default: one of three)")
    add_server(parser)


@told
def run(call: Call) -> int:
    """Do it, and print the names of the nodes that are concerned."""
    options = call.options
    adding = options.action == "add"
    if adding and bool(options.names) == bool(options.count):
        options.parser.error("add takes either names or --count")
    if not adding and (not options.names or options.count or options.capacity or options.zone):
        options.parser.error("remove takes names")
    if options.count is not None and options.count < 1:
        options.parser.error("--count is at least 1")
    for name in trio.run(_do, options, capacity_of(options.capacity)):
        print(f"node/{name} {'created' if adding else 'deleted'}")
    return 0


def capacity_of(text: str) -> dict[str, str]:
    """The capacity that ``RESOURCE=QUANTITY,...`` means; empty for the usual one.

    Raises:
        Failure: a part has another form.
    """
    from kubetrio.machinery.quantity import parse

    capacity: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        resource, equals, quantity = part.partition("=")
        if not equals or not resource:
            raise Failure(f"{part!r} is not RESOURCE=QUANTITY")
        try:
            parse(quantity)
        except ValueError as error:
            raise Failure(f"{part!r}: {error}") from None
        capacity[resource] = quantity
    return {"pods": PODS, **capacity} if capacity else {}


def node_of(name: str, capacity: dict[str, str], zone: str) -> Object:
    """A Node that the server simulates.

    Args:
        name: of the node.
        capacity: what it has room for, empty for the usual.
        zone: its zone, empty for the usual.
    """
    from kubetrio.simulation.annotations import NODE
    from kubetrio.simulation.nodeobjects import MOST, node_object

    number = name.rpartition("-")[2]
    index = int(number) if number.isascii() and number.isdigit() else 0
    node = node_object(name, index % MOST)
    labels = {**node["metadata"]["labels"], **({ZONE: zone} if zone else {})}
    node["metadata"] = {"name": name, "labels": labels, "annotations": {NODE: "true"}}
    del node["spec"]  # the server gives it a range that is free
    if capacity:
        node["status"] = {"capacity": capacity}
    return node


async def _do(options: argparse.Namespace, capacity: dict[str, str]) -> list[str]:
    from kubetrio.cli.asking import RequestRefused, open_server

    async with open_server(options) as server:
        try:
            await server.ask("GET", METRICS)
        except RequestRefused as error:
            if error.code != 404:
                raise
            text = "the server simulates no nodes: start it with kubetrio serve --simulate-nodes N"
            raise Failure(text) from error
        if options.action == "remove":
            return await _remove(server, options.names)
        names = options.names or await _free(server, options.count)
        for name in names:
            await server.ask("POST", NODES, body=node_of(name, capacity, options.zone))
        return list(names)


async def _free(server: RemoteServer, count: int) -> list[str]:
    """Names that no node has."""
    listed = await server.ask("GET", NODES)
    taken = {item["metadata"]["name"] for item in listed["items"]}
    names: list[str] = []
    number = 0
    while len(names) < count:
        if (name := f"node-{number}") not in taken:
            names.append(name)
        number += 1
    return names


async def _remove(server: RemoteServer, names: list[str]) -> list[str]:
    """Remove nodes, if all of them are simulated.

    Raises:
        Failure: one is not.
    """
    from kubetrio.cli.asking import segment
    from kubetrio.simulation.annotations import NODE

    for name in names:
        node = await server.ask("GET", f"{NODES}/{segment(name)}")
        if (node["metadata"].get("annotations") or {}).get(NODE) != "true":
            raise Failure(f"node {name!r} is not simulated: delete it with kubectl delete node")
    for name in names:
        await server.ask("DELETE", f"{NODES}/{segment(name)}")
    return names
