"""Gives pods nodes, as kube-scheduler does.

One task decides, one pod after the other; what it decided counts at once.  The workers of the
controller write it.

Source: docs "Kubernetes Scheduler", "Scheduling Framework"; k8s.io/kubernetes/pkg/scheduler.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

import trio

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.scheduler.devices.facts import DeviceId
from kubetrio.controllers.scheduler.following import ClusterFollower, fresh_cluster
from kubetrio.controllers.scheduler.framework import Happening
from kubetrio.controllers.scheduler.nodefacts import NodeFacts, node_facts
from kubetrio.controllers.scheduler.plugins.devices import NAME as DEVICES
from kubetrio.controllers.scheduler.plugins.devices import Given, given_on, idle_elsewhere
from kubetrio.controllers.scheduler.plugins.volumes import waiting_claims
from kubetrio.controllers.scheduler.preemption import Candidate, Preemption
from kubetrio.controllers.scheduler.profiles import Configuration
from kubetrio.controllers.scheduler.search import Rating, Search
from kubetrio.controllers.scheduler.shapes import PodView, pod_view
from kubetrio.controllers.scheduler.waiting import Entry, WaitingPods
from kubetrio.controllers.scheduler.writes import SchedulerWriter
from kubetrio.kinds.core import nodedigests
from kubetrio.kinds.core.pods.digests import PREFIX
from kubetrio.machinery.status import ApiError
from kubetrio.observe.logs import Log

log = Log("kubetrio.controllers")
_ANY_NODE = frozenset({Happening.NODE})


class Bound(NamedTuple):
    """A pod gets a node.

    Args:
        pod: without a node.
        entry: it, as it waited.
        node: name of the node.
        labels: of the node.
        claims: of devices that the pod has.
    """

    pod: PodView
    entry: Entry
    node: str
    labels: Mapping[str, str]
    claims: list[Given]


class Provisioned(NamedTuple):
    """Claims of a pod get volumes for a node, and then the pod does.

    Args:
        pod: without a node.
        node: name of the node.
        claims: their names.
    """

    pod: PodView
    node: str
    claims: list[str]


class Failed(NamedTuple):
    """A pod gets no node.

    Args:
        pod: without a node.
        message: why.
        candidate: the pods that have to go for it, None for none.
        keeps: whether it keeps the node that is being cleared for it.
        freed: name of a claim whose devices are taken back, empty for none.
    """

    pod: PodView
    message: str
    candidate: Candidate | None
    keeps: bool
    freed: str


class Scheduler(Controller):
    """The controller; its keys are namespaces and names of pods about which something is decided.

    Args:
        context: what it is made of.
    """

    name = "kube-scheduler"
    workers = 8

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._cluster = fresh_cluster(context.config)
        self._configuration = _configured(context)
        self._profiles = self._configuration.profiles
        self._waiting = WaitingPods(
            self._configuration.first_backoff_s, self._configuration.longest_backoff_s
        )
        self._more = trio.Event()
        self._decided: dict[str, Bound | Provisioned | Failed] = {}
        self._assumed: dict[str, PodView] = {}
        self._start = 0
        self._writer = SchedulerWriter(context, tuple(self._profiles))
        self._rest = ClusterFollower(self, context, self._cluster, self._happened)
        nodes = context.informers.digests(nodedigests.PREFIX, node_facts)
        self._nodes = self.follow_digests(nodes, self._node_changed)
        pods = context.informers.digests(PREFIX, pod_view)
        self._pods = self.follow_digests(pods, self._pod_changed)
        self.beside += [one.run for one in self._writer.events.values()]
        self.beside.append(self._decide_all)

    # ------------------------------------------------------------------ what is told

    def _happened(self, *what: Happening) -> None:
        self._waiting.happened(what)
        self._more.set()

    def _node_changed(
        self, _: str, name: str, old: NodeFacts | None, new: NodeFacts | None
    ) -> None:
        if old == new:
            return
        self._cluster.set_node(name, new)
        if new is not None:
            self._happened(Happening.NODE)

    def _pod_changed(
        self, namespace: str, name: str, old: PodView | None, new: PodView | None
    ) -> None:
        key = f"{namespace}/{name}"
        assumed = self._assumed.get(key)
        if new is None or new.node or not self._waits(new) or (assumed and assumed.uid != new.uid):
            self._assumed.pop(key, None)
            self._waiting.remove(key)
            self._cluster.nominate(key, None, "")
            self._placed(key, old, new if new is not None and new.node and not new.over else None)
        if new is None or not self._waits(new) or key in self._assumed:
            return
        if old is None or (old.nominated, old.uid) != (new.nominated, new.uid):
            self._cluster.nominate(key, new, new.nominated)
        if old is None or _asks_otherwise(old, new):
            self._waiting.add(key, new.shape.priority, trio.current_time())
            self._more.set()

    def _waits(self, pod: PodView) -> bool:
        """Whether a pod waits for a node from one of the profiles."""
        return pod.waits and pod.scheduler in self._profiles

    def _placed(self, key: str, old: PodView | None, new: PodView | None) -> None:
        """Note where a pod is, and what that may help."""
        was = self._cluster.at(key)
        self._cluster.put(key, new)
        if new is None:
            if was is not None:
                self._happened(Happening.GONE)
        elif old is None or not old.node or was is None:
            self._happened(Happening.PLACED)
        elif was.shape is not new.shape:  # one that is being deleted helps when it is gone
            self._happened(Happening.PLACED, Happening.GONE)

    def begin_anew(self) -> None:
        """See `Reconciler.begin_anew`; what was decided of another time is forgotten."""
        self._decided.clear()
        for key in tuple(self._assumed):
            self._forget(key)
        self._waiting.clear()
        self._cluster.nominated.clear()
        self._cluster.devices.given.clear()
        for namespace, name, pod in self._pods.everywhere():
            if self._waits(pod):
                key = f"{namespace}/{name}"
                self._waiting.add(key, pod.shape.priority, trio.current_time())
                self._cluster.nominate(key, pod, pod.nominated)
        self._more.set()
        super().begin_anew()

    # ------------------------------------------------------------------ deciding

    async def _decide_all(self) -> None:
        while True:
            entry = self._waiting.take(trio.current_time())
            if entry is None:
                self._more = trio.Event()
                with trio.move_on_at(self._waiting.next_due()):
                    await self._more.wait()
                continue
            try:
                await self._decide(entry)
            except Exception as error:  # noqa: BLE001  (logged; other pods must go on)
                log.error(error, "cannot schedule", stack=True, key=entry.key)
                self._waiting.retry(entry)
            except BaseException:
                self._waiting.undo(entry)
                raise
            await trio.lowlevel.checkpoint()

    async def _decide(self, entry: Entry) -> None:
        """Decide about a pod, and have that written."""
        namespace, _, name = entry.key.partition("/")
        pod = self._pods.get(namespace, name)
        if pod is None or not self._waits(pod):
            self._waiting.remove(entry.key)
            return
        cluster = self._cluster
        profile = self._profiles[pod.scheduler]
        search = Search(pod, cluster, self._start, profile)
        for _ in search.run():
            await trio.lowlevel.checkpoint()
        self._start = (self._start + search.passed) % max(len(cluster.order), 1)
        if search.feasible:
            rating = Rating(pod, cluster, search.feasible, profile.scores)
            for _ in rating.run():
                await trio.lowlevel.checkpoint()
            node = self._env.rng.choice(rating.best())
            if (
                cluster.nodes.get(node.facts.name) is node
                and self._pods.get(namespace, name) == pod
            ):
                self._assume(entry, pod, node.facts)
            else:
                self._waiting.undo(entry)  # something changed meanwhile
            return
        message = search.explain()
        preemption = None
        if cluster.order:
            start = self._env.rng.randrange(len(cluster.order))
            freed = idle_elsewhere(pod, cluster) if DEVICES in search.judge.blamed else ""
            preemption = Preemption(search, cluster, self._rest.budgets, start, freed)
            for _ in preemption.run():
                await trio.lowlevel.checkpoint()
        self._give_up(entry, search, message, preemption)

    def _assume(self, entry: Entry, pod: PodView, node: NodeFacts) -> None:
        """Count a pod as if it had its node."""
        key, volumes = entry.key, self._cluster.volumes
        claims = waiting_claims(pod, volumes) if volumes.binding else []
        given = given_on(pod, self._cluster, node)
        if given is None:
            self._waiting.undo(entry)  # something changed meanwhile
            return
        if claims:
            self._decided[key] = Provisioned(pod, node.name, claims)
            self._waiting.rest(entry, frozenset({Happening.VOLUME}), trio.current_time())
        else:
            self._waiting.remove(key)
            self._assumed[key] = pod
            self._cluster.nominate(key, None, "")
            self._cluster.put(key, pod._replace(node=node.name))
            self._cluster.devices.given.update(_devices_of(pod, given))
            self._decided[key] = Bound(pod, entry, node.name, node.labels, given)
        self.queue.add(key)

    def _forget(self, key: str) -> None:
        """Count a pod as it is stored."""
        if self._assumed.pop(key, None) is not None:
            namespace, _, name = key.partition("/")
            now = self._pods.get(namespace, name)
            self._cluster.put(key, now if now is not None and now.node and not now.over else None)

    def _give_up(
        self, entry: Entry, search: Search, message: str, preemption: Preemption | None
    ) -> None:
        """Have it said that there is no node for a pod, and look again when something may help."""
        pod, key = search.pod, entry.key
        blamed = search.judge.blamed
        helped_by = frozenset[Happening]().union(
            *(one.helped_by for one in search.profile.filters if one.name in blamed)
        )
        self._waiting.rest(entry, helped_by or _ANY_NODE, trio.current_time())
        candidate = None if preemption is None else preemption.candidate
        if preemption is not None and preemption.message:
            message = f"{message} {preemption.message}"
        if candidate is not None:
            self._cluster.nominate(key, pod, candidate.node)
        elif preemption is None or not preemption.keeps:
            self._cluster.nominate(key, None, "")
        self._decided[key] = Failed(
            pod,
            message,
            candidate,
            preemption is not None and preemption.keeps,
            "" if preemption is None else preemption.freed,
        )
        self.queue.add(key)

    # ------------------------------------------------------------------ writing

    async def sync(self, key: str) -> None:
        """Write what was decided about a pod.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same.
        """
        decided = self._decided.pop(key, None)
        if isinstance(decided, Bound):
            await self._bind(key, decided)
        elif decided is not None:
            try:
                await self._tell(decided)
            except BaseException as error:
                if not isinstance(error, ApiError) or error.code != HTTPStatus.NOT_FOUND:
                    self._decided.setdefault(key, decided)
                raise

    async def _bind(self, key: str, decided: Bound) -> None:
        try:
            await self._writer.claims.reserve(decided.pod, decided.claims)
            await self._writer.bind(decided.pod, decided.node, decided.labels)
        except BaseException:
            for claim in _devices_of(decided.pod, decided.claims):
                self._cluster.devices.given.pop(claim, None)
            self._forget(key)
            namespace, _, name = key.partition("/")
            now = self._pods.get(namespace, name)
            if now is not None and self._waits(now):
                self._waiting.put_back(decided.entry)
                self._more.set()
            raise

    async def _tell(self, decided: Provisioned | Failed) -> None:
        if isinstance(decided, Provisioned):
            await self._writer.choose_for_claims(decided.pod, decided.node, decided.claims)
            return
        if decided.freed:
            await self._writer.claims.free(decided.pod, decided.freed)
        candidate = decided.candidate
        nominated = None if decided.keeps else candidate.node if candidate is not None else ""
        await self._writer.fail(decided.pod, decided.message, nominated)
        if candidate is not None:
            await self._writer.preempt(decided.pod, candidate)


def _configured(context: Context) -> Configuration:
    """What the configuration's file says, or what is usual."""
    path = context.config.scheduler.file
    if path is None:
        return Configuration()
    from kubetrio.controllers.scheduler.configuration import load

    return load(path)


def _asks_otherwise(old: PodView, new: PodView) -> bool:
    """Whether a pod that waits is another one, or asks for something else now."""
    return (
        not old.waits
        or old.uid != new.uid
        or old.shape is not new.shape
        or old.made_claims != new.made_claims
    )


def _devices_of(pod: PodView, claims: list[Given]) -> dict[str, frozenset[DeviceId]]:
    """Devices that claims are about to have, by namespace and name of the claim."""
    return {
        f"{pod.shape.namespace}/{one.name}": frozenset(
            DeviceId(row["driver"], row["pool"], row["device"])
            for row in one.allocation["devices"]["results"]
            if not row.get("adminAccess")
        )
        for one in claims
        if one.allocation is not None
    }
