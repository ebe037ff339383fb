"""Names and amounts of resources: what containers, quotas and limit ranges may ask for.

Source: "Resource Management for Pods and Containers" and "Resource Quotas" of the Kubernetes
documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from kubetrio.kinds.common.checks import (
    NOT_INTEGER,
    NOT_NEGATIVE,
    NOT_POSITIVE,
    Causes,
    Json,
)
from kubetrio.machinery.fielderrors import (
    Named,
    duplicate,
    forbidden,
    format_value,
    invalid,
    not_supported,
    required,
)
from kubetrio.machinery.names_validation import dns1123_label, qualified_name
from kubetrio.machinery.quantity import Quantity, from_json
from kubetrio.machinery.remember import remembered
from kubetrio.machinery.status import Cause

NameCheck = Callable[[str, str, Causes], None]

HUGE_PAGES = "hugepages-"
_REQUESTS_HUGE_PAGES = "requests.hugepages-"
_OBJECT_COUNTS = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_CONTAINER = frozenset({"cpu", "memory", "ephemeral-storage"})
_QUOTA = (
    _CONTAINER
    | _OBJECT_COUNTS
    | frozenset(f"{side}.{name}" for side in ("requests", "limits") for name in sorted(_CONTAINER))
    | {"requests.storage"}
)
_STANDARD = _QUOTA | {"storage"}
_COMPUTE = frozenset({"cpu", "memory"})
ZERO = Quantity(0)


@remembered(4096, 64)
def amount(text: str) -> Quantity:
    """The quantity of a decoded text, which is canonical.

    Args:
        text: a quantity.
    """
    return from_json(text)


def amount_of(value: Any) -> Quantity:
    """The quantity of a decoded value; None is zero.

    Args:
        value: a text, a number or None.
    """
    return amount(value) if isinstance(value, str) else from_json(value)


def is_huge_page(name: str) -> bool:
    """Whether a resource is huge pages of some size.

    Args:
        name: name of the resource.
    """
    return name.startswith(HUGE_PAGES)


def is_native(name: str) -> bool:
    """Whether a resource is Kubernetes' own.

    Args:
        name: name of the resource.
    """
    return "/" not in name or "kubernetes.io/" in name


@remembered(1024, 320)
def is_extended(name: str) -> bool:
    """Whether a resource is someone else's, such as a vendor's device.

    Args:
        name: name of the resource.
    """
    if is_native(name) or name.startswith("requests."):
        return False
    return not qualified_name(f"requests.{name}")


def is_integer(name: str) -> bool:
    """Whether a resource comes in whole numbers only.

    Args:
        name: name of the resource.
    """
    return name in _OBJECT_COUNTS or is_extended(name)


def may_overcommit(name: str) -> bool:
    """Whether requests of a resource may differ from its limits.

    Args:
        name: name of the resource.
    """
    return is_native(name) and not is_huge_page(name)


def is_standard_quota(name: str) -> bool:
    """Whether quotas know a resource without a domain.

    Args:
        name: name of the resource.
    """
    return name in _QUOTA or name.startswith((HUGE_PAGES, _REQUESTS_HUGE_PAGES))


def resource_name(name: str, path: str, out: Causes) -> None:
    """Check the name of any resource.

    Args:
        name: the name.
        path: its path.
        out: receives causes.
    """
    if messages := qualified_name(name):
        out.extend(invalid(path, name, message) for message in messages)
    elif (
        "/" not in name
        and name not in _STANDARD
        and not name.startswith((HUGE_PAGES, _REQUESTS_HUGE_PAGES))
    ):
        out.append(invalid(path, name, "must be a standard resource type or fully qualified"))


def container_resource_name(name: str, path: str, out: Causes) -> None:
    """Check the name of a resource that a container may use.

    Args:
        name: the name.
        path: its path.
        out: receives causes.
    """
    if name in _CONTAINER:
        return
    resource_name(name, path, out)
    if "/" not in name:
        if not is_huge_page(name):
            out.append(invalid(path, Named(name), "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        out.append(invalid(path, name, "doesn't follow extended resource name standard"))


def pod_resource_name(name: str, path: str, out: Causes) -> None:
    """Check the name of a resource of a pod as a whole.

    Args:
        name: the name.
        path: its path.
        out: receives causes.
    """
    if name in _COMPUTE:
        return
    before = len(out)
    resource_name(name, path, out)
    if len(out) == before and not is_huge_page(name):
        out.append(not_supported(path, name, ("cpu", "hugepages-", "memory")))


def quota_resource_name(name: str, path: str, out: Causes) -> None:
    """Check the name of a resource that a quota may limit.

    Args:
        name: the name.
        path: its path.
        out: receives causes.
    """
    resource_name(name, path, out)
    if "/" not in name and not is_standard_quota(name):
        out.append(invalid(path, name, "must be a standard resource for quota"))


def not_negative_quantity(value: Any, path: str, out: Causes) -> None:
    """Check that a quantity is not negative.

    Args:
        value: the quantity.
        path: its path.
        out: receives causes.
    """
    if amount_of(value) < ZERO:
        out.append(invalid(path, value, NOT_NEGATIVE))


def positive_quantity(value: Any, path: str, out: Causes) -> None:
    """Check that a quantity is greater than zero.

    Args:
        value: the quantity.
        path: its path.
        out: receives causes.
    """
    if amount_of(value) <= ZERO:
        out.append(invalid(path, value, NOT_POSITIVE))


def basic_quantity(value: Any, path: str, out: Causes) -> None:
    """Check a capacity.

    Args:
        value: the quantity.
        path: its path.
        out: receives causes.
    """
    whole = amount_of(value).value()
    if whole < 0:
        out.append(invalid(path, whole, "must be a valid resource quantity"))


def quantity_of(name: str, value: Any, path: str, out: Causes) -> None:
    """Check an amount of a resource: not negative, whole where it must be.

    Args:
        name: name of the resource.
        value: the quantity.
        path: its path.
        out: receives causes.
    """
    parsed = amount_of(value)
    if parsed.coefficient < 0:
        out.append(invalid(path, value, NOT_NEGATIVE))
    if name not in _CONTAINER and is_integer(name) and parsed.milli_value() % 1000:
        out.append(invalid(path, value, NOT_INTEGER))


def _huge_pages(name: str, value: Any, path: str, out: Causes) -> None:
    if not is_huge_page(name):
        return
    try:
        size = amount(name[len(HUGE_PAGES) :]).value()
    except ValueError:
        size = 0
    if size <= 0 or amount_of(value).value() % size:
        detail = f"{value} is not positive integer multiple of {name}"
        out.append(invalid(path, value, detail))


def requirements(
    value: Mapping[str, Any],
    path: str,
    out: Causes,
    *,
    name_check: NameCheck = container_resource_name,
    claims: Collection[str] = (),
) -> None:
    """Check requests and limits.

    Args:
        value: with ``requests``, ``limits`` and ``claims``.
        path: its path.
        out: receives causes.
        name_check: which resources are allowed.
        claims: names of the pod's resource claims.
    """
    limits: Json = value.get("limits") or {}
    requests: Json = value.get("requests") or {}
    for name, quantity in limits.items():
        where = f"{path}.limits[{name}]"
        name_check(name, where, out)
        quantity_of(name, quantity, where, out)
        _huge_pages(name, quantity, where, out)
    for name, quantity in requests.items():
        where = f"{path}.requests[{name}]"
        name_check(name, where, out)
        quantity_of(name, quantity, where, out)
        _within_limit(name, quantity, limits, path, out)
        _huge_pages(name, quantity, where, out)
    named = limits.keys() | requests.keys()
    if named.isdisjoint(_COMPUTE) and any(map(is_huge_page, named)):
        out.append(forbidden(path, "HugePages require cpu or memory"))
    if listed := value.get("claims"):
        _claims(listed, f"{path}.claims", claims, out)


def _within_limit(name: str, quantity: Any, limits: Json, path: str, out: Causes) -> None:
    limit = limits.get(name)
    if limit is None:
        if not may_overcommit(name):
            detail = "Limit must be set for non overcommitable resources"
            out.append(required(f"{path}.limits", detail))
        return
    if limit == quantity:
        return
    order = amount_of(quantity).compare(amount_of(limit))
    if order and not may_overcommit(name):
        detail = f"must be equal to {name} limit of {limit}"
        out.append(invalid(f"{path}.requests", quantity, detail))
    elif order > 0:
        detail = f"must be less than or equal to {name} limit of {limit}"
        out.append(invalid(f"{path}.requests", quantity, detail))


def _claims(listed: list[Json], path: str, known: Collection[str], out: Causes) -> None:
    seen: set[str] = set()
    for index, claim in enumerate(listed):
        where = f"{path}[{index}]"
        name, request = claim.get("name") or "", claim.get("request") or ""
        if not name:
            out.append(required(where))
            continue
        if name in seen:
            out.append(duplicate(where, name))
        else:
            _claim_request(name, request, where, seen, out)
        if name not in known:
            detail = "must be one of the names in pod.spec.resourceClaims"
            detail += f": {', '.join(sorted(known))}" if known else " which is empty"
            message = f"Not found: {format_value(name)}: {detail}"
            out.append(Cause("FieldValueNotFound", message, where))


def _claim_request(name: str, request: str, path: str, seen: set[str], out: Causes) -> None:
    key = f"{name}/{request}" if request else name
    if request:
        out.extend(invalid(f"{path}.request", request, text) for text in dns1123_label(request))
    if key in seen:
        out.append(duplicate(path, key))
    elif not request:
        out.extend(duplicate(path, name) for other in seen if other.partition("/")[0] == name)
    seen.add(key)
