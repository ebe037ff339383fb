"""Errors and their words."""

from __future__ import annotations

import pytest

from kubetrio.machinery import status
from kubetrio.machinery.names import GroupKind, GroupResource

RESOURCE = GroupResource("apps", "deployments")
NAME = 'a"\n'


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (status.not_found(RESOURCE, NAME), "deployments.apps %s not found"),
        (status.already_exists(RESOURCE, NAME), "deployments.apps %s already exists"),
        (
            status.conflict(RESOURCE, NAME, "why"),
            "Operation cannot be fulfilled on deployments.apps %s: why",
        ),
        (status.forbidden(RESOURCE, NAME, "why"), "deployments.apps %s is forbidden: why"),
        (
            status.invalid(GroupKind("apps", "Deployment"), NAME, []),
            "Deployment.apps %s is invalid",
        ),
    ],
)
def test_names_are_quoted_in_messages_and_bare_in_details(
    error: status.ApiError, words: str
) -> None:
    """As Go quotes them: a name may be anything that fits into a path or a body."""
    assert error.message == words % r'"a\"\n"'
    assert (error.details or {})["name"] == NAME


def test_an_invalid_object_has_one_text_for_equal_causes() -> None:
    """The details list each of them."""
    cause = status.Cause("FieldValueInvalid", "Invalid value", "metadata.labels")
    error = status.invalid(GroupKind("", "Pod"), "p", [cause, cause])
    assert error.message == 'Pod "p" is invalid: metadata.labels: Invalid value'
    assert len((error.details or {})["causes"]) == 2
