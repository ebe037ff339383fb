"""The search for devices of a node that all claims of a pod can have together.

It is exhaustive, one device after the other, and gives the first solution.

Source: docs "Dynamic Resource Allocation"; k8s.io/dynamic-resource-allocation/structured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kubetrio.controllers.podcontrol.taints import Taint
from kubetrio.controllers.scheduler.devices.facts import (
    Claim,
    Class,
    Device,
    DeviceId,
    Devices,
    Request,
    Slice,
)
from kubetrio.controllers.scheduler.devices.selecting import SelectorError, meets

Object = dict[str, Any]

MOST_RESULTS = 32
"""Devices that a claim can have."""
MOST_STEPS = 20_000
"""Devices that are tried for a node before the search is given up."""
_PREVENT = ("NoSchedule", "NoExecute")


class AllocationError(Exception):
    """The devices of a node cannot be given for a reason that is told; the text is it."""


class Chosen(NamedTuple):
    """A device that is given for a request."""

    request: Request
    device: Device


class Pool(NamedTuple):
    """Devices of a pool that a node can use.

    Args:
        driver: of the devices.
        name: of the pool.
        whole: whether all of its slices are there.
        devices: in order; none where it is not whole.
    """

    driver: str
    name: str
    whole: bool
    devices: tuple[Device, ...]


class Wanted(NamedTuple):
    """A request that is to have devices.

    Args:
        claim: place of its claim.
        request: it.
        candidates: devices that fit, in order.
        amount: how many it gets.
    """

    claim: int
    request: Request
    candidates: list[Device]
    amount: int


def pools_of(slices: Mapping[str, Slice], name: str, labels: Mapping[str, str]) -> list[Pool]:
    """The pools of which a node can use something, in order.

    Args:
        slices: all there are, by name.
        name: of the node.
        labels: of the node.
    """
    by_pool: dict[tuple[str, str], list[Slice]] = {}
    for key in sorted(slices):
        one = slices[key]
        by_pool.setdefault((one.driver, one.pool), []).append(one)
    pools = []
    for (driver, pool), parts in sorted(by_pool.items()):
        newest = max(one.generation for one in parts)
        current = [one for one in parts if one.generation == newest]
        devices = tuple(
            device for one in current for device in one.devices if device.nodes.have(name, labels)
        )
        if devices:
            whole = len(current) == current[0].parts
            pools.append(Pool(driver, pool, whole, devices if whole else ()))
    return pools


class Allocator:
    """Devices for the claims of a pod on one node.

    Args:
        devices: all there are.
        used: devices that nothing else may have.
        claims: namespaces and names of claims without devices, and these.
    """

    def __init__(
        self, devices: Devices, used: set[DeviceId], claims: Sequence[tuple[str, Claim]]
    ) -> None:
        self._devices = devices
        self._used = used
        self._claims = claims
        self._steps = 0
        self._taken: dict[DeviceId, set[int]] = {}
        self._chosen: list[list[Chosen]] = []

    def allocate(self, name: str, labels: Mapping[str, str]) -> list[Object] | None:
        """The allocation of each claim; None if there are not enough devices.

        Args:
            name: of the node.
            labels: of the node.

        Raises:
            AllocationError: something is wrong with a claim, a class or a pool.
        """
        pools = pools_of(self._devices.slices, name, labels)
        requests = [
            self._wanted(place, key, request, pools)
            for place, (key, claim) in enumerate(self._claims)
            for request in claim.requests
        ]
        self._steps, self._taken = 0, {}
        self._chosen = [[] for _ in self._claims]
        for place, (key, _) in enumerate(self._claims):
            total = sum(one.amount for one in requests if one.claim == place)
            if total > MOST_RESULTS:
                text = f"claim {key}: number of requested devices {total}"
                raise AllocationError(f"{text} exceeds the claim limit of {MOST_RESULTS}")
        if any(not one.amount for one in requests) or not self._give(requests, 0, 0, 0, name):
            return None
        return [
            self._allocation(claim, chosen)
            for (_, claim), chosen in zip(self._claims, self._chosen, strict=True)
        ]

    def _wanted(self, place: int, key: str, request: Request, pools: list[Pool]) -> Wanted:
        kind = self._devices.classes.get(request.class_name, Class((), ()))
        candidates = []
        for pool in pools:
            if not request.amount and not pool.whole:
                text = f"asks for all devices, but resource pool {pool.driver}/{pool.name}"
                text = f"claim {key}, request {request.name}: {text} is currently being updated"
                raise AllocationError(text)
            candidates += [one for one in pool.devices if self._fits(key, request, kind, one)]
        amount = request.amount or len(candidates)
        return Wanted(place, request, candidates, amount)

    def _fits(self, key: str, request: Request, kind: Class, device: Device) -> bool:
        of_class = [(f"class {request.class_name}", one) for one in enumerate(kind.selectors)]
        of_claim = [(f"claim {key}", one) for one in enumerate(request.selectors)]
        for where, (number, expression) in (*of_class, *of_claim):
            try:
                if not meets(device, expression):
                    return False
            except SelectorError as error:
                raise AllocationError(f"{where}: selector #{number}: {error}") from error
        return device.usable

    # ------------------------------------------------------------------ the search

    def _give(self, requests: list[Wanted], at: int, have: int, start: int, node: str) -> bool:
        """Give devices for a request and those after it; whether there is a way.

        Args:
            requests: all of them.
            at: place of the request.
            have: devices that it has already.
            start: place of the first candidate to try.
            node: name of the node.
        """
        if at == len(requests):
            return True
        one = requests[at]
        if have == one.amount:
            return self._give(requests, at + 1, 0, 0, node)
        every = not one.request.amount
        last = have + 1 if every else len(one.candidates) - (one.amount - have) + 1
        for place in range(have if every else start, last):
            self._steps += 1
            if self._steps > MOST_STEPS:
                raise AllocationError(f"node {node}: timed out trying to allocate devices")
            device = one.candidates[place]
            if not self._take(one, device):
                continue
            if self._give(requests, at, have + 1, place + 1, node):
                return True
            self._chosen[one.claim].pop()
            self._taken[device.id].discard(one.claim)
        return False

    def _take(self, one: Wanted, device: Device) -> bool:
        """Give a device for a request, if it can be."""
        request, holders = one.request, self._taken.setdefault(device.id, set())
        if request.admin:
            if one.claim in holders:
                return False
        elif holders or device.id in self._used:
            return False
        if any(
            taint.get("effect") in _PREVENT and not _tolerated(taint, request)
            for taint in device.taints
        ):
            return False
        chosen = Chosen(request, device)
        _, claim = self._claims[one.claim]
        together = [*self._chosen[one.claim], chosen]
        if not all(_alike(constraint, together) for constraint in claim.constraints):
            return False
        holders.add(one.claim)
        self._chosen[one.claim].append(chosen)
        return True

    # ------------------------------------------------------------------ what comes of it

    def _allocation(self, claim: Claim, chosen: list[Chosen]) -> Object:
        results = []
        for request, device in chosen:
            result: Object = {"request": request.name, **device.id._asdict()}
            if request.admin:
                result["adminAccess"] = True
            if request.tolerations:
                result["tolerations"] = list(request.tolerations)
            results.append(result)
        devices: Object = {"results": results}
        if config := self._config(claim):
            devices["config"] = config
        allocation: Object = {"devices": devices}
        if (selector := _selector(chosen)) is not None:
            allocation["nodeSelector"] = selector
        return allocation

    def _config(self, claim: Claim) -> list[Object]:
        by_class: dict[str, list[str]] = {}
        for request in claim.requests:
            by_class.setdefault(request.class_name, []).append(request.name)
        config: list[Object] = [
            {"source": "FromClass", "requests": names, **one}
            for name, names in by_class.items()
            for one in self._devices.classes.get(name, Class((), ())).config
        ]
        names = {request.name for request in claim.requests}
        config += [
            {"source": "FromClaim", **one}
            for one in claim.config
            if not one.get("requests") or names & set(one["requests"])
        ]
        return config


def _tolerated(taint: Object, request: Request) -> bool:
    one = Taint(taint.get("key") or "", taint.get("value") or "", taint.get("effect") or "")
    for toleration in request.tolerations:
        if toleration.get("effect") not in (None, "", one.effect):
            continue
        if toleration.get("key") not in (None, "", one.key):
            continue
        exists = toleration.get("operator") == "Exists"
        if exists or (toleration.get("value") or "") == one.value:
            return True
    return False


def _alike(constraint: Object, chosen: list[Chosen]) -> bool:
    """Whether all devices of some requests have the same value of an attribute."""
    name, requests = constraint.get("matchAttribute") or "", constraint.get("requests")
    values = [
        _attribute(device, name)
        for request, device in chosen
        if not requests or request.name in requests
    ]
    return all(one is not None and one == values[0] for one in values)


def _attribute(device: Device, name: str) -> Object | None:
    """A device's attribute of a name with its domain, None if it has none."""
    if name in device.attributes:
        return device.attributes[name]
    domain, _, rest = name.partition("/")
    return device.attributes.get(rest) if domain == device.id.driver else None


def _selector(chosen: list[Chosen]) -> Object | None:
    """Which nodes can use all devices, None for all nodes."""
    fields: list[Object] = []
    labels: list[Object] = []
    for _, device in chosen:
        if device.nodes.name:
            row = {"key": "metadata.name", "operator": "In", "values": [device.nodes.name]}
            return {"nodeSelectorTerms": [{"matchFields": [row]}]}
        for term in device.nodes.terms or ():
            fields += [one for one in term.get("matchFields") or () if one not in fields]
            labels += [one for one in term.get("matchExpressions") or () if one not in labels]
    if not fields and not labels:
        return None
    both = {"matchFields": fields, "matchExpressions": labels}
    return {"nodeSelectorTerms": [{name: rows for name, rows in both.items() if rows}]}
