"""What writes of apiregistration.k8s.io do beside what their clients say."""

from __future__ import annotations

from kubetrio.schema.rules import Context, Json


def create_api_service(service: Json, context: Context) -> None:
    """A version that this server serves itself is available at once."""
    if (service.get("spec") or {}).get("service") is None:
        condition = {
            "type": "Available",
            "status": "True",
            "lastTransitionTime": context.now,
            "reason": "Local",
            "message": "Local APIServices are always available",
        }
        service["status"] = {"conditions": [condition]}
