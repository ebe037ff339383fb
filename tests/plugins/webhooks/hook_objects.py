"""Webhook configurations as tests write them."""

from __future__ import annotations

from typing import Any

from kubetrio.testing.client import Answer, Client
from kubetrio.testing.hooks import HookServer

Object = dict[str, Any]

GROUP = "/apis/admissionregistration.k8s.io/v1"
CONFIGS = "/api/v1/namespaces/default/configmaps"
RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE", "DELETE"],
    "resources": ["configmaps"],
}
VALIDATING, MUTATING = "Validating", "Mutating"


def config_map(name: str = "c", **more: Any) -> Object:
    """A ConfigMap; ``labels`` goes to its metadata."""
    meta: Object = {"name": name}
    if "labels" in more:
        meta["labels"] = more.pop("labels")
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, **more}


def webhook(server: HookServer, path: str = "/allow", **more: Any) -> Object:
    """A webhook of a configuration."""
    return {
        "name": "h.example.com",
        "clientConfig": server.client(path),
        "rules": [RULE],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **more,
    }


async def configured(client: Client, kind: str, *hooks: Object, name: str = "hooks") -> None:
    """Make a configuration; it must be accepted."""
    kind = f"{kind}WebhookConfiguration"
    body = {
        "kind": kind,
        "apiVersion": "admissionregistration.k8s.io/v1",
        "metadata": {"name": name},
        "webhooks": list(hooks),
    }
    answer = await client.request("POST", f"{GROUP}/{kind.lower()}s", json=body)
    assert answer.status == 201, answer.json()


async def created(client: Client, name: str = "c", query: str = "", **more: Any) -> Answer:
    """Try to make a ConfigMap."""
    return await client.request("POST", CONFIGS + query, json=config_map(name, **more))


def failed(why: str, name: str = "h.example.com") -> str:
    """What a client is told that a webhook could not be asked."""
    return f'Internal error occurred: failed calling webhook "{name}": {why}'
