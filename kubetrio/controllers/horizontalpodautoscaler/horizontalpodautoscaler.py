"""Scales workloads so that metrics of their pods come to a target.

An autoscaler is looked at 15 seconds after it was made or changed, and every 15 seconds.

Source: docs "Horizontal Pod Autoscaling"; k8s.io/kubernetes/pkg/controller/podautoscaler.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.horizontalpodautoscaler.evaluation import (
    Evaluated,
    Evaluation,
    Failed,
)
from kubetrio.controllers.horizontalpodautoscaler.metricsources import MetricSources
from kubetrio.controllers.horizontalpodautoscaler.recommendations import History, limit
from kubetrio.controllers.horizontalpodautoscaler.replicas import Tolerances, Wanted
from kubetrio.controllers.horizontalpodautoscaler.review import Review, with_status
from kubetrio.controllers.horizontalpodautoscaler.scaling import NoScale, Scaled, Scaling
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.podcontrol.view import views_of
from kubetrio.controllers.recorder import NORMAL, WARNING, EventRecorder, reference_to
from kubetrio.informers.informer import NAMESPACE, Item
from kubetrio.machinery.labels import Selector, parse
from kubetrio.machinery.quantity import from_json
from kubetrio.machinery.status import ApiError
from kubetrio.observe.logs import Log
from kubetrio.resources.writes import Target
from kubetrio.store.errors import StoreError

log = Log("kubetrio.controllers")
Object = dict[str, Any]

ACCOUNT = "horizontal-pod-autoscaler"
PERIOD_S = 15.0
"""Between two looks, as ``--horizontal-pod-autoscaler-sync-period`` is by default."""


class NoReplicas(Exception):
    """No number of replicas can be computed; the text says why."""


class HorizontalPodAutoscaler(Controller):
    """The controller; its keys are namespaces and names of autoscalers.

    Args:
        context: what it is made of.
    """

    name = "horizontal-pod-autoscaler-controller"
    workers = 5

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources["autoscaling", "v2", "horizontalpodautoscalers"]
        self._pod_kind = context.registry.resources["", "v1", "pods"]
        self._who = as_service_account(ACCOUNT)
        self._events = EventRecorder(
            ACCOUNT, ACCOUNT, context.registry, context.operations, context.env
        )
        self._sources = MetricSources(context, ACCOUNT)
        self._scaling = Scaling(context, self._who)
        self._histories: dict[str, History] = {}
        self._selectors: dict[str, Selector] = {}
        self._autoscalers = self.follow(self._kind, self._changed)
        self._views = views_of(context.informers)
        self.sources.append(self._views)
        self.beside.append(self._events.run)

    def _changed(self, old: Item | None, new: Item | None) -> None:
        item = new or old
        if item is None:
            return
        key = item.key.removeprefix(self._kind.storage_prefix)
        if new is None:
            self._histories.pop(key, None)
            self._selectors.pop(key, None)
        elif old is None or old.object.get("spec") != new.object.get("spec"):
            self.queue.add_after(key, PERIOD_S)

    def begin_anew(self) -> None:
        """See `Reconciler.begin_anew`; what was kept of autoscalers is of another time."""
        self._histories.clear()
        self._selectors.clear()
        for item in self._autoscalers.indexer.list():
            self.queue.add_after(item.key.removeprefix(self._kind.storage_prefix), PERIOD_S)
        super().begin_anew()

    async def sync(self, key: str) -> None:
        """Scale what an autoscaler names; what fails is told of, and tried at the next look."""
        namespace, _, name = key.partition("/")
        autoscaler = self._autoscalers.lister.get(name, namespace)
        if autoscaler is None:
            return
        self.queue.add_after(key, PERIOD_S)
        review = Review(autoscaler, self._env.now())
        try:
            await self._look(key, review)
        except NoReplicas as error:
            log.verbose(2, "cannot scale", autoscaler=key, reason=str(error))
        await self._tell(review)

    async def _look(self, key: str, review: Review) -> None:
        """Compute how many replicas there are to be, and scale.

        Raises:
            NoReplicas: that is not known.
        """
        spec = review.spec
        try:
            scaled = await self._scaling.read(review.namespace, spec["scaleTargetRef"])
        except NoScale as error:
            self._warn(review, "FailedGetScale", str(error))
            text = f"the HPA controller was unable to get the target's current scale: {error}"
            review.set("AbleToScale", "False", "FailedGetScale", text)
            raise NoReplicas(str(error)) from error
        review.current = current = scaled.desired
        text = "the HPA controller was able to get the target's current scale"
        review.set("AbleToScale", "True", "SucceededGetScale", text)
        history = self._histories.setdefault(key, History())
        history.begin(current, review.now)
        least, most = review.least, spec["maxReplicas"]
        if not current:
            text = "scaling is disabled since the replica count of the target is zero"
            review.set("ScalingActive", "False", "ScalingDisabled", text)
            review.drop("ScaledToZero")
            review.desired = current
            return
        if current > most:
            desired, reason = most, "Current number of replicas above Spec.MaxReplicas"
        elif current < least:
            desired, reason = least, "Current number of replicas below Spec.MinReplicas"
        else:
            desired, reason = await self._by_metrics(key, review, scaled, history)
        review.desired = desired
        if desired != current:
            await self._scale(review, scaled, desired, reason)
            history.note_scaled(spec.get("behavior"), current, desired, review.now)

    async def _by_metrics(
        self, key: str, review: Review, scaled: Scaled, history: History
    ) -> tuple[int, str]:
        """How many replicas metrics ask for within limits, and why.

        Raises:
            NoReplicas: they say nothing.
        """
        current, behavior, now = scaled.desired, review.spec.get("behavior"), review.now
        try:
            best = await self._highest(key, review, scaled)
        except NoReplicas as error:
            self._warn(review, "FailedComputeMetricsReplicas", str(error))
            raise
        reason = ""
        if best.replicas > current:
            reason = f"{best.name} above target"
        elif best.replicas < current:
            reason = "All metrics below target"
        bounds = (review.least, review.spec["maxReplicas"])
        if behavior is None:
            stable = history.stabilize(best.replicas, now)
            within = limit(current, stable.replicas, bounds)
        else:
            stable = history.stabilize_by(behavior, current, best.replicas, now)
            within = history.limit_by(behavior, current, stable.replicas, bounds, now)
        review.set("AbleToScale", "True", stable.reason, stable.message)
        limited = "False" if within.replicas == stable.replicas else "True"
        review.set("ScalingLimited", limited, within.reason, within.message)
        return within.replicas, reason

    async def _highest(self, key: str, review: Review, scaled: Scaled) -> Evaluated:
        """The metric that asks for most.

        Raises:
            NoReplicas: none says anything, or one does not and the others ask for less.
        """
        selector = self._selector(key, review, scaled.selector)
        pods = await self._pods_of(review.namespace, selector)
        self._check_alone(key, review, scaled.selector, pods)
        state = Wanted(scaled.desired, scaled.actual, pods, _tolerances(review.spec), review.now)
        evaluation = Evaluation(
            self._sources, review.namespace, selector, state, self._scaling.resource_of
        )
        metrics: Sequence[Object] = review.spec.get("metrics") or ()
        best: Evaluated | None = None
        failures: list[Failed] = []
        for metric in metrics:
            try:
                one = await evaluation.of(metric)
            except Failed as error:
                self._warn(review, error.reason, error.why)
                failures.append(error)
                review.metrics.append({"type": ""})
                continue
            review.metrics.append(one.status)
            if best is None or not best.replicas or one.replicas > best.replicas:
                best = one
        if best is None or (failures and best.replicas < scaled.desired):
            first = failures[0]
            text = f"the HPA was unable to compute the replica count: {first.why}"
            review.set("ScalingActive", "False", first.reason, text)
            raise NoReplicas(
                f"invalid metrics ({len(failures)} invalid out of {len(metrics)}), "
                f"first error is: {first}"
            )
        text = f"the HPA was able to successfully calculate a replica count from {best.name}"
        review.set("ScalingActive", "True", "ValidMetricFound", text)
        return best

    def _selector(self, key: str, review: Review, text: str) -> Selector:
        """The selector of a scale.

        Raises:
            NoReplicas: there is none.
        """
        if not text:
            why = "selector is required"
            self._warn(review, "SelectorRequired", why)
            told = "the HPA target's scale is missing a selector"
            review.set("ScalingActive", "False", "InvalidSelector", told)
            raise NoReplicas(why)
        try:
            selector = parse(text)
        except ValueError as error:
            why = (
                f"couldn't convert selector into a corresponding internal selector object: {error}"
            )
            self._warn(review, "InvalidSelector", why)
            review.set("ScalingActive", "False", "InvalidSelector", why)
            raise NoReplicas(why) from error
        self._selectors[key] = selector
        return selector

    async def _pods_of(self, namespace: str, selector: Selector) -> list[Object]:
        """The pods that a selector means, as objects."""
        pods = []
        for name, view in sorted(self._views.within(namespace).items()):
            if selector.matches(view.label_map):
                stored = await self._store.get(self._pod_kind.key(namespace, name))
                if stored is not None:
                    pods.append(orjson.loads(stored.value))
        return pods

    def _check_alone(self, key: str, review: Review, text: str, pods: Sequence[Object]) -> None:
        """Check that no other autoscaler means some of the pods.

        Raises:
            NoReplicas: one does.
        """
        others = [
            (name, selector)
            for item in self._autoscalers.indexer.by_index(NAMESPACE, review.namespace)
            if (name := item.key.removeprefix(self._kind.storage_prefix)) != key
            and (selector := self._selectors.get(name)) is not None
        ]
        rivals = [
            name
            for name, selector in others
            if any(selector.matches(pod["metadata"].get("labels") or {}) for pod in pods)
        ]
        if rivals:
            named = " ".join(sorted([key, *rivals]))
            why = f"pods by selector {text} are controlled by multiple HPAs: [{named}]"
            self._warn(review, "AmbiguousSelector", why)
            review.set("ScalingActive", "False", "AmbiguousSelector", why)
            raise NoReplicas(why)

    async def _scale(self, review: Review, scaled: Scaled, desired: int, reason: str) -> None:
        """Write a scale and tell of it.

        Raises:
            NoReplicas: it cannot be written.
        """
        name = review.spec["scaleTargetRef"]["name"]
        size = f"New size: {desired}; reason: {reason}"
        try:
            await self._scaling.write(scaled, review.namespace, name, desired)
        except (ApiError, StoreError) as error:
            self._warn(review, "FailedRescale", f"{size}; error: {error}")
            text = f"the HPA controller was unable to update the target scale: {error}"
            review.set("AbleToScale", "False", "FailedUpdateScale", text)
            review.desired = None
            raise NoReplicas(str(error)) from error
        text = f"the HPA controller was able to update the target scale to {desired}"
        review.set("AbleToScale", "True", "SucceededRescale", text)
        review.drop("ScaledToZero")
        review.scaled = True
        self._events.record(self._about(review), NORMAL, "SuccessfulRescale", size)

    async def _tell(self, review: Review) -> None:
        """Write the status, unless it is the one that is there."""
        status = review.status()
        if with_status(review.autoscaler, status) == review.autoscaler:
            return
        uid = review.autoscaler["metadata"]["uid"]

        def told(old: Object) -> Object:
            if old["metadata"]["uid"] != uid:
                return old
            return with_status(old, status)

        name = review.autoscaler["metadata"]["name"]
        target = Target(self._kind, review.namespace, name, "status")
        await self._operations.patch(target, told, self._who)

    def _warn(self, review: Review, reason: str, message: str) -> None:
        self._events.record(self._about(review), WARNING, reason, message)

    def _about(self, review: Review) -> Any:
        return reference_to(review.autoscaler, self._kind.api_version, self._kind.kind)


def _tolerances(spec: Object) -> Tolerances:
    """The tolerances that a behavior has, or the default ones."""
    behavior = spec.get("behavior") or {}
    usual = Tolerances()
    given = [(behavior.get(name) or {}).get("tolerance") for name in ("scaleDown", "scaleUp")]
    down, up = (None if one is None else from_json(one).milli_value() / 1000 for one in given)
    return Tolerances(usual.down if down is None else down, usual.up if up is None else up)
