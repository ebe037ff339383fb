"""Checks of security contexts."""

from __future__ import annotations

from checks.helpers import CONTAINER, made, pod, refused, resource

from kubetrio.resources.validation import validate_create

PODS = resource("pods")


def test_privileged_where_allowed() -> None:
    """The server may allow privileged containers."""
    body = pod(containers=[{**CONTAINER, "securityContext": {"privileged": True}}])
    assert refused(PODS, body) == [
        "spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy"
    ]
    assert validate_create(PODS, made(PODS, body), allow_privileged=True) == []
