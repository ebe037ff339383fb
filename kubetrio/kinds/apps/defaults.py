"""apps/v1."""

from __future__ import annotations

from kubetrio.kinds.apps.annotations import TEMPLATE_GENERATION
from kubetrio.kinds.common.defaulting import Call, Default, Json, Rules, each, ensure, within
from kubetrio.kinds.core.defaults.cluster import CLAIM
from kubetrio.kinds.core.defaults.pods import TEMPLATE

_HISTORY = Default("revisionHistoryLimit", 10)
_ROLLING = Default("type", "RollingUpdate")
_TEMPLATE = within("template", *TEMPLATE)


def roll_by_quarters(strategy: Json) -> None:
    """A rolling update replaces a quarter of the pods at a time."""
    _roll(strategy, {"maxUnavailable": "25%", "maxSurge": "25%"})


def roll_one_by_one(strategy: Json) -> None:
    """A daemon is stopped before its successor starts, one node at a time."""
    _roll(strategy, {"maxUnavailable": 1, "maxSurge": 0})
    # what is beside another type is not defaulted, but its numbers are no pointers inside
    if (rolling := strategy.get("rollingUpdate")) is not None:
        strategy["rollingUpdate"] = {"maxUnavailable": 0, "maxSurge": 0, **rolling}


def _roll(strategy: Json, defaults: Json) -> None:
    if strategy.get("type") == "RollingUpdate":
        given = strategy.get("rollingUpdate") or {}
        strategy["rollingUpdate"] = {**defaults, **given}


def roll_ordinals(strategy: Json) -> None:
    """A partition of zero, but not for those who name the type and say no more."""
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    rolling = strategy.get("rollingUpdate")
    if (
        strategy["type"] == "RollingUpdate"
        and rolling is not None
        and rolling.get("partition") is None
    ):
        strategy["rollingUpdate"] = {"partition": 0, **rolling}


def note_generation(metadata: Json) -> None:
    """The generation of a template is an annotation, which a write without it resets.

    Strategies count it; being there already it belongs to the writer of the object.
    """
    annotations = metadata.get("annotations") or {}
    if TEMPLATE_GENERATION not in annotations:
        annotations = {**annotations, TEMPLATE_GENERATION: "0"}
        metadata["annotations"] = {key: annotations[key] for key in sorted(annotations)}


def name_kind(claim: Json) -> None:
    """Claim templates are printed as objects of their own."""
    claim["kind"], claim["apiVersion"] = "PersistentVolumeClaim", "v1"


DEPLOYMENTS: Rules = (
    within(
        "spec",
        Default("replicas", 1),
        _HISTORY,
        Default("progressDeadlineSeconds", 600),
        within("strategy", _ROLLING, Call(roll_by_quarters)),
        _TEMPLATE,
    ),
)
REPLICASETS: Rules = (within("spec", Default("replicas", 1), _TEMPLATE),)
DAEMONSETS: Rules = (
    within("metadata", Call(note_generation)),
    within("spec", _HISTORY, within("updateStrategy", _ROLLING, Call(roll_one_by_one)), _TEMPLATE),
)
STATEFULSETS: Rules = (
    within(
        "spec",
        Default("replicas", 1),
        Default("podManagementPolicy", "OrderedReady"),
        _HISTORY,
        within("updateStrategy", Call(roll_ordinals)),
        *ensure(
            "persistentVolumeClaimRetentionPolicy",
            Default("whenDeleted", "Retain"),
            Default("whenScaled", "Retain"),
        ),
        _TEMPLATE,
        each("volumeClaimTemplates", Call(name_kind), *CLAIM),
    ),
)
