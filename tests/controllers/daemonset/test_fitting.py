"""On which nodes DaemonSets have pods."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.controllers.daemonset.fitting import GENERATION, HASH, Fit, fit, new_pod, updated
from kubetrio.controllers.podcontrol.claims import Controlling
from kubetrio.controllers.podcontrol.taints import Node, Taint
from kubetrio.controllers.podcontrol.view import view_of
from kubetrio.testing.workloads import template

Object = dict[str, Any]
RUNS, STAYS, GOES = Fit(runs=True, stays=True), Fit(runs=False, stays=True), Fit(False, False)


def node(*taints: Taint, **labels: str) -> Node:
    """A node."""
    return Node("n", tuple(labels.items()), taints)


@pytest.mark.parametrize(
    ("taint", "spec", "found"),
    [
        (Taint("a", "", "NoSchedule"), {}, STAYS),
        (Taint("a", "", "NoExecute"), {}, GOES),
        (Taint("a", "", "PreferNoSchedule"), {}, RUNS),
        (Taint("node.kubernetes.io/not-ready", "", "NoExecute"), {}, RUNS),
        (Taint("node.kubernetes.io/not-ready", "", "NoSchedule"), {}, STAYS),
        (Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"), {}, RUNS),
        (Taint("node.kubernetes.io/network-unavailable", "", "NoSchedule"), {}, STAYS),
        (Taint("node.kubernetes.io/network-unavailable", "", "NoSchedule"),
         {"hostNetwork": True}, RUNS),
        (Taint("a", "b", "NoExecute"), {"tolerations": [{"operator": "Exists"}]}, RUNS),
    ],
)  # fmt: skip
def test_taints(taint: Taint, spec: Object, found: Fit) -> None:
    """Daemons stand what others do not."""
    assert fit(template(**spec), node(taint)) == found


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        (("a", "In", ["1", "2"]), True),
        (("a", "In", ["2"]), False),
        (("a", "NotIn", ["2"]), True),
        (("b", "NotIn", ["2"]), True),
        (("a", "Exists", None), True),
        (("b", "Exists", None), False),
        (("b", "DoesNotExist", None), True),
        (("a", "Gt", ["0"]), True),
        (("a", "Lt", ["0"]), False),
        (("a", "Gt", ["x"]), False),
    ],
)
def test_affinity(expression: tuple[str, str, list[str] | None], found: bool) -> None:
    """To labels of the node."""
    key, operator, values = expression
    terms = [{"matchExpressions": [{"key": key, "operator": operator, "values": values}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    spec = template(affinity={"nodeAffinity": required})
    assert fit(spec, node(a="1")) == (RUNS if found else GOES)


def test_selectors_and_names() -> None:
    """Of nodes."""
    assert fit(template(nodeSelector={"a": "1"}), node(a="1", b="2")) == RUNS
    assert fit(template(nodeSelector={"a": "1"}), node()) == GOES
    assert fit(template(nodeName="m"), node()) == GOES
    terms: list[Object] = [{}, {"matchFields": [
        {"key": "metadata.name", "operator": "In", "values": ["n"]}]}]  # fmt: skip
    for count, found in ((1, GOES), (2, RUNS)):
        required = {"nodeSelectorTerms": terms[:count]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        assert fit(template(affinity=affinity), node()) == found


def test_a_pod_waits_for_its_node() -> None:
    """By affinity, whatever that was; it tells its revision."""
    preferred: Object = {"preferredDuringSchedulingIgnoredDuringExecution": []}
    obj = {"metadata": {"name": "d", "namespace": "n", "uid": "u",
                        "annotations": {GENERATION: "4"}},
           "spec": {"template": template(affinity={"nodeAffinity": preferred})}}  # fmt: skip
    owner = Controlling("apps/v1", "DaemonSet", obj)
    pod = new_pod(owner, "m", "h")
    pod["metadata"]["name"] = "p"
    view = view_of(pod)
    assert (view.wanted_node, view.node) == ("m", "")
    assert view.label_map == {"app": "web", HASH: "h", "pod-template-generation": "4"}
    assert pod["spec"]["affinity"]["nodeAffinity"].keys() == {
        "preferredDuringSchedulingIgnoredDuringExecution",
        "requiredDuringSchedulingIgnoredDuringExecution",
    }
    assert len(pod["spec"]["tolerations"]) == 6
    assert updated(owner, {HASH: "h"}, "h")
    assert updated(owner, {"pod-template-generation": "4"}, "other")
    assert not updated(owner, {HASH: "h"}, "other")
