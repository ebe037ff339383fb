"""What updates and deletions of each resource do, seen by storing objects on a private server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from facts.client import Answer, Client
from facts.documents import Json
from facts.listable import storable

NOT_STORED = ("/apis/admissionregistration.k8s.io/", "/apis/networking.k8s.io/v1/ipaddresses")
"""Beginnings of paths whose objects act on the server itself: only asked about missing names."""

_REPLICAS: Json = {"spec": {"minReadySeconds": 5}}
CHANGES: Mapping[str, Json] = {
    "/api/v1/pods": {"spec": {"activeDeadlineSeconds": 60}},
    "/api/v1/podtemplates": {"template": {"spec": {"activeDeadlineSeconds": 60}}},
    "/api/v1/replicationcontrollers": _REPLICAS,
    "/apis/apps/v1/deployments": _REPLICAS,
    "/apis/apps/v1/replicasets": _REPLICAS,
    "/apis/apps/v1/daemonsets": _REPLICAS,
    "/apis/apps/v1/statefulsets": _REPLICAS,
    "/apis/batch/v1/jobs": {"spec": {"suspend": True}},
    "/apis/batch/v1/cronjobs": {"spec": {"suspend": True}},
    "/apis/networking.k8s.io/v1/ingresses": {"spec": {"ingressClassName": "other"}},
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": {
        "spec": {"names": {"categories": ["all"]}}
    },
    "/apis/discovery.k8s.io/v1/endpointslices": {"ports": [{"port": 8443}]},
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas": {"spec": {"matchingPrecedence": 500}},
    "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations": {
        "spec": {"limited": {"lendablePercent": 5}}
    },
    "/apis/resource.k8s.io/v1/resourceslices": {"spec": {"pool": {"generation": 2}}},
}
"""By path, a merge patch that changes what a generation counts."""
LABEL: Json = {"metadata": {"labels": {"changed": "yes"}}}
POLICIES = {"deleteForeground": "Foreground", "deleteOrphan": "Orphan"}
ATTEMPTS = 20
"""How often an object is asked to go; a namespace stays without its controller."""


def behaviours(
    client: Client,
    samples: Iterable[Json],
    resources: Mapping[str, Json],
    names: Mapping[str, Json],
) -> dict[str, Json]:
    """What each resource does, by path without namespace.

    Args:
        client: of a server whose objects may go.
        samples: valid objects.
        resources: of the server.
        names: classes of names; objects with special names keep the one of the sample.
    """
    found: dict[str, Json] = {}
    for path, sample in storable(samples, resources).items():
        special = names.get(path, {}).get("class") == "special"
        found[path] = _Probe(client, path, sample, special=special).rows()
    return found


class _Probe:
    """The requests about one resource."""

    def __init__(self, client: Client, path: str, sample: Json, *, special: bool) -> None:
        self._client = client
        self._path = path
        self._sample = sample
        self._special = special

    def _named(self, suffix: str) -> Json:
        obj: Json = deepcopy(self._sample["object"])
        obj["metadata"].pop("generateName", None)
        if not self._special:
            obj["metadata"]["name"] = f"probe-{suffix}"
        return obj

    def _at(self, obj: Json) -> str:
        return f"{self._sample['path']}/{obj['metadata']['name']}"

    def rows(self) -> Json:
        """All members about the resource."""
        missing = self._named("missing")
        answer = self._client.request("PUT", f"{self._at(missing)}?dryRun=All", missing)
        rows: Json = {"putMissing": answer.status}
        if self._path.startswith(NOT_STORED):
            return rows
        obj = self._named("update")
        created = self._client.request("POST", self._sample["path"], obj)
        if created.status != 201:
            return rows
        stored = created.json()
        del stored["metadata"]["resourceVersion"]
        updated = self._client.request("PUT", self._at(obj), stored)
        rows["putWithoutResourceVersion"] = (
            updated.status if updated.status == 200 else [updated.status, _cause(updated)]
        )
        rows |= self._generations(obj)
        rows["delete"] = self._delete(obj)
        for member, policy in POLICIES.items():
            obj = self._named(policy.lower())
            self._client.request("POST", self._sample["path"], obj)
            answer = self._client.request("DELETE", self._at(obj), {"propagationPolicy": policy})
            said = answer.json()
            rows[member] = [answer.status, said["kind"], said["metadata"].get("finalizers")]
            grace = said["metadata"].get("deletionGracePeriodSeconds")
            if grace is not None:
                rows["gracePeriodSeconds"] = grace
            self._let_go(obj)
        return rows

    def _generations(self, obj: Json) -> Json:
        rows: Json = {}
        for member, change in (
            ("generationDeltaOnLabelChange", LABEL),
            ("generationDeltaOnSpecChange", CHANGES.get(self._path)),
        ):
            if change is None:
                continue
            before = self._client.get(self._at(obj))["metadata"].get("generation")
            if before is None:
                return {"generation": "absent"}
            answer = self._client.request("PATCH", self._at(obj), change)
            if answer.status == 200:
                rows[member] = answer.json()["metadata"]["generation"] - before
        return rows

    def _delete(self, obj: Json) -> list[Any]:
        answer = self._client.request("DELETE", self._at(obj))
        still = self._client.request("GET", self._at(obj)).status == 200
        self._let_go(obj)
        return [answer.status, answer.json()["kind"], still]

    def _let_go(self, obj: Json) -> None:
        """Remove what keeps a deleted object, until it is gone."""
        for _ in range(ATTEMPTS):
            self._client.request("PATCH", self._at(obj), {"metadata": {"finalizers": None}})
            if self._client.request("GET", self._at(obj)).status == 404:
                return
            self._client.request("DELETE", self._at(obj), {"gracePeriodSeconds": 0})


def _cause(answer: Answer) -> str:
    """What the server says is wrong with a request."""
    causes = answer.json().get("details", {}).get("causes") or [{"message": ""}]
    message: str = causes[0]["message"]
    return message
