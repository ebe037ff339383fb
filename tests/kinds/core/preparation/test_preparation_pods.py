"""What writes of pods do beside what their clients say."""

from __future__ import annotations

from checks.prepared import POD_SPEC, create, update


def test_labels_complete_the_selectors_of_a_pod() -> None:
    """Keys of labels become requirements with the values of this pod, once."""
    term = {"topologyKey": "z", "matchLabelKeys": ["a", "none"], "mismatchLabelKeys": ["b"]}
    spread = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
    pod = create(
        "",
        "pods",
        metadata={"name": "x", "labels": {"a": "1", "b": "2"}},
        spec={
            **POD_SPEC,
            "affinity": {
                "podAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {**term, "labelSelector": {}},
                        term,
                    ]
                }
            },
            "topologySpreadConstraints": [
                {**spread, "matchLabelKeys": ["a"], "labelSelector": {"matchLabels": {"c": "d"}}}
            ],
        },
    )["spec"]
    is_one = {"key": "a", "operator": "In", "values": ["1"]}
    is_not_two = {"key": "b", "operator": "NotIn", "values": ["2"]}
    terms = pod["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert terms[0]["labelSelector"] == {"matchExpressions": [is_one, is_not_two]}
    assert "labelSelector" not in terms[1]
    assert pod["topologySpreadConstraints"][0]["labelSelector"] == {
        "matchLabels": {"c": "d"},
        "matchExpressions": [is_one],
    }


def test_apparmor_annotations_become_fields() -> None:
    """Unless the container, or the pod, says the same already."""
    key = "container.apparmor.security.beta.kubernetes.io/c"
    meta = {"name": "x", "annotations": {key: "localhost/profile"}}
    pod = create("", "pods", metadata=meta, spec=POD_SPEC)
    assert pod["spec"]["containers"][0]["securityContext"] == {
        "appArmorProfile": {"type": "Localhost", "localhostProfile": "profile"}
    }


def test_pod_status_keeps_what_the_server_knows() -> None:
    """The class of service, observed generations and owners are not for kubelets to drop."""
    old = create("", "pods", spec=POD_SPEC)
    old["metadata"]["ownerReferences"] = [{"uid": "o"}]
    old["status"]["conditions"] = [{"type": "Ready", "observedGeneration": 3}]
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    new = update("", "pods", old, "status", spec=POD_SPEC, status=status)
    assert new["status"]["qosClass"] == "BestEffort"
    assert new["status"]["conditions"][0]["observedGeneration"] == 3
    assert new["metadata"]["ownerReferences"] == [{"uid": "o"}]


def test_subresources_of_pods_change_their_part_only() -> None:
    """Debug containers and resources have paths of their own."""
    old = create("", "pods", spec=POD_SPEC)
    old["metadata"]["generation"] = 1
    debug = {"name": "d", "image": "i"}
    more = {**POD_SPEC, "ephemeralContainers": [debug], "hostname": "h"}
    new = update("", "pods", old, "ephemeralcontainers", spec=more)
    assert [item["name"] for item in new["spec"]["ephemeralContainers"]] == ["d"]
    assert "hostname" not in new["spec"]
    assert new["metadata"]["generation"] == 2
    resized = {"name": "c", "image": "other", "resources": {"requests": {"cpu": "1"}}}
    new = update("", "pods", old, "resize", spec={"containers": [resized]})
    assert new["spec"]["containers"][0]["image"] == "i"
    assert new["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "1"}}


def test_the_status_of_a_pod_does_not_end_it() -> None:
    """A time of deletion that comes with a status is dropped; other kinds refuse it."""
    old = create("", "pods", spec=POD_SPEC)
    meta = {"name": "x", "deletionTimestamp": "2024-01-01T00:00:00Z"}
    found = update("", "pods", old, "status", metadata=meta, spec=POD_SPEC)
    assert "deletionTimestamp" not in found["metadata"]
