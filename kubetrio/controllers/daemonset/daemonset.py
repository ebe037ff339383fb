"""Gives DaemonSets a pod on each node that fits.

Source: docs "DaemonSet"; k8s.io/kubernetes/pkg/controller/daemon.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.daemonset.fitting import HASH, fit, new_pod, updated
from kubetrio.controllers.daemonset.plan import ROLLING, Plan, Rules, by_node, manage, roll, status
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.podcontrol.claims import Claimable, Controlling, claims
from kubetrio.controllers.podcontrol.hashes import template_hash
from kubetrio.controllers.podcontrol.owned import OwnedPods
from kubetrio.controllers.podcontrol.podwriter import (
    MOST_AT_ONCE,
    PodWriter,
    all_of,
    slow_start,
)
from kubetrio.controllers.podcontrol.revisions import (
    NewRevision,
    Revisions,
    in_order,
    number_of,
    template_data,
)
from kubetrio.controllers.podcontrol.selectors import OwnerSelectors, owners_of
from kubetrio.controllers.podcontrol.statuses import printed
from kubetrio.controllers.podcontrol.taints import Node, nodes_in
from kubetrio.controllers.podcontrol.view import Pod, next_available, views_of
from kubetrio.controllers.recorder import WARNING
from kubetrio.informers.informer import NAMESPACE, Item
from kubetrio.machinery.labels import Selector
from kubetrio.machinery.status import ApiError
from kubetrio.resources.writes import Target

Object = dict[str, Any]

ACCOUNT = "daemon-set-controller"
COMPONENT = "daemonset-controller"
STATUS = "io.k8s.api.apps.v1.DaemonSetStatus"
FIRST_S, LONGEST_S = 1.0, 900.0
"""How long a failed pod stays before it is deleted: twice as long each time, in seconds."""
MOST_FAILED = 4096


class DaemonSetController(Controller):
    """The controller; its keys are namespaces and names of DaemonSets.

    Args:
        context: what it is made of.
    """

    name = "daemonset-controller"
    workers = 2

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources["apps", "v1", "daemonsets"]
        self._who = as_service_account(ACCOUNT)
        self._selectors = OwnerSelectors(self._kind)
        self._failed: dict[tuple[str, str], tuple[float, float]] = {}  # wait and time, in seconds
        self._sets = self.follow(self._kind, self._set_changed)
        revisions = context.registry.resources["apps", "v1", "controllerrevisions"]
        self._revisions = Revisions(context, self.follow(revisions, _nothing), ACCOUNT)
        self._writer = PodWriter(context, ACCOUNT, COMPONENT)
        self._nodes = self.follow_digests(nodes_in(context.informers), self._node_changed)
        views = views_of(context.informers)
        self.sources.append(views)
        self._pods = OwnedPods(self._kind.kind, views, self._pod_changed)
        self.beside.append(self._writer.events.run)

    def _set_changed(self, old: Item | None, item: Item | None) -> None:
        key = self._selectors.note(old, item)
        if key is not None:
            self.queue.add(key)

    def _node_changed(self, _: str, __: str, old: Node | None, new: Node | None) -> None:
        if old == new:
            return
        for item in self._sets.indexer.list():
            template = item.object["spec"].get("template") or {}
            was = None if old is None else fit(template, old)
            is_ = None if new is None else fit(template, new)
            if was != is_:
                self.queue.add(item.key.removeprefix(self._kind.storage_prefix))

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        for key in owners_of(old, new):
            self.queue.add(key)
        if new is None or new.owner is not None:
            return
        sets = self._sets.indexer.by_index(NAMESPACE, new.namespace)
        for key in self._selectors.selecting(sets, new.label_map):
            self.queue.add(key)

    def begin_anew(self) -> None:
        """See `Reconciler.begin_anew`; failures of another time are forgotten."""
        self._failed.clear()
        super().begin_anew()

    async def sync(self, key: str) -> None:
        """Make and delete pods of a DaemonSet, and say in its status how they are.

        Raises:
            ApiError: something cannot be written.
            StoreError: the same.
        """
        namespace, _, name = key.partition("/")
        obj = self._sets.lister.get(name, namespace)
        if obj is None:
            return
        owner = Controlling(self._kind.api_version, self._kind.kind, obj)
        if obj["spec"].get("selector") == {}:
            message = "This daemon set is selecting all pods. A non-empty selector is required."
            self._writer.record(owner, WARNING, "SelectingAll", message)
            return
        if owner.deleting:
            return
        selector = self._selectors.of(namespace, name)
        pods = await self._claimed(owner, selector)
        current, old = await self._history(owner, selector, pods)
        hash_ = current["metadata"].get("labels", {}).get(HASH, "")
        acted = await self._act(key, owner, self._rules(owner, hash_), pods)
        if not acted:
            await self._tell(key, owner, self._rules(owner, hash_), pods)
        await self._clean(owner, pods, old)

    def _rules(self, owner: Controlling, found: str) -> Rules:
        template = owner.obj["spec"].get("template") or {}
        fits = {node: fit(template, view) for node, view in self._nodes.within("").items()}

        def is_updated(pod: Pod) -> bool:
            return updated(owner, pod.label_map, found)

        return Rules(owner.obj["spec"], found, fits, is_updated, self._env.now())

    async def _claimed(self, owner: Controlling, selector: Selector) -> list[Pod]:
        def look(pod: Pod) -> Claimable:
            return Claimable(pod.owner, pod.deleting, selector.matches(pod.label_map))

        meta = owner.meta
        candidates = [*self._pods.of(meta["uid"]), *self._pods.orphans(meta["namespace"])]
        return await self._writer.claim(owner, claims(owner, candidates, look))

    async def _act(self, key: str, owner: Controlling, rules: Rules, pods: Sequence[Pod]) -> bool:
        """Make and delete pods; returns whether any were.

        Raises:
            ApiError: one cannot be; the status tells of the others.
            StoreError: the same.
        """
        on_nodes = by_node(pods)
        plan = manage(rules, on_nodes)
        self._judge_failed(key, owner, plan)
        strategy = (owner.obj["spec"].get("updateStrategy") or {}).get("type")
        if not plan.create and not plan.delete and strategy == ROLLING:
            plan = roll(rules, on_nodes)
        for type_, reason, message in plan.told:
            self._writer.record(owner, type_, reason, message)
        try:
            await self._carry_out(owner, rules, plan)
        except Exception:
            await self._tell(key, owner, rules, pods)
            raise
        return bool(plan.create or plan.delete)

    def _judge_failed(self, key: str, owner: Controlling, plan: Plan) -> None:
        """Have failed pods deleted, the later the more often they failed on a node."""
        now = self._env.now()
        for node, pods in plan.failed.items():
            for pod in pods:
                wait_s, since = self._failed.get((owner.meta["uid"], node), (0.0, 0.0))
                if now < since + wait_s:
                    self.look_again_in(key, wait_s)
                    continue
                longer = FIRST_S if now - since > 2 * LONGEST_S else 2 * wait_s or FIRST_S
                if len(self._failed) >= MOST_FAILED:
                    self._failed.clear()
                self._failed[owner.meta["uid"], node] = min(longer, LONGEST_S), now
                where = f"{pod.namespace}/{pod.name} on node {node}"
                message = f"Found failed daemon pod {where}, will try to kill it"
                plan.told.append((WARNING, "FailedDaemonPod", message))
                plan.delete.append(pod.name)

    async def _carry_out(self, owner: Controlling, rules: Rules, plan: Plan) -> None:
        calls = [partial(self._create, owner, node, rules.hash) for node in plan.create]
        _, failure = await slow_start(calls[:MOST_AT_ONCE])
        failed = await all_of(
            partial(self._writer.delete, owner, name) for name in plan.delete[:MOST_AT_ONCE]
        )
        if failure is not None or failed:
            raise failure or failed[0]

    async def _create(self, owner: Controlling, node: str, found: str) -> None:
        await self._writer.create(owner, new_pod(owner, node, found))

    # ------------------------------------------------------------------ revisions

    async def _history(
        self, owner: Controlling, selector: Selector, pods: Sequence[Pod]
    ) -> tuple[Object, list[Object]]:
        """The revision of the template, and all others."""
        data = template_data(owner.obj["spec"].get("template") or {})
        same, old = list[Object](), list[Object]()
        for one in await self._revisions.of(owner, selector):
            known = one
            if HASH not in (one["metadata"].get("labels") or {}):
                known = await self._revisions.label(one, HASH, one["metadata"]["name"])
            (same if known.get("data") == data else old).append(known)
        newest = max(map(number_of, old), default=0) + 1
        if not same:
            return await self._snapshot(owner, data, newest), old
        current = in_order(same)[-1]
        await self._without_others(current, same, pods)
        if number_of(current) < newest:
            current = await self._revisions.renumber(current, newest)
        return current, old

    async def _without_others(
        self, current: Object, same: Sequence[Object], pods: Sequence[Pod]
    ) -> None:
        """Delete revisions that hold what the current one holds."""
        if len(same) == 1:
            return
        hash_ = current["metadata"]["labels"][HASH]

        def labelled(old: Object) -> Object:
            labels = {**(old["metadata"].get("labels") or {}), HASH: hash_}
            return {**old, "metadata": {**old["metadata"], "labels": labels}}

        for pod in pods:
            if pod.label_map.get(HASH) != hash_:
                await self._writer.patch(pod.namespace, pod.name, labelled)
        for one in same:
            if one is not current:
                await self._revisions.delete(one)

    async def _snapshot(self, owner: Controlling, data: Object, number: int) -> Object:
        template = owner.obj["spec"].get("template") or {}
        old = owner.obj.get("status") or {}
        hash_ = template_hash(template, old.get("collisionCount"))
        labels = ((template.get("metadata") or {}).get("labels")) or {}
        name = f"{owner.meta['name']}-{hash_}"
        annotations = dict(owner.meta.get("annotations") or {})
        new = NewRevision(name, {**labels, HASH: hash_}, annotations, data, number)
        try:
            return await self._revisions.create(owner, new)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            there = self._revisions.named(owner.meta["namespace"], name)
            if there is not None and there.get("data") == data:
                return there
            count = (old.get("collisionCount") or 0) + 1
            await self._write(owner, {**old, "collisionCount": count})
            raise

    async def _clean(self, owner: Controlling, pods: Sequence[Pod], old: Sequence[Object]) -> None:
        """Delete the oldest revisions that are beyond the history and that no pod has."""
        limit = owner.obj["spec"].get("revisionHistoryLimit")
        surplus = len(old) - int(limit if limit is not None else len(old))
        live = {pod.label_map.get(HASH, "") for pod in pods}
        for one in in_order(old):
            if surplus <= 0:
                return
            if one["metadata"].get("labels", {}).get(HASH) not in live:
                await self._revisions.delete(one)
                surplus -= 1

    # ------------------------------------------------------------------ status

    async def _tell(self, key: str, owner: Controlling, rules: Rules, pods: Sequence[Pod]) -> None:
        new, old = status(rules, by_node(pods)), owner.obj.get("status") or {}
        new["observedGeneration"] = owner.meta.get("generation") or 0
        if any((old.get(name) or 0) != number for name, number in new.items()):
            await self._write(owner, {**old, **new})
        wait_s = next_available(pods, rules.min_ready_s, rules.now)
        if wait_s is not None:
            self.look_again_in(key, wait_s)

    async def _write(self, owner: Controlling, new: Object) -> None:
        uid = owner.meta["uid"]

        def told(stored: Object) -> Object:
            if stored["metadata"]["uid"] != uid:
                return stored  # another one of this name, which has a turn of its own
            return {**stored, "status": printed(STATUS, new)}

        target = Target(self._kind, owner.meta["namespace"], owner.meta["name"], "status")
        await self._operations.patch(target, told, self._who)


def _nothing(_: Item | None, __: Item | None) -> None:
    """Revisions are looked at when their owner is."""
