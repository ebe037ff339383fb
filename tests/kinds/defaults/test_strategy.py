"""Preparation of single kinds for create and update."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kubetrio.kinds.builtin import registry
from kubetrio.machinery.identity import UserInfo
from kubetrio.schema.kind import Kind
from kubetrio.schema.rules import Context
from kubetrio.schema.structural import Report, compile_type

from .defaulted import defaults_of

Json = dict[str, Any]
CONTEXT = Context(
    now="2026-01-01T00:00:00Z",
    uid="u-1",
    user=UserInfo("alice", "", ("devs",), {"k": ("v",)}),
)
LATER = Context(now="2026-01-02T00:00:00Z")
POD_SPEC = {"containers": [{"name": "c", "image": "i"}]}


def resource(group: str, name: str) -> Kind:
    found = registry().get(group, "v1", name)
    assert found is not None
    return found


def decode(group: str, name: str, **raw: Any) -> Json:
    kind = resource(group, name)
    raw.setdefault("metadata", {"name": "x"})
    return compile_type(kind.schema_name).decode(
        {"kind": kind.kind, "apiVersion": kind.api_version, **deepcopy(raw)}, Report()
    )


def create(group: str, name: str, **raw: Any) -> Json:
    kind = resource(group, name)
    obj = decode(group, name, **raw)
    kind.rules.default(obj)
    kind.rules.prepare_create(obj, CONTEXT)
    kind.rules.default(obj)
    return obj


def update(group: str, name: str, old: Json, sub: str = "", /, **raw: Any) -> Json:
    kind = resource(group, name)
    new = decode(group, name, **raw)
    kind.rules.default(new)
    before = deepcopy(old)
    kind.rules.prepare_update(new, old, LATER, sub)
    assert old == before
    return new


def test_status_is_reset_except_for_nodes() -> None:
    """Nobody creates an object with a status, but a kubelet registers its node with one."""
    quota = create("", "resourcequotas", status={"hard": {"cpu": "1"}})
    assert quota["status"] == {}
    node = create("", "nodes", status={"capacity": {"cpu": "1"}})
    assert node["status"]["capacity"] == {"cpu": "1"}


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


def test_a_daemon_set_counts_changes_of_its_template() -> None:
    """The annotation goes up with the template, and with nothing else."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD_SPEC}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    old = create("apps", "daemonsets", spec=spec)
    key = "deprecated.daemonset.template.generation"
    same = update("apps", "daemonsets", old, spec={**spec, "minReadySeconds": 3})
    assert same["metadata"]["annotations"] == {key: "1"}
    other = {**template, "metadata": {"labels": {"a": "b", "c": "d"}}}
    changed = update("apps", "daemonsets", old, spec={**spec, "template": other})
    assert changed["metadata"]["annotations"] == {key: "2"}


def test_a_job_without_a_name_gets_as_far_as_its_validation() -> None:
    """Which refuses it."""
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    obj = decode("batch", "jobs", metadata={}, spec={"template": template})
    resource("batch", "jobs").rules.prepare_create(obj, CONTEXT)
    assert obj["spec"]["template"]["metadata"]["labels"]["job-name"] == ""


def test_whoever_writes_a_daemon_set_owns_its_generation() -> None:
    """The annotation is there before owners of members are noted, as conversion leaves it."""
    key = "deprecated.daemonset.template.generation"
    change = defaults_of("io.k8s.api.apps.v1.DaemonSet")
    new = {"metadata": {"name": "a", "annotations": {"z": "y"}}, "spec": {}}
    change(new)
    assert new["metadata"]["annotations"] == {key: "0", "z": "y"}
    kept = {"metadata": {"name": "a", "annotations": {key: "7"}}, "spec": {}}
    change(kept)
    assert kept["metadata"]["annotations"] == {key: "7"}


def test_a_claim_names_its_source_both_ways() -> None:
    """What neither field may say is dropped; on update too, where it never had an effect."""
    spec = {"accessModes": ["ReadWriteOnce"], "dataSource": {"kind": "Other", "name": "y"}}
    assert "dataSource" not in create("", "persistentvolumeclaims", spec=spec)["spec"]
    foreign = {"dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "y", "namespace": "n"}}
    old = create("", "persistentvolumeclaims", spec=foreign)
    assert "dataSourceRef" not in old["spec"]
    new = update("", "persistentvolumeclaims", old, spec=spec)
    assert "dataSource" not in new["spec"]


def test_a_phase_change_of_a_volume_has_a_time() -> None:
    """The server notes when, unless its author tells."""
    old = create("", "persistentvolumes", spec={"hostPath": {"path": "/a"}})
    assert old["status"]["lastPhaseTransitionTime"] == CONTEXT.now
    new = update("", "persistentvolumes", old, "status", status={"phase": "Bound"})
    assert new["status"]["lastPhaseTransitionTime"] == LATER.now


def test_the_time_of_a_phase_is_kept_while_it_lasts() -> None:
    """A status without a time is no new phase."""
    old = create("", "persistentvolumes", spec={"hostPath": {"path": "/a"}})
    new = update("", "persistentvolumes", old, "status", status={"phase": "Pending"})
    assert new["status"]["lastPhaseTransitionTime"] == CONTEXT.now


@pytest.mark.parametrize("kept", ["dataSource", "dataSourceRef"])
def test_a_changed_claim_may_name_its_source_one_way(kept: str) -> None:
    """The other is put back, so that nothing has changed."""
    source = {"apiGroup": None, "kind": "PersistentVolumeClaim", "name": "y"}
    old = create("", "persistentvolumeclaims", spec={"dataSource": source})
    new = update("", "persistentvolumeclaims", old, spec={kept: source})
    assert new["spec"] == old["spec"]
    assert new["spec"]["dataSource"] == new["spec"]["dataSourceRef"] == source


def test_numbers_of_an_unused_rolling_update_are_zero() -> None:
    """They are no pointers inside kube-apiserver, so zero stands for none."""
    change = defaults_of("io.k8s.api.apps.v1.DaemonSet")
    strategy = {"type": "OnDelete", "rollingUpdate": {}}
    new = {"metadata": {"name": "a"}, "spec": {"updateStrategy": strategy}}
    change(new)
    rolling = new["spec"]["updateStrategy"]["rollingUpdate"]
    assert rolling == {"maxUnavailable": 0, "maxSurge": 0}


def test_a_signing_request_is_of_who_sends_it() -> None:
    """User, groups and extra come from the request; the spec never changes again."""
    spec = {"request": "QQ==", "signerName": "a.b/c", "usages": ["any"], "username": "root"}
    old = create("certificates.k8s.io", "certificatesigningrequests", spec=spec)
    assert old["spec"]["username"] == "alice"
    assert old["spec"]["groups"] == ["devs"]
    assert old["spec"]["extra"] == {"k": ["v"]}
    new = update(
        "certificates.k8s.io",
        "certificatesigningrequests",
        old,
        "approval",
        spec=spec,
        status={"certificate": "QQ==", "conditions": [{"type": "Approved", "status": "True"}]},
    )
    assert new["spec"] == old["spec"]
    assert new["status"] == {
        "conditions": [
            {
                "type": "Approved",
                "status": "True",
                "lastUpdateTime": LATER.now,
                "lastTransitionTime": LATER.now,
            }
        ]
    }


@pytest.mark.parametrize("subresource", ["approval", "status"])
def test_decisions_on_a_signing_request_may_come_with_labels(subresource: str) -> None:
    """Both paths write metadata, as the object itself does."""
    kind = "certificates.k8s.io", "certificatesigningrequests"
    spec = {"request": "QQ==", "signerName": "a.b/c", "usages": ["any"]}
    meta = {"name": "x", "labels": {"a": "b"}, "finalizers": ["c/d"]}
    new = update(*kind, create(*kind, spec=spec), subresource, metadata=meta)
    assert new["metadata"] == meta


@pytest.mark.parametrize(("status", "kept"), [("False", "True"), (None, None)])
def test_a_decision_stays_as_it_was(status: str | None, kept: str | None) -> None:
    """Whoever writes the status cannot change it; leaving it out is left to validation."""
    kind = "certificates.k8s.io", "certificatesigningrequests"
    spec = {"request": "QQ==", "signerName": "a.b/c", "usages": ["any"]}
    approved = {"type": "Approved", "status": "True", "lastUpdateTime": LATER.now}
    approved["lastTransitionTime"] = LATER.now
    old = {**create(*kind, spec=spec), "status": {"conditions": [approved]}}
    failed = {"type": "Failed", "status": "True"}
    sent = [failed] if status is None else [failed, {**approved, "status": status}]
    new = update(*kind, old, "status", spec=spec, status={"conditions": sent})
    found = {item["type"]: item["status"] for item in new["status"]["conditions"]}
    assert found.get("Approved") == kept


@pytest.mark.parametrize("name", ["flowschemas", "prioritylevelconfigurations"])
def test_metadata_beside_a_status_of_flow_control_is_ignored(name: str) -> None:
    """Even what would be refused elsewhere; only the fields' owners are noted."""
    kind = "flowcontrol.apiserver.k8s.io", name
    old = {**decode(*kind), "metadata": {"name": "x", "uid": "u", "labels": {"a": "b"}}}
    meta = {"name": "x", "uid": "other", "deletionGracePeriodSeconds": 4, "managedFields": []}
    new = update(*kind, old, "status", metadata=meta)
    owners = {"managedFields": []} if "managedFields" in new["metadata"] else {}
    assert new["metadata"] == {**old["metadata"], **owners}


def test_storage_versions_of_a_definition_add_up() -> None:
    """A version that was a storage version stays in the list."""
    names = {"plural": "foos", "kind": "Foo"}

    def spec(stored: str) -> Json:
        versions = [
            {"name": name, "served": True, "storage": name == stored} for name in ("v1", "v2")
        ]
        return {"group": "g.x", "scope": "Cluster", "names": names, "versions": versions}

    kind = ("apiextensions.k8s.io", "customresourcedefinitions")
    old = create(*kind, spec=spec("v1"))
    assert old["status"]["storedVersions"] == ["v1"]
    new = update(*kind, old, spec=spec("v2"), status=old["status"])
    assert new["status"]["storedVersions"] == ["v1", "v2"]


def test_a_local_api_service_is_available() -> None:
    """What this server serves itself needs no probing."""
    service = create("apiregistration.k8s.io", "apiservices", spec={"group": "g", "version": "v1"})
    assert service["status"]["conditions"][0]["reason"] == "Local"


def test_references_of_service_accounts_are_names() -> None:
    """Everything else in them never had a meaning."""
    account = create("", "serviceaccounts", secrets=[{"name": "s", "namespace": "n"}])
    assert account["secrets"] == [{"name": "s"}]


def test_finalizers_of_a_namespace_are_not_for_ordinary_updates() -> None:
    """Only ``finalize`` writes them."""
    old = create("", "namespaces", spec={"finalizers": ["x/y"]})
    assert old["spec"]["finalizers"] == ["x/y", "kubernetes"]
    assert update("", "namespaces", old)["spec"] == old["spec"]


def test_device_taints_have_a_time() -> None:
    """A taint without one is from now on."""
    device = {"name": "d", "taints": [{"key": "a", "effect": "NoSchedule"}]}
    spec = {"driver": "x.y", "pool": {"name": "p"}, "devices": [device]}
    slices = create("resource.k8s.io", "resourceslices", spec=spec)
    assert slices["spec"]["devices"][0]["taints"][0]["timeAdded"] == CONTEXT.now


def test_fields_of_features_that_are_off_are_dropped() -> None:
    """Unless the stored object has them from another time."""
    lease = create("coordination.k8s.io", "leases", spec={"preferredHolder": "x"})
    assert lease["spec"] == {}
    stored = decode("coordination.k8s.io", "leases", spec={"preferredHolder": "x"})
    new = update("coordination.k8s.io", "leases", stored, spec={"preferredHolder": "y"})
    assert new["spec"] == {"preferredHolder": "y"}
    stop = {"name": "c", "image": "i", "lifecycle": {"stopSignal": "SIGUSR1"}}
    pod = create("", "pods", spec={"containers": [stop]})
    assert "lifecycle" not in pod["spec"]["containers"][0]
    stop["lifecycle"] = {}
    pod = create("", "pods", spec={"containers": [stop]})
    assert pod["spec"]["containers"][0]["lifecycle"] == {}
    old = decode("", "pods", spec={"initContainers": [{"lifecycle": {"stopSignal": "SIGUSR1"}}]})
    stop["lifecycle"] = {"stopSignal": "SIGUSR2"}
    new = update("", "pods", old, spec={"containers": [stop]})
    assert new["spec"]["containers"][0]["lifecycle"] == {"stopSignal": "SIGUSR2"}


def test_statuses_of_features_that_are_off_are_dropped() -> None:
    """By writers of the status, unless they are there already."""
    mount = {"name": "v", "mountPath": "/v", "volumeStatus": {"image": {"imageRef": "r"}}}
    status = {
        "containerStatuses": [{"name": "c", "volumeMounts": [mount]}],
        "nodeAllocatableResourceClaimStatuses": [{"resourceClaimName": "r"}],
    }
    pod = create("", "pods", spec=POD_SPEC)
    new = update("", "pods", pod, "status", spec=POD_SPEC, status=status)
    assert "nodeAllocatableResourceClaimStatuses" not in new["status"]
    assert "volumeStatus" not in new["status"]["containerStatuses"][0]["volumeMounts"][0]
    stored = decode("", "pods", spec=POD_SPEC, status=status)
    kept = update("", "pods", stored, "status", spec=POD_SPEC, status=status)
    assert kept["status"]["nodeAllocatableResourceClaimStatuses"]
    assert kept["status"]["containerStatuses"][0]["volumeMounts"] == [mount]


def test_old_topology_of_endpoints_is_not_written() -> None:
    """It stays as long as the endpoints stay the same."""
    endpoint = {"addresses": ["1.2.3.4"], "deprecatedTopology": {"kubernetes.io/hostname": "n"}}
    raw: dict[str, Any] = {"addressType": "IPv4", "endpoints": [endpoint]}
    old = decode("discovery.k8s.io", "endpointslices", **raw)
    assert (
        "deprecatedTopology"
        not in create("discovery.k8s.io", "endpointslices", **raw)["endpoints"][0]
    )
    same = update("discovery.k8s.io", "endpointslices", old, **raw)
    assert same["endpoints"] == old["endpoints"]
    moved = {**endpoint, "addresses": ["1.2.3.5"]}
    new = update("discovery.k8s.io", "endpointslices", old, **{**raw, "endpoints": [moved]})
    assert new["endpoints"][0]["nodeName"] == "n"
    assert "deprecatedTopology" not in new["endpoints"][0]


def test_devices_that_are_given_back_take_their_status_along() -> None:
    """What a driver told of a device goes with the allocation; the rest stays."""
    kind = ("resource.k8s.io", "resourceclaims")
    results = [{"driver": "d", "pool": "p", "device": name} for name in ("one", "two")]
    old = create(*kind, spec={"devices": {}})
    old["status"] = {"allocation": {"devices": {"results": results}}, "devices": results}
    fewer = {"allocation": {"devices": {"results": results[:1]}}, "devices": results}
    new = update(*kind, old, "status", spec={"devices": {}}, status=fewer)
    assert [item["device"] for item in new["status"]["devices"]] == ["one"]
    new = update(*kind, old, "status", spec={"devices": {}}, status={"devices": results})
    assert "devices" not in new["status"]
    new = update(*kind, old, "status", spec={"devices": {}}, status=old["status"])
    assert [item["device"] for item in new["status"]["devices"]] == ["one", "two"]


def test_lists_of_attribute_values_are_an_alpha_feature() -> None:
    """They are dropped without a word, except where they are stored."""
    kind = ("resource.k8s.io", "resourceslices")
    attributes = {"a": {"ints": [1]}, "b": {"int": 1}}
    spec = {"driver": "d", "devices": [{"name": "n", "attributes": attributes}]}
    old = create(*kind, spec=spec)
    assert old["spec"]["devices"][0]["attributes"] == {"a": {}, "b": {"int": 1}}
    old["spec"]["devices"][0]["attributes"]["a"] = {"ints": [1]}
    new = update(*kind, old, spec=spec)
    assert new["spec"]["devices"][0]["attributes"]["a"] == {"ints": [1]}


def test_status_writers_and_metadata() -> None:
    """A controller may label definitions by their status, but not API services."""
    labelled = {"name": "x", "labels": {"a": "b"}}
    services = ("apiregistration.k8s.io", "apiservices")
    old = create(*services, spec={"version": "v1"})
    assert "labels" not in update(*services, old, "status", metadata=labelled)["metadata"]
    definitions = ("apiextensions.k8s.io", "customresourcedefinitions")
    old = create(*definitions, spec={"group": "g", "scope": "Cluster", "names": {}, "versions": []})
    new = update(*definitions, old, "status", metadata=labelled, spec=old["spec"])
    assert new["metadata"]["labels"] == {"a": "b"}


def test_what_status_writers_say_of_metadata_is_kept_dropped_or_checked() -> None:
    """As each kind does it; where it is dropped, owners of fields are still told."""
    meta = {
        "name": "x",
        "labels": {"a": "b"},
        "deletionTimestamp": "2024-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 3,
        "managedFields": [{"manager": "m"}],
    }
    requests = ("certificates.k8s.io", "certificatesigningrequests")
    old = create(*requests, spec={"request": "", "signerName": "s"})
    for subresource in ("status", "approval"):
        found = update(*requests, old, subresource, metadata=meta, spec=old["spec"])["metadata"]
        assert found["labels"] == {"a": "b"}
    schemas = ("flowcontrol.apiserver.k8s.io", "flowschemas")
    old = create(*schemas, spec={"priorityLevelConfiguration": {"name": "p"}})
    found = update(*schemas, old, "status", metadata=meta, spec=old["spec"])["metadata"]
    assert found == {**old["metadata"], "managedFields": [{"manager": "m"}]}
    services = ("apiregistration.k8s.io", "apiservices")
    old = create(*services, spec={"version": "v1"})
    found = update(*services, old, "status", metadata=meta, spec=old["spec"])["metadata"]
    assert ("labels" in found, "deletionTimestamp" in found) == (False, True)


def test_the_status_of_a_pod_does_not_end_it() -> None:
    """A time of deletion that comes with a status is dropped; other kinds refuse it."""
    old = create("", "pods", spec=POD_SPEC)
    meta = {"name": "x", "deletionTimestamp": "2024-01-01T00:00:00Z"}
    found = update("", "pods", old, "status", metadata=meta, spec=POD_SPEC)
    assert "deletionTimestamp" not in found["metadata"]


def test_a_deployment_keeps_its_labels_when_its_status_is_written() -> None:
    """And takes annotations, as other kinds take both."""
    spec = {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD_SPEC},
    }
    meta = {"name": "x", "labels": {"l": "new"}, "annotations": {"n": "new"}}
    for name, labels in (("deployments", {"l": "old"}), ("replicasets", {"l": "new"})):
        old = create("apps", name, metadata={"name": "x", "labels": {"l": "old"}}, spec=spec)
        new = update("apps", name, old, "status", metadata=meta, spec=spec)["metadata"]
        assert (new["labels"], new["annotations"]) == (labels, {"n": "new"})
