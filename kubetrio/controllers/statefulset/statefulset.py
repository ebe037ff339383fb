"""Gives StatefulSets their pods and claims.

Source: docs "StatefulSets"; k8s.io/kubernetes/pkg/controller/statefulset.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.podcontrol.claims import Claimable, Controlling, claims
from kubetrio.controllers.podcontrol.hashes import data_hash
from kubetrio.controllers.podcontrol.owned import OwnedPods
from kubetrio.controllers.podcontrol.podwriter import MOST_AT_ONCE, PodWriter, slow_start
from kubetrio.controllers.podcontrol.revisions import (
    HASH,
    NewRevision,
    Revisions,
    data_text,
    name_of,
    next_number,
    template_data,
    template_in,
)
from kubetrio.controllers.podcontrol.selectors import OwnerSelectors, owners_of
from kubetrio.controllers.podcontrol.statuses import printed
from kubetrio.controllers.podcontrol.view import Pod, next_available, views_of
from kubetrio.controllers.statefulset import plan as plans
from kubetrio.controllers.statefulset.members import (
    REVISION,
    Revision,
    identity_matches,
    ordinal_of,
    parent_and_ordinal,
    storage_matches,
)
from kubetrio.controllers.statefulset.memberwriter import MemberWriter
from kubetrio.controllers.statefulset.plan import Do, Judge, Step
from kubetrio.informers.informer import NAMESPACE, Item
from kubetrio.machinery.jsonvalues import copy_json
from kubetrio.machinery.status import ApiError
from kubetrio.resources.writes import Target

Object = dict[str, Any]

ACCOUNT = "statefulset-controller"
STATUS = "io.k8s.api.apps.v1.StatefulSetStatus"


class StatefulSetController(Controller):
    """The controller; its keys are namespaces and names of StatefulSets.

    Args:
        context: what it is made of.
    """

    name = "statefulset-controller"
    workers = 5

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources["apps", "v1", "statefulsets"]
        self._who = as_service_account(ACCOUNT)
        self._selectors = OwnerSelectors(self._kind)
        self._sets = self.follow(self._kind, self._set_changed)
        revisions = context.registry.resources["apps", "v1", "controllerrevisions"]
        self._revisions = Revisions(context, self.follow(revisions, _nothing), ACCOUNT)
        volumes = self.follow(
            context.registry.resources["", "v1", "persistentvolumeclaims"], self._claim_changed
        )
        pods = PodWriter(context, ACCOUNT, ACCOUNT)
        self._writer = pods
        self._members = MemberWriter(context, volumes, pods)
        views = views_of(context.informers)
        self.sources.append(views)
        self._pods = OwnedPods(self._kind.kind, views, self._pod_changed)
        self.beside.append(pods.events.run)

    def _set_changed(self, old: Item | None, item: Item | None) -> None:
        key = self._selectors.note(old, item)
        if key is not None:
            self.queue.add(key)

    def _claim_changed(self, old: Item | None, new: Item | None) -> None:
        """Have a set looked at whose member waits for a claim to go, or for one that is gone.

        A claim has the labels of the selector of its set. kube-controller-manager looks when the
        pending pod changes next, which it does when the scheduler says that the claim is missing;
        a change of that message alone is none for `Pod`, and does not come here.
        """
        if old is None or new is not None:
            return
        meta = old.object["metadata"]
        sets = self._sets.indexer.by_index(NAMESPACE, meta["namespace"])
        for key in self._selectors.selecting(sets, meta.get("labels") or {}):
            self.queue.add(key)
        for reference in meta.get("ownerReferences") or ():
            name, ordinal = parent_and_ordinal(reference.get("name") or "")
            if reference.get("kind") == "Pod" and ordinal >= 0:
                self.queue.add(f"{meta['namespace']}/{name}")

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        for key in owners_of(old, new):
            self.queue.add(key)
        if new is None or new.owner is not None:
            return
        sets = self._sets.indexer.by_index(NAMESPACE, new.namespace)
        for key in self._selectors.selecting(sets, new.label_map):
            self.queue.add(key)

    async def sync(self, key: str) -> None:
        """Do what a StatefulSet is to do next.

        Raises:
            ApiError: something cannot be written.
            StoreError: the same.
        """
        namespace, _, name = key.partition("/")
        obj = self._sets.lister.get(name, namespace)
        if obj is None:
            return
        owner = Controlling(self._kind.api_version, self._kind.kind, obj)
        selector = self._selectors.of(namespace, name)
        revisions = await self._revisions.of(owner, selector)

        def look(pod: Pod) -> Claimable:
            member = parent_and_ordinal(pod.name)[0] == name
            return Claimable(pod.owner, pod.deleting, member and selector.matches(pod.label_map))

        candidates = [*self._pods.of(owner.meta["uid"]), *self._pods.orphans(namespace)]
        pods = await self._writer.claim(owner, claims(owner, candidates, look))
        current, update, count = await self._revised(owner, revisions)
        try:
            acted = await self._act(owner, pods, current, update)
        except Exception:
            await self._tell(owner, pods, current, update, count)
            raise
        if not acted:
            await self._tell(owner, pods, current, update, count)
        await self._truncate(owner, pods, revisions, {current.name, update.name})
        min_ready_s = obj["spec"].get("minReadySeconds") or 0
        if (wait_s := next_available(pods, min_ready_s, self._env.now())) is not None:
            self.look_again_in(key, wait_s)

    async def _revised(
        self, owner: Controlling, known: list[Object]
    ) -> tuple[Revision, Revision, int]:
        """The current revision, the newest, and how many names were taken.

        Raises:
            ApiError: the newest cannot be stored.
            StoreError: the same.
        """
        template = owner.obj["spec"].get("template") or {}
        status = owner.obj.get("status") or {}
        data, count = template_data(template), status.get("collisionCount") or 0
        equal = [one for one in known if one.get("data") == data]
        unchanged = bool(equal) and known[-1].get("data") == equal[-1].get("data")
        if unchanged or (not equal and known and self._same(owner, known[-1])):
            newest = known[-1]
        elif equal:
            newest = await self._revisions.renumber(equal[-1], next_number(known))
        else:
            newest, count = await self._new(owner, data, next_number(known), count)
        update = Revision(newest["metadata"]["name"], template)
        named: str = status.get("currentRevision") or ""
        revision = next((one for one in known if one["metadata"]["name"] == named), None)
        if revision is None or named == update.name:
            return update, update, count
        return Revision(named, template_in(revision)), update, count

    def _same(self, owner: Controlling, revision: Object) -> bool:
        """Whether a revision holds the template, but for members that have their defaults."""
        restored: Object = copy_json(owner.obj)
        restored["spec"]["template"] = copy_json(template_in(revision))
        self._kind.rules.default(restored)
        return bool(restored["spec"]["template"] == owner.obj["spec"].get("template"))

    async def _new(
        self, owner: Controlling, data: Object, number: int, count: int
    ) -> tuple[Object, int]:
        text = data_text(data)
        labels = ((owner.obj["spec"].get("template") or {}).get("metadata") or {}).get("labels")
        first = data_hash(text, count)
        while True:
            name = name_of(owner.meta["name"], data_hash(text, count))
            new = NewRevision(
                name,
                {**(labels or {}), HASH: first},
                dict(owner.meta.get("annotations") or {}),
                data,
                number,
            )
            try:
                return await self._revisions.create(owner, new), count
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise
                there = self._revisions.named(owner.meta["namespace"], name)
                if there is not None and there.get("data") == data:
                    return there, count
                count += 1

    async def _act(
        self, owner: Controlling, pods: Sequence[Pod], current: Revision, update: Revision
    ) -> bool:
        """Take the steps that are due; returns whether pods were made or deleted."""
        if owner.deleting:
            return False
        spec = owner.obj["spec"]
        members = plans.members(spec, pods)

        def mends(pod: Pod) -> bool:
            fits = identity_matches(pod) and storage_matches(owner, pod)
            return not (fits and self._members.claims_match(owner, pod))

        def blocked(ordinal: int) -> bool:
            return self._members.waits_for_claim(owner, ordinal)

        todo = plans.plan(spec, members, update.name, Judge(mends, blocked), self._env.now())
        calls = [partial(self._step, owner, step, current, update) for step in todo.steps]
        if spec.get("podManagementPolicy") != "Parallel":
            for call in calls:
                await call()
        else:
            _, error = await slow_start(calls[:MOST_AT_ONCE])
            if error is not None:
                raise error
        return any(step.do in (Do.CREATE, Do.DELETE) for step in todo.steps)

    async def _step(
        self, owner: Controlling, step: Step, current: Revision, update: Revision
    ) -> None:
        match step.do:
            case Do.CREATE:
                await self._members.create(owner, step.ordinal, current, update)
            case Do.DELETE if step.pod is not None:
                await self._members.delete(owner, step.pod)
            case Do.MEND if step.pod is not None:
                await self._members.mend(owner, step.pod)
            case Do.CLAIM if step.pod is not None:
                await self._members.make_claims(owner, step.ordinal)
                await self._members.keep_claims(owner, step.ordinal, step.pod.uid)
            case Do.KEEP if step.pod is not None:
                await self._members.keep_claims(owner, step.ordinal, step.pod.uid)
            case _:
                raise AssertionError(step)

    async def _tell(
        self,
        owner: Controlling,
        pods: Sequence[Pod],
        current: Revision,
        update: Revision,
        count: int,
    ) -> None:
        """Write the status, unless it says so already."""
        obj = owner.obj
        counted = [pod for pod in pods if ordinal_of(pod) >= 0]
        now = self._env.now()
        new = plans.status(obj["spec"], counted, current.name, update.name, now)
        new["observedGeneration"] = obj["metadata"].get("generation") or 0
        old = obj.get("status") or {}
        if all((old.get(name) or 0) == (value or 0) for name, value in new.items()):
            return
        new["collisionCount"] = count
        uid = owner.meta["uid"]

        def told(stored: Object) -> Object:
            if stored["metadata"]["uid"] != uid:
                return stored  # another one of this name, which has a turn of its own
            return {**stored, "status": printed(STATUS, new)}

        target = Target(self._kind, owner.meta["namespace"], owner.meta["name"], "status")
        await self._operations.patch(target, told, self._who)

    async def _truncate(
        self, owner: Controlling, pods: Sequence[Pod], known: list[Object], live: set[str]
    ) -> None:
        """Delete the oldest revisions that are beyond the history and that no pod has."""
        live |= {pod.label_map.get(REVISION, "") for pod in pods}
        history = [one for one in known if one["metadata"]["name"] not in live]
        limit = owner.obj["spec"].get("revisionHistoryLimit")
        if limit is None or limit < 0:
            return
        for one in history[: max(len(history) - limit, 0)]:
            await self._revisions.delete(one)


def _nothing(_: Item | None, __: Item | None) -> None:
    """Revisions are looked at when their owner is."""
