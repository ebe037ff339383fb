"""Definitions in the shapes that popular operators ship, with a real kubectl."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubectl_runner import Kubectl, needs_kubectl

from kubetrio.testing.process import ServerProcess

Start = Callable[..., ServerProcess]
pytestmark = [pytest.mark.e2e, needs_kubectl]
FOLDER = Path(__file__).parents[1] / "scenarios" / "definitions"
# Of what kind, a field to explain with words of the answer, and columns.
ASKED: dict[str, tuple[str, str, str]] = {
    "certificates": ("spec.privateKey", "rotationPolicy", "READY SECRET UNTIL"),
    "gateways": ("spec.listeners.allowedRoutes.namespaces", "from", "CLASS ADDRESS PROGRAMMED AGE"),
    "issuers": ("spec.acme.solvers.dns01.webhook", "solverName", "AGE"),
    "prometheuses": ("spec.resources", "claims", "VERSION DESIRED READY"),
    "kafkas": ("spec.kafka.storage.volumes", "overrides", "READY FRACTION LISTENERS"),
    "nodepools": ("spec.disruption.budgets", "schedule", "WEIGHT CPU"),
}


def documents(name: str) -> tuple[Any, Any]:
    """A definition, and an object of it."""
    definition, obj, _ = yaml.safe_load_all((FOLDER / f"{name}.yaml").read_text())
    return definition, obj


def listed_in(objects: Iterable[Any]) -> str:
    """Objects in one file."""
    return "\n".join(map(json.dumps, objects))


@pytest.mark.slow
def test_kubectl_works_with_all_of_them(start_server: Start, tmp_path: Path) -> None:
    """Applied in one file, explained, listed in columns, edited, scaled, and deleted."""
    pytest.importorskip("cel_expr_python")
    kubectl = Kubectl(start_server(tmp_path / "data", "--durability", "normal"), tmp_path)
    made = {name: documents(name) for name in ASKED}
    definitions = listed_in(definition for definition, _ in made.values())
    objects = listed_in(obj for _, obj in made.values())
    assert kubectl("apply", "-f", "-", stdin=definitions).count("created") == len(ASKED)
    kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=20s")
    # What a schema prunes, kubectl refuses by default.
    refused = kubectl.try_("apply", "-f", "-", stdin=objects)
    assert 'unknown field "spec.privateKey.sort"' in refused.err
    lenient = ("apply", "--validate=ignore", "-f", "-")
    kubectl(*lenient, stdin=objects)
    plurals = [definition["metadata"]["name"] for definition, _ in made.values()]
    before = kubectl.json("get", ",".join(plurals))["items"]
    # Whatever kubectl sends again, without defaults or with what is pruned, comes to the same.
    kubectl(*lenient, stdin=objects)
    assert kubectl.json("get", ",".join(plurals))["items"] == before
    for name, (path, field, columns) in ASKED.items():
        definition, obj = made[name]
        resource = definition["metadata"]["name"]
        assert field in kubectl("explain", f"{resource}.{path}"), name
        listed = kubectl("get", resource).splitlines()
        assert " ".join(listed[0].split()[1:]) == columns
        assert listed[1].split()[0] == obj["metadata"]["name"]
        kubectl("label", resource, obj["metadata"]["name"], "seen=yes")
        assert kubectl("describe", resource, obj["metadata"]["name"]).count("seen=yes") == 1
    for short in ("cert", "certs", "gtw", "prom", "k"):
        assert kubectl("get", short, "-o", "name")
    kubectl("scale", "prometheuses.monitor.example.com/main", "--replicas=3")
    assert kubectl.json("get", "prom", "main")["spec"]["shards"] == 3
    found = kubectl("get", "certs", "--field-selector=spec.issuerRef.name=le", "-o", "name")
    assert found.strip() == "certificate.certs.example.com/site"
    forced = ("apply", "--server-side", "--field-manager=robot", "-f", "-")
    gateway = {**made["gateways"][1], "spec": {"gatewayClassName": "large", "listeners": [
        {"name": "http", "port": 80, "protocol": "HTTP"}]}}  # fmt: skip
    conflict = kubectl.try_(*forced, stdin=json.dumps(gateway))
    assert "conflict with" in conflict.err
    assert ".spec.gatewayClassName" in conflict.err
    kubectl(*forced, "--force-conflicts", stdin=json.dumps(gateway))
    spec = kubectl.json("get", "gateways.gw.example.com", "edge")["spec"]
    # kubectl hands what it applied itself before over to the manager: what is left out goes.
    assert (spec["gatewayClassName"], len(spec["listeners"])) == ("large", 1)
    kubectl("delete", "certs", "site")
    kubectl("delete", "-f", "-", stdin=definitions)
    assert kubectl("get", "crd", "-o", "name") == ""
    assert kubectl.try_("get", "prom").code == 1  # in words that depend on what kubectl remembers
