"""Small groups beyond the recorded samples."""

import pytest

from kubetrio.kinds.apiregistration import printers as apiregistration
from kubetrio.kinds.coordination import printers as coordination
from kubetrio.kinds.resource import printers as resource

NOW = 1_000.0


@pytest.mark.parametrize(
    ("condition", "printed"),
    [
        (None, "Unknown"),
        ({"status": "True", "reason": "Local"}, "True"),
        ({"status": "False", "reason": "Gone"}, "False (Gone)"),
        ({"status": "False"}, "False"),
    ],
)
def test_api_service_available(condition, printed):
    """Why a service is not available."""
    conditions = [{"type": "Available", **condition}] if condition else []
    obj = {
        "spec": {"service": {"namespace": "n", "name": "s"}},
        "status": {"conditions": conditions},
    }
    assert apiregistration.api_service(obj, NOW)[1:3] == ["n/s", printed]


@pytest.mark.parametrize(
    ("deleted", "status", "printed"),
    [
        (False, {}, "pending"),
        (False, {"allocation": {}}, "allocated"),
        (False, {"allocation": {}, "reservedFor": [{}]}, "allocated,reserved"),
        (True, {}, "deleted"),
        (True, {"allocation": {}, "reservedFor": [{}]}, "deleted,allocated,reserved"),
    ],
)
def test_resource_claim(deleted, status, printed):
    """State of a claim."""
    metadata = {"deletionTimestamp": "1970-01-01T00:00:00Z"} if deleted else {}
    assert resource.resource_claim({"metadata": metadata, "status": status}, NOW)[1] == printed


def test_lease_and_slice():
    """Plain fields."""
    assert coordination.lease({"spec": {"holderIdentity": "h"}}, NOW)[1] == "h"
    spec = {"nodeName": "n", "driver": "d", "pool": {"name": "p"}}
    assert resource.resource_slice({"spec": spec}, NOW)[1:4] == ["n", "d", "p"]
