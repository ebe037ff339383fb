"""What writes of API services do beside what their clients say."""

from __future__ import annotations

from checks.prepared import create


def test_a_local_api_service_is_available() -> None:
    """What this server serves itself needs no probing."""
    service = create("apiregistration.k8s.io", "apiservices", spec={"group": "g", "version": "v1"})
    assert service["status"]["conditions"][0]["reason"] == "Local"
