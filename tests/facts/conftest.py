"""The makers of facts are not installed: they are found in the checkout, behind what is."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from collections.abc import Iterator
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Asked:
    """A server that was asked for its facts.

    Args:
        inputs: what was made of its answers.
        names: of the inputs, in order.
        left: keys of service accounts that are there afterwards.
    """

    inputs: Path
    names: list[str]
    left: list[str]


@pytest.fixture(scope="session")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """A server of this project takes kube-apiserver's place."""
    from facts import server
    from facts.client import Client, from_kubeconfig
    from kubetrio.testing import process

    folder = tmp_path_factory.mktemp("facts")
    # Controllers of a cluster would add to what is found.
    alone = "--controllers=clusterrole-aggregation-controller"
    running = process.start(folder / "data", folder / "log", alone)
    try:
        with Client(from_kubeconfig(running.kubeconfig)) as client:
            names = list(server.make(client, folder / "inputs", private=True))
            listed = client.get("/api/v1/namespaces/default/serviceaccounts")
            left = [item["metadata"]["name"] for item in listed["items"]]
        yield Asked(folder / "inputs", names, left)
    finally:
        running.kill()
