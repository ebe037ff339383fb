"""Defaults of pods, and of templates."""

from __future__ import annotations

from typing import Any

import pytest
from defaults.creations import assert_created, assert_stable, labels
from defaults.defaulted import defaults_of

from kubetrio.schema.rules import Json
from kubetrio.schema.structural import Report, compile_type

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


@pytest.mark.parametrize("label", labels("", "pods", "podtemplates"))
def test_creations_are_stored_as_recorded(label: str) -> None:
    """With the fields that kube-apiserver filled in, and no others."""
    assert_created(label)


@pytest.mark.parametrize("label", labels("", "pods", "podtemplates"))
def test_defaults_are_a_fixed_point(label: str) -> None:
    """Filling in again changes neither a body nor a stored object."""
    assert_stable(label)
