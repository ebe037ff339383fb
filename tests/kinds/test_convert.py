"""Conversion between versions: recorded pairs, and nothing lost on the way back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.kinds.builtin import registry
from kubetrio.machinery.names import GroupVersion
from kubetrio.schema.structural import Report, compile_type

Json = dict[str, Any]
CORE_V1, EVENTS_V1 = GroupVersion("", "v1"), GroupVersion("events.k8s.io", "v1")
AUTOSCALING_V1, AUTOSCALING_V2 = (GroupVersion("autoscaling", version) for version in ("v1", "v2"))
ALPHA = "autoscaling.alpha.kubernetes.io/"


def convert(obj: Json, source: GroupVersion, target: GroupVersion) -> Json:
    """An object in another version, by way of that in which it is stored."""
    plural = {"Event": "events", "HorizontalPodAutoscaler": "horizontalpodautoscalers"}[obj["kind"]]
    stored = registry().resources[*source, plural].to_stored(obj)
    return registry().resources[*target, plural].from_stored(stored)


def decode(gv: GroupVersion, kind: str, raw: Json) -> Json:
    group = gv.group.partition(".")[0] or "core"
    name = f"io.k8s.api.{group}.{gv.version}.{kind}"
    return compile_type(name).decode({"kind": kind, "apiVersion": gv.api_version, **raw}, Report())


def autoscaler(gv: GroupVersion, spec: Json, status: Json | None = None, **meta: Any) -> Json:
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    return decode(
        gv,
        "HorizontalPodAutoscaler",
        {
            "metadata": {"name": "h", **meta},
            "spec": {"scaleTargetRef": target, "maxReplicas": 3, **spec},
            "status": status or {},
        },
    )


def cpu(percent: int) -> Json:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


MEMORY = {
    "type": "Resource",
    "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "100Mi"}},
}


def test_the_stored_version_is_the_same_object() -> None:
    """Nothing is done, and nothing copied, when there is nothing to convert."""
    obj = {"kind": "Anything"}
    events = registry().resources["", "v1", "events"]
    assert events.to_stored(obj) is obj
    assert events.from_stored(obj) is obj


def test_metrics_that_v1_lacks_become_an_annotation() -> None:
    """CPU use is a field of v1; other metrics are an annotation in the words of v1."""
    v2 = autoscaler(AUTOSCALING_V2, {"minReplicas": 1, "metrics": [cpu(70), MEMORY]})
    v1 = convert(v2, AUTOSCALING_V2, AUTOSCALING_V1)
    assert v1["spec"]["targetCPUUtilizationPercentage"] == 70
    assert v1["metadata"]["annotations"] == {
        f"{ALPHA}metrics": '[{"type":"Resource","resource":'
        '{"name":"memory","targetAverageValue":"100Mi"}}]'
    }
    assert v1["status"] == {"currentReplicas": 0, "desiredReplicas": 0}


def test_cpu_use_is_a_metric_of_v2() -> None:
    """The one field of v1 is one metric of v2."""
    v1 = autoscaler(AUTOSCALING_V1, {"minReplicas": 1, "targetCPUUtilizationPercentage": 40})
    v2 = convert(v1, AUTOSCALING_V1, AUTOSCALING_V2)
    assert v2["spec"]["metrics"] == [cpu(40)]
    assert v2["apiVersion"] == "autoscaling/v2"
    assert v2["status"] == {"desiredReplicas": 0, "currentMetrics": None}


def test_behavior_is_written_with_go_names() -> None:
    """The annotation for the behaviour has always been the internal type."""
    v2 = autoscaler(AUTOSCALING_V2, {"behavior": {"scaleUp": {"selectPolicy": "Max"}}})
    v1 = convert(v2, AUTOSCALING_V2, AUTOSCALING_V1)
    assert v1["metadata"]["annotations"][f"{ALPHA}behavior"] == (
        '{"ScaleUp":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max","Policies":null,'
        '"Tolerance":null},"ScaleDown":null}'
    )


@pytest.mark.parametrize("text", ["", "[1]", "{}", '[{"type":1}]', '[{"resource":3}]', "[]"])
def test_texts_that_are_not_metrics_are_ignored(text: str) -> None:
    """A malformed annotation is dropped, not an error."""
    v1 = autoscaler(
        AUTOSCALING_V1,
        {"targetCPUUtilizationPercentage": 40},
        annotations={f"{ALPHA}metrics": text, "a": "b"},
    )
    v2 = convert(v1, AUTOSCALING_V1, AUTOSCALING_V2)
    assert v2["spec"]["metrics"] == [cpu(40)]
    assert v2["metadata"]["annotations"] == {"a": "b"}


def test_annotations_of_v1_do_not_survive_in_v2() -> None:
    """What is a field again is no annotation any more; stale annotations of v2 are replaced."""
    stale = {f"{ALPHA}metrics": "x", f"{ALPHA}conditions": "y"}
    v2 = autoscaler(AUTOSCALING_V2, {"metrics": [cpu(1)]}, annotations=stale)
    assert "annotations" not in convert(v2, AUTOSCALING_V2, AUTOSCALING_V1)["metadata"]


names = st.sampled_from(["a", "b", "requests-per-second"])
amounts = st.sampled_from(["1", "100m", "5Gi", "0"])
some = st.integers(1, 100)
selectors = st.sampled_from([None, {"matchLabels": {"a": "b"}}])


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list) else value


identifiers = st.fixed_dictionaries({"name": names, "selector": selectors})
references = st.fixed_dictionaries({"kind": names, "name": names, "apiVersion": names})


def value_target(kinds: tuple[str, ...]) -> st.SearchStrategy[Json]:
    by_kind = {
        "Value": st.builds(lambda q: {"type": "Value", "value": q}, amounts),
        "AverageValue": st.builds(lambda q: {"type": "AverageValue", "averageValue": q}, amounts),
        "Utilization": st.builds(lambda n: {"type": "Utilization", "averageUtilization": n}, some),
    }
    return st.one_of(*(by_kind[kind] for kind in kinds))


BOTH = ("Value", "AverageValue")
OF_RESOURCES = ("Utilization", "AverageValue")


def metric(kind: str, **members: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    member = kind[0].lower() + kind[1:]
    return st.fixed_dictionaries(members).map(
        lambda source: _without_none({"type": kind, member: source})
    )


metrics = st.one_of(
    metric("Object", describedObject=references, target=value_target(BOTH), metric=identifiers),
    metric("Pods", target=value_target(("AverageValue",)), metric=identifiers),
    metric("Resource", name=names, target=value_target(OF_RESOURCES)),
    metric("ContainerResource", name=names, target=value_target(OF_RESOURCES), container=names),
    metric("External", target=value_target(BOTH), metric=identifiers),
)
values = st.fixed_dictionaries({"value": amounts, "averageValue": amounts})
statuses = st.one_of(
    metric("Object", metric=identifiers, current=values, describedObject=references),
    metric("Pods", metric=identifiers, current=st.builds(lambda q: {"averageValue": q}, amounts)),
    metric(
        "Resource",
        name=st.just("cpu"),
        current=st.fixed_dictionaries({"averageValue": amounts, "averageUtilization": some}),
    ),
    metric("External", metric=identifiers, current=values),
)
rules = st.fixed_dictionaries(
    {},
    optional={
        "stabilizationWindowSeconds": st.integers(0, 9),
        "selectPolicy": st.sampled_from(["Max", "Min"]),
        "policies": st.just([{"type": "Pods", "value": 1, "periodSeconds": 15}]),
        "tolerance": amounts,
    },
)
conditions = st.fixed_dictionaries(
    {"type": names, "status": st.just("True")},
    optional={
        "lastTransitionTime": st.just("2024-01-01T00:00:00Z"),
        "message": st.just("<a & b>"),
    },
)
v2_objects = st.builds(
    lambda spec, status, labels: autoscaler(AUTOSCALING_V2, spec, status, annotations=labels),
    st.fixed_dictionaries(
        {"metrics": st.builds(lambda many, use: [*many, cpu(use)], st.lists(metrics), some)},
        optional={
            "minReplicas": some,
            "behavior": st.builds(
                lambda up, down: {"scaleUp": up, "scaleDown": down}, rules, rules
            ),
        },
    ),
    st.fixed_dictionaries(
        {"desiredReplicas": some},
        optional={
            "currentReplicas": some,
            "currentMetrics": st.lists(statuses, min_size=1),
            "conditions": st.lists(conditions),
            "lastScaleTime": st.just("2024-01-01T00:00:00Z"),
            "observedGeneration": some,
        },
    ),
    st.sampled_from([{}, {"a": "b"}]),
)


@given(v2_objects)
@settings(max_examples=60, deadline=None)
def test_v2_autoscalers_survive_v1(obj: Json) -> None:
    """v2 to v1 and back is the same object, when CPU use is the last metric."""
    there = convert(obj, AUTOSCALING_V2, AUTOSCALING_V1)
    assert convert(there, AUTOSCALING_V1, AUTOSCALING_V2) == obj


@given(v2_objects)
@settings(max_examples=30, deadline=None)
def test_v1_autoscalers_survive_v2(obj: Json) -> None:
    """v1 with all its annotations to v2 and back is the same object."""
    v1 = convert(obj, AUTOSCALING_V2, AUTOSCALING_V1)
    there = convert(v1, AUTOSCALING_V1, AUTOSCALING_V2)
    assert convert(there, AUTOSCALING_V2, AUTOSCALING_V1) == v1


def test_core_events_are_events_of_the_new_group() -> None:
    """Old fields have names that say they are deprecated."""
    core = decode(
        CORE_V1,
        "Event",
        {
            "metadata": {"name": "e"},
            "involvedObject": {"kind": "Pod", "name": "p"},
            "reason": "R",
            "message": "M",
            "type": "Normal",
            "count": 2,
            "source": {"component": "c", "host": "h"},
            "firstTimestamp": "2024-01-01T00:00:00Z",
            "lastTimestamp": "2024-01-02T00:00:00Z",
        },
    )
    new = convert(core, CORE_V1, EVENTS_V1)
    assert list(new.items()) == [
        ("kind", "Event"),
        ("apiVersion", "events.k8s.io/v1"),
        ("metadata", {"name": "e"}),
        ("eventTime", None),
        ("reason", "R"),
        ("regarding", {"kind": "Pod", "name": "p"}),
        ("note", "M"),
        ("type", "Normal"),
        ("deprecatedSource", {"component": "c", "host": "h"}),
        ("deprecatedFirstTimestamp", "2024-01-01T00:00:00Z"),
        ("deprecatedLastTimestamp", "2024-01-02T00:00:00Z"),
        ("deprecatedCount", 2),
    ]


texts = st.sampled_from(["", "a", "b"])
times = st.sampled_from([None, "2024-01-01T00:00:00Z"])
micro_times = st.sampled_from([None, "2024-01-01T00:00:00.000001Z"])
core_events = st.fixed_dictionaries(
    {
        "involvedObject": st.fixed_dictionaries({"kind": texts, "name": texts}),
        "reason": texts,
        "message": texts,
        "type": texts,
        "action": texts,
        "count": st.integers(0, 2),
        "source": st.fixed_dictionaries({"component": texts}),
        "firstTimestamp": times,
        "lastTimestamp": times,
        "eventTime": micro_times,
        "reportingComponent": texts,
        "reportingInstance": texts,
    },
    optional={
        "related": st.fixed_dictionaries({"name": texts}),
        "series": st.fixed_dictionaries({"count": some, "lastObservedTime": micro_times}),
    },
).map(lambda raw: decode(CORE_V1, "Event", {"metadata": {"name": "e"}, **raw}))


@given(core_events)
@settings(max_examples=60, deadline=None)
def test_events_survive_the_other_group(obj: Json) -> None:
    """core/v1 to events.k8s.io/v1 and back is the same object."""
    there = convert(obj, CORE_V1, EVENTS_V1)
    assert there == decode(EVENTS_V1, "Event", there)
    assert convert(there, EVENTS_V1, CORE_V1) == obj


def test_events_are_stored_in_core_and_autoscalers_in_v2() -> None:
    """Both groups of events share their objects; the newer version of autoscalers has more."""
    resources = registry().resources
    assert resources["events.k8s.io", "v1", "events"].stored_as == CORE_V1
    scalers = resources["autoscaling", "v1", "horizontalpodautoscalers"]
    assert scalers.stored_as == AUTOSCALING_V2
    deployments = resources["apps", "v1", "deployments"]
    assert deployments.stored is deployments
