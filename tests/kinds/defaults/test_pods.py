"""Pods beyond what the samples show."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.kinds.common.defaulters import round_up
from kubetrio.kinds.core.amounts import pod_total, qos_class
from kubetrio.machinery.quantity import parse
from kubetrio.schema.structural import Report, compile_type

from .defaulted import defaults_of

Json = dict[str, Any]
CORE = "io.k8s.api.core.v1."


def defaulted(kind: str, raw: Json) -> Json:
    obj = compile_type(CORE + kind).decode(raw, Report())
    defaults_of(CORE + kind)(obj)
    return obj


def container(requests: Json | None = None, limits: Json | None = None, **more: Any) -> Json:
    resources = {"requests": requests or {}, "limits": limits or {}}
    return {"name": "c", "image": "i", "resources": resources, **more}


def test_defaults_of_pods_only_leave_templates_alone() -> None:
    """Service links, requests from limits and host ports are not written into templates."""
    spec = {
        "hostNetwork": True,
        "terminationGracePeriodSeconds": -5,
        "containers": [container(limits={"cpu": "1"}, ports=[{"containerPort": 80}])],
    }
    pod = defaulted("Pod", {"spec": spec})["spec"]
    template = defaulted("PodTemplate", {"template": {"spec": spec}})["template"]["spec"]
    assert pod["enableServiceLinks"] is True
    assert "enableServiceLinks" not in template
    assert pod["containers"][0]["resources"]["requests"] == {"cpu": "1"}
    assert "requests" not in template["containers"][0]["resources"]
    assert pod["containers"][0]["ports"] == [
        {"hostPort": 80, "containerPort": 80, "protocol": "TCP"}
    ]
    assert "hostPort" not in template["containers"][0]["ports"][0]
    assert pod["terminationGracePeriodSeconds"] == 1
    assert template["terminationGracePeriodSeconds"] == -5


@pytest.mark.parametrize("name", ["serviceAccount", "serviceAccountName"])
def test_both_names_of_the_service_account_are_printed(name: str) -> None:
    """The older name is an alias, in templates too."""
    spec = defaulted("PodTemplate", {"template": {"spec": {name: "sa"}}})["template"]["spec"]
    assert spec["serviceAccount"] == spec["serviceAccountName"] == "sa"


def test_ephemeral_containers_have_container_defaults() -> None:
    """Pull policy and termination message of a debug container."""
    raw = {"spec": {"ephemeralContainers": [{"name": "d", "image": "i:1"}]}}
    debug = defaulted("Pod", raw)["spec"]["ephemeralContainers"][0]
    assert debug["imagePullPolicy"] == "IfNotPresent"
    assert debug["terminationMessagePolicy"] == "File"


def test_pod_requests_follow_from_containers_then_from_limits() -> None:
    """Pod-level requests are those of the containers, or the pod's limits (KEP-2837)."""
    spec = {
        "resources": {"limits": {"cpu": "2", "memory": "1Gi"}},
        "containers": [container({"cpu": "250m"}), container({"cpu": "250m"})],
    }
    resources = defaulted("Pod", {"spec": spec})["spec"]["resources"]
    assert resources["requests"] == {"cpu": "500m", "memory": "1Gi"}


def test_old_init_container_annotations_are_dropped() -> None:
    """They were a feature of a release long ago."""
    meta = {"annotations": {"pod.beta.kubernetes.io/init-containers": "[]", "a": "b"}}
    assert defaulted("Pod", {"metadata": meta})["metadata"] == {"annotations": {"a": "b"}}


@given(st.integers(0, 10**12), st.sampled_from(["n", "u", "m", "", "k", "Mi", "e-9", "e3"]))
@settings(max_examples=80, deadline=None)
def test_rounding_is_up_to_thousandths(number: int, suffix: str) -> None:
    """A rounded amount is a multiple of a thousandth, not less, and less than one more."""
    before = parse(f"{number}{suffix}")
    amounts: Json = {"x": str(before)}
    round_up(amounts)
    after = parse(amounts["x"])
    assert after.milli_value() == before.milli_value()
    assert parse(f"{after.milli_value()}m") == after


def test_init_containers_count_as_a_peak_and_sidecars_always() -> None:
    """The total is the greater of the sum and of the worst moment of initialisation."""
    spec = {
        "containers": [container({"cpu": "1"})],
        "initContainers": [
            container({"cpu": "500m"}, restartPolicy="Always"),
            container({"cpu": "3"}),
        ],
    }
    assert {name: str(amount) for name, amount in pod_total(spec, "requests").items()} == {
        "cpu": "3500m"
    }


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        ([container()], "BestEffort"),
        ([container({"cpu": "0"})], "BestEffort"),
        ([container({"cpu": "1"})], "Burstable"),
        ([container({"cpu": "1"}, {"cpu": "1"})], "Burstable"),
        ([container(*[{"cpu": "1", "memory": "1"}] * 2)], "Guaranteed"),
        ([container(*[{"cpu": "1", "memory": "1"}] * 2), container()], "Burstable"),
        ([container({"nvidia.com/gpu": "1"})], "BestEffort"),
    ],
)
def test_quality_of_service(containers: list[Json], expected: str) -> None:
    """Guaranteed needs equal processor and memory everywhere; nothing at all is best effort."""
    assert qos_class({"containers": containers}) == expected
