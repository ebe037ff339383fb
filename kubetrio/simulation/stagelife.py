"""The life of a pod by stages: which comes next, when, and what it makes of the pod.

A stage that was chosen stays chosen while it matches, and its time runs from then on, however often
the pod changes meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubetrio.simulation.goexpressions import TemplateError
from kubetrio.simulation.podlife import Held, Place, Said, Step
from kubetrio.simulation.stagefunctions import functions_of
from kubetrio.simulation.stages import Chance, Stage, StageError, chosen, merged
from kubetrio.wire.yamlwire import YamlError, decode

Object = dict[str, Any]


def settle_by(
    stages: Sequence[Stage], pod: Object, place: Place, held: Held, now: float, chance: Chance
) -> Step:
    """What a pod is now, as stages say; see `kubetrio.simulation.podlife.settle`.

    Args:
        stages: all there are.
        pod: as stored; it is not changed.
        place: where it runs.
        held: what was kept of it.
        now: wall clock, in seconds.
        chance: chooses among stages and times.

    Raises:
        StageError: a template makes no status of it.
    """
    uid = pod["metadata"]["uid"]
    if held.uid != uid:
        held = Held(uid)
    stage = next((one for one in stages if one.name == held.stage and one.matches(pod)), None)
    if stage is None:
        stage = chosen(stages, pod, chance)
        if stage is None:
            return Step(pod, Held(uid))
        held = Held(uid, stage=stage.name, at=now + stage.wait_s(pod, now, chance))
    if now < held.at:
        return Step(pod, held, again_in_s=held.at - now)
    return _played(stage, pod, place, now)


def _played(stage: Stage, pod: Object, place: Place, now: float) -> Step:
    """What a stage makes of a pod whose time has come."""
    does, meta = stage.next, pod["metadata"]
    status = pod.get("status") or {}
    new = status if does.status is None else merged(status, _said_of(stage, pod, place, now))
    there = meta.get("finalizers") or []
    finalizers = there if does.finalizers is None else does.finalizers(there)
    return Step(
        pod if new == status else {**pod, "status": new},
        Held(meta["uid"]),
        () if does.event is None else (Said(*does.event, ""),),
        gone=does.delete,
        finalizers=None if finalizers == there else tuple(finalizers),
    )


def _said_of(stage: Stage, pod: Object, place: Place, now: float) -> Object:
    """What the template of a stage says of a pod's status."""
    template = stage.next.status
    assert template is not None  # noqa: S101  (asked before)
    functions = functions_of(pod, now, place.host_ip, place.pod_ip)
    try:
        document = decode(template.render(pod, functions).encode()).value
    except (TemplateError, YamlError) as error:
        raise StageError(f"{stage.name}: statusTemplate: {error}") from error
    if not isinstance(document, dict):
        raise StageError(f"{stage.name}: statusTemplate: makes no object")
    return document
