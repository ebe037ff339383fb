"""Objects of claims of devices, for tests."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
DRIVER = "gpu.example"


def device(name: str, model: str = "a", **more: Any) -> Object:
    """A device with two attributes and a capacity."""
    return {
        "name": name,
        "attributes": {"model": {"string": model}, "version": {"version": "1.2.3"}},
        "capacity": {"memory": {"value": "8Gi"}},
        **more,
    }


def resource_slice(
    name: str, *devices: Object, node: str = "", generation: int = 1, parts: int = 1, **spec: Any
) -> Object:
    """A slice of the pool of a node, or of one that all nodes share."""
    where: Object = {"nodeName": node} if node else {"allNodes": True}
    pool = {"name": node or "shared", "generation": generation, "resourceSliceCount": parts}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {"driver": DRIVER, "pool": pool, **where, "devices": list(devices), **spec},
    }


def device_class(name: str = "gpu", *expressions: str, **spec: Any) -> Object:
    """A class of devices, of the driver if nothing else is said."""
    selectors = expressions or (f'device.driver == "{DRIVER}"',)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": one}} for one in selectors], **spec},
    }


def request(name: str = "r", *expressions: str, **more: Any) -> Object:
    """A request for devices of the class."""
    exactly: Object = {"deviceClassName": "gpu", **more}
    if expressions:
        exactly["selectors"] = [{"cel": {"expression": one}} for one in expressions]
    return {"name": name, "exactly": exactly}


def claim(name: str, *requests: Object, **devices: Any) -> Object:
    """A claim, of one device if nothing else is said."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": list(requests or (request(),)), **devices}},
    }


def template(name: str = "one", *requests: Object) -> Object:
    """A template of such a claim."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"spec": claim("", *requests)["spec"]},
    }


def pod(name: str, *, claim_name: str = "", template_name: str = "", **spec: Any) -> Object:
    """A pod with one claim."""
    asked: Object = {"name": "dev"}
    if claim_name:
        asked["resourceClaimName"] = claim_name
    if template_name:
        asked["resourceClaimTemplateName"] = template_name
    container = {"name": "c", "image": "i", "resources": {"claims": [{"name": "dev"}]}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container], "resourceClaims": [asked], **spec},
    }
