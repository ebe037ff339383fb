"""Which object a write means."""

from __future__ import annotations

import pytest

from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError
from kubetrio.resources.preconditions import check_identity, told_key

DEPLOYMENTS = GroupResource("apps", "deployments")


def test_a_dry_run_tells_the_key_without_the_prefix_of_the_storage() -> None:
    """It does not come as far."""
    key = "/registry/deployments/n/d"
    assert told_key(key, dry_run=False) == key
    assert told_key(key, dry_run=True) == "/deployments/n/d"


@pytest.mark.parametrize("wanted", [{}, {"uid": ""}, {"uid": "u", "resourceVersion": "7"}])
def test_the_object_that_is_meant(wanted: dict[str, str]) -> None:
    """Whoever names nothing means any."""
    meta = {"name": "d", "uid": "u", "resourceVersion": "7"}
    check_identity(DEPLOYMENTS, "/registry/deployments/n/d", meta, wanted)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"uid": "v"}, "UID in precondition: v, UID in object meta: u"),
        (
            {"resourceVersion": "6"},
            "ResourceVersion in precondition: 6, ResourceVersion in object meta: 7",
        ),
    ],
)
def test_another_object_than_the_one_meant(wanted: dict[str, str], words: str) -> None:
    """In the words of kube-apiserver's storage."""
    meta = {"name": "d", "uid": "u", "resourceVersion": "7"}
    with pytest.raises(ApiError) as caught:
        check_identity(DEPLOYMENTS, "/registry/deployments/n/d", meta, wanted)
    assert (caught.value.code, caught.value.message) == (
        409,
        (
            'Operation cannot be fulfilled on deployments.apps "d": StorageError: invalid object, '
            "Code: 4, Key: /registry/deployments/n/d, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: {words}"
        ),
    )
