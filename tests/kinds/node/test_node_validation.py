"""Checks of runtime classes."""

from __future__ import annotations

import pytest
from checks.helpers import made, refused, refused_change, resource, warned
from checks.recorded import Case, assert_as_recorded, recorded

CLASSES = resource("runtimeclasses", "node.k8s.io")


def test_a_changed_class_is_checked() -> None:
    """Everything but the handler may change, to something good."""
    old = made(CLASSES, {"handler": "h"})
    new = {**old, "handler": "H", "scheduling": {"nodeSelector": {"a": "b c"}}}
    fields = [line.partition(": ")[0] for line in refused_change(CLASSES, old, new)]
    assert fields == ["handler", "handler", "scheduling.nodeSelector"]


def test_old_labels_of_nodes_are_warned_about() -> None:
    """A class should select nodes by labels that stay."""
    selector = {"a": "b", "beta.kubernetes.io/os": "linux"}
    assert warned(CLASSES, {"handler": "h", "scheduling": {"nodeSelector": selector}}) == [
        'scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead'
    ]


def test_tolerations_of_a_class_differ() -> None:
    """Seconds do not make two of them."""
    toleration = {"key": "a", "operator": "Exists", "effect": "NoExecute"}
    both = [toleration, {**toleration, "tolerationSeconds": 5}]
    shown = '{"Key":"a","Operator":"Exists","Value":"","Effect":"NoExecute","TolerationSeconds":5}'
    assert refused(CLASSES, {"handler": "h", "scheduling": {"tolerations": both}}) == [
        f"scheduling.tolerations[1]: Duplicate value: {shown}"
    ]


@pytest.mark.parametrize("case", recorded("node.k8s.io"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
