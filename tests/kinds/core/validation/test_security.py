"""Checks of security contexts."""

from __future__ import annotations

from checks.helpers import CONTAINER, made, pod, refused, resource

from kubetrio.resources.validation import naming_flags, validate_create

PODS = resource("pods")


def test_privileged_where_allowed() -> None:
    """The server may allow privileged containers."""
    body = pod(containers=[{**CONTAINER, "securityContext": {"privileged": True}}])
    assert refused(PODS, body) == [
        "spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy"
    ]
    assert validate_create(PODS, made(PODS, body), allow_privileged=True) == []


def test_a_client_is_told_the_flag_that_decides() -> None:
    """Causes of other rules are told as they are."""
    body = pod(containers=[{**CONTAINER, "securityContext": {"privileged": True}, "image": ""}])
    causes = validate_create(PODS, made(PODS, body))
    told = {cause.field: cause.message for cause in naming_flags(causes)}
    assert told["spec.containers[0].securityContext.privileged"] == (
        "Forbidden: disallowed by cluster policy (--allow-privileged=false)"
    )
    assert told["spec.containers[0].image"] == "Required value"
