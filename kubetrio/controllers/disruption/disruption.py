"""Keeps the status of disruption budgets, and takes back what evictions said that came to nothing.

Source: docs "Disruptions"; k8s.io/kubernetes/pkg/controller/disruption.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.disruption.budgets import (
    Counted,
    counted,
    disrupted,
    expected,
    failed,
    needs_scale,
)
from kubetrio.controllers.disruption.scales import NoScale, Scales
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.recorder import NORMAL, WARNING, EventRecorder, Reference, reference_to
from kubetrio.informers.informer import NAMESPACE, Item
from kubetrio.kinds.common.cells import go_selector
from kubetrio.kinds.core.pods.conditions import set_pod_condition
from kubetrio.kinds.core.pods.digests import DISRUPTION_TARGET, PodDigest, pods_of
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.labels import NOTHING, Selector, from_label_selector
from kubetrio.machinery.timestamps import format_time, parse_time
from kubetrio.resources.writes import Target

Object = dict[str, Any]

ACCOUNT = "disruption-controller"
STALE_S = 120.0
"""How long a pod may say that it is a target of disruption and not be deleted, in seconds."""
AGAIN_S = 300.0
"""How long until a budget that could not be counted is counted anew, in seconds."""
_BUDGET, _POD = "budget", "pod"
UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. "
    "As a result, the status of the PDB cannot be calculated correctly, which may result in "
    'undefined behavior. To account for these pods please set ".spec.minAvailable" '
    "field of the PDB to an integer value."
)


class DisruptionController(Controller):
    """The controller; its keys are budgets and pods, with a word before that says which.

    Args:
        context: what it is made of.
    """

    name = "disruption-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._budget_kind = context.registry.resources["policy", "v1", "poddisruptionbudgets"]
        self._pod_kind = context.registry.resources["", "v1", "pods"]
        self._who = as_service_account(ACCOUNT)
        self._events = EventRecorder(
            "controllermanager", ACCOUNT, context.registry, context.operations, context.env
        )
        self._scales = Scales(context.registry, context.informers.store)
        self._selectors: dict[str, Selector] = {}  # by storage key of the budget
        self._pods = pods_of(context.informers)
        # Pods are read before budgets: of those that are there no events are recorded.
        self.sources.append(self._pods)
        self._budgets = self.follow(self._budget_kind, self._budget_changed)
        self._pods.on_change(self._pod_changed)
        self.beside.append(self._events.run)

    def _budget_changed(self, old: Item | None, item: Item | None) -> None:
        if item is None:
            if old is not None:
                self._selectors.pop(old.key, None)
            return
        try:
            selector = from_label_selector((item.object.get("spec") or {}).get("selector"))
        except ValueError:
            selector = NOTHING
        self._selectors[item.key] = selector
        self._add_budget(item)

    def _add_budget(self, item: Item) -> None:
        meta = item.object["metadata"]
        self.queue.add(f"{_BUDGET}/{meta['namespace']}/{meta['name']}")

    def _pod_changed(
        self, namespace: str, name: str, old: PodDigest | None, new: PodDigest | None
    ) -> None:
        if old == new:
            return
        budgets = self._budgets.indexer.by_index(NAMESPACE, namespace)
        of_new = self._selecting(budgets, new)
        if len(of_new) > 1 and new is not None:
            first = of_new[0].object["metadata"]["name"]
            message = (
                f"Pod {quote(namespace)}/{quote(name)} matches multiple PodDisruptionBudgets.  "
                f"Chose {quote(first)} arbitrarily."
            )
            about = Reference("v1", "Pod", namespace, name, new.uid)
            self._events.record(about, WARNING, "MultiplePodDisruptionBudgets", message)
        for item in {item.key: item for item in (*self._selecting(budgets, old), *of_new)}.values():
            self._add_budget(item)
        if new is not None and (wait_s := self._stale_in(new)) is not None:
            self.look_again_in(f"{_POD}/{namespace}/{name}", wait_s)

    def _selecting(self, budgets: Any, pod: PodDigest | None) -> list[Item]:
        if pod is None or not budgets:
            return []
        labels = pod.label_map
        return [item for item in budgets if self._selectors[item.key].matches(labels)]

    def _stale_in(self, pod: PodDigest) -> float | None:
        """In how many seconds a pod's condition is stale; None if it will not be."""
        target = pod.target
        if target is None or pod.deleting or pod.over or target.reason == "TerminationByKubelet":
            return None
        since = parse_time(target.since) if target.since else 0.0
        return max(STALE_S - (self._env.now() - since), 0.0)

    async def sync(self, key: str) -> None:
        """Count the pods of a budget, or take a condition of a pod back.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same, or something cannot be read.
        """
        what, namespace, name = key.split("/")
        await (self._count if what == _BUDGET else self._take_back)(namespace, name)

    async def _count(self, namespace: str, name: str) -> None:
        budget = self._budgets.lister.get(name, namespace)
        if budget is None:
            return
        about = reference_to(budget, self._budget_kind.api_version, self._budget_kind.kind)
        pods = self._selected(self._budget_kind.key(namespace, name), namespace)
        if not pods:
            self._events.record(about, NORMAL, "NoPods", "No matching pods found")
        spec, scale, alone = budget.get("spec") or {}, 0, list[str]()
        target = Target(self._budget_kind, namespace, name, "status")
        try:
            if needs_scale(spec):
                scale, alone = await self._scales.sum(namespace, pods.items())
        except NoScale as error:
            why = str(error)
            # What the pods' controllers say may change without a word here.
            self.queue.add_after(f"{_BUDGET}/{namespace}/{name}", AGAIN_S)
            if failed(budget, why, self._env.now()) == budget:
                return  # as was said before
            message = f"Failed to calculate the number of expected pods: {why}"
            self._events.record(about, WARNING, "CalculateExpectedPodCountFailed", message)
            await self._operations.patch(
                target, lambda old: failed(old, why, self._env.now()), self._who
            )
            return
        if alone:
            shown = go_selector(spec.get("selector") or {})
            self._events.record(about, WARNING, "UnmanagedPods", UNMANAGED.format(shown))
        generation = budget["metadata"].get("generation") or 0
        count = Counted(generation, expected(spec, len(pods), scale), pods)
        now = self._env.now()
        leaving = disrupted(budget.get("status") or {}, pods, now)
        for late in leaving.late:
            pod = Reference("v1", "Pod", namespace, late, pods[late].uid)
            # kube-controller-manager names the namespace twice.
            message = f"Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't"
            self._events.record(pod, WARNING, "NotDeleted", message)
        if counted(budget, count, now) is not budget:
            # An eviction may be granted meanwhile: what is counted is the budget as it is then.
            await self._operations.patch(
                target, lambda old: counted(old, count, self._env.now()), self._who
            )
        if leaving.recheck_at is not None:
            self.look_again_in(f"{_BUDGET}/{namespace}/{name}", leaving.recheck_at - now)

    def _selected(self, key: str, namespace: str) -> Mapping[str, PodDigest]:
        selector = self._selectors.get(key, NOTHING)
        return {
            name: pod
            for name, pod in self._pods.within(namespace).items()
            if selector.matches(pod.label_map)
        }

    async def _take_back(self, namespace: str, name: str) -> None:
        pod = self._pods.get(namespace, name)
        wait_s = None if pod is None else self._stale_in(pod)
        if wait_s is None:
            return
        if wait_s > 0:
            self.look_again_in(f"{_POD}/{namespace}/{name}", wait_s)
            return

        def taken_back(old: Object) -> Object:
            condition = {
                "type": DISRUPTION_TARGET,
                "observedGeneration": old["metadata"].get("generation") or 0,
                "status": "False",
            }
            return set_pod_condition(old, condition, format_time(self._env.now()))

        target = Target(self._pod_kind, namespace, name, "status")
        await self._operations.patch(target, taken_back, self._who)
