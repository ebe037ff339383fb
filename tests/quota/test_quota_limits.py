"""Limited resources of the configuration of ResourceQuota."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.admission.configuration import ConfigurationError
from kubetrio.machinery.names import GroupResource
from kubetrio.quota.limits import Limit, configured

HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: ResourceQuotaConfiguration\n"


def limits(text: str) -> tuple[Limit, ...]:
    return configured((HEAD + text).encode())


def test_without_a_configuration_nothing_needs_a_quota() -> None:
    """And with an empty one."""
    assert configured(None) == ()
    assert limits("") == ()


def test_a_resource_is_limited_by_names_and_scopes() -> None:
    """In the words of the documentation."""
    (limit,) = limits(
        "limitedResources:\n- resource: pods\n  matchContains: [pods, cpu]\n"
        "  matchScopes:\n  - {scopeName: PriorityClass, operator: In, values: [high]}\n"
    )
    assert limit.resource == GroupResource("", "pods")
    assert limit.contains == ("pods", "cpu")
    assert [scope[:2] for scope in limit.scopes] == [("PriorityClass", "In")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("limitedResources: [{}]\n", "limitedResources[0].resource: Required value"),
        ("limitedResources: [{resource: pods, more: 1}]\n", "more"),
    ],
)
def test_what_it_cannot_say(text: Any, message: str) -> None:
    """A limit without a resource, and members that there are not."""
    with pytest.raises(ConfigurationError) as caught:
        limits(text)
    assert message in str(caught.value)
