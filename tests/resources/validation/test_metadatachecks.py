"""Checks of metadata that kinds make of their own."""

from __future__ import annotations

import pytest

from kubetrio.machinery.objectmeta import validate_object_meta_update
from kubetrio.resources.validation import (
    metadata_checks,
    qualified_finalizers,
    repeated_metadata,
)
from kubetrio.resources.validation.metadatachecks import checks_of
from kubetrio.schema import builtin
from kubetrio.schema.registry import ResourceType

STORED = {"name": "x", "uid": "u", "resourceVersion": "1"}


def resource(group: str, name: str) -> ResourceType:
    found = builtin.registry().get(group, "v1", name)
    assert found is not None
    return found


def refused(group: str, name: str, subresource: str = "") -> int:
    """How often an unqualified finalizer is refused on an update."""
    kind = resource(group, name)
    qualified = qualified_finalizers(kind, subresource)
    causes = validate_object_meta_update(
        {**STORED, "finalizers": ["plain"]}, STORED, standard_finalizers=qualified
    )
    return len(repeated_metadata(causes, kind, subresource))


@pytest.mark.parametrize(
    ("group", "name", "times"),
    [
        ("", "configmaps", 2),
        ("", "services", 1),
        ("", "persistentvolumes", 2),
        ("node.k8s.io", "runtimeclasses", 0),
        ("coordination.k8s.io", "leases", 0),
        ("policy", "poddisruptionbudgets", 0),
        ("rbac.authorization.k8s.io", "clusterroles", 2),
    ],
)
def test_finalizers_without_a_domain(group: str, name: str, times: int) -> None:
    """Refused by kinds with a check of Kubernetes' own, once for each of these."""
    assert refused(group, name) == times


def test_writes_to_subresources_check_the_change() -> None:
    """Once, except where a kind has it otherwise."""
    assert refused("", "services", "status") == 1
    assert refused("certificates.k8s.io", "certificatesigningrequests", "approval") == 2
    assert refused("batch", "cronjobs", "status") == 0


def test_every_row_is_of_a_kind() -> None:
    """Nothing is said of what is not served."""
    pods = resource("", "pods")
    assert metadata_checks(pods) == "UO"
    assert metadata_checks(pods, "resize") == "UO"
    assert checks_of("example.com", "things", known=False) == "u"
