"""Charts in the shapes of popular ones, applied and waited for as ``helm install --wait`` does.

Helm applies objects in an order of their kinds, then waits until each is ready by the rules of its
kind; hooks are Jobs that are waited for before and after.

Source: docs of Helm ("helm install", "Chart Hooks"); behaviour of helm.sh/helm/v3/pkg/kube
(``ReadyChecker``).
"""

from __future__ import annotations

from typing import Any

import pytest
from simulated import API, WHOLE, Cluster, cluster, template
from trio.testing import MockClock

Object = dict[str, Any]

ORDER = (
    "PriorityClass", "Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange",
    "PodDisruptionBudget", "ServiceAccount", "Secret", "ConfigMap", "StorageClass",
    "PersistentVolume", "PersistentVolumeClaim", "CustomResourceDefinition", "ClusterRole",
    "ClusterRoleBinding", "Role", "RoleBinding", "Service", "DaemonSet", "Pod",
    "ReplicationController", "ReplicaSet", "Deployment", "HorizontalPodAutoscaler", "StatefulSet",
    "Job", "CronJob", "IngressClass", "Ingress",
)  # fmt: skip
LIMIT_S = 300.0  # helm's own default


def made(kind: str, name: str, **members: Any) -> Object:
    """An object."""
    meta: Object = {"name": name, **members.pop("metadata", {})}
    if kind not in WHOLE:
        meta["namespace"] = "default"
    return {"apiVersion": API.get(kind, "v1"), "kind": kind, "metadata": meta, **members}


def load(kind: str, name: str, *, said: Object | None = None, **spec: Any) -> Object:
    """A workload whose pods have the label ``app``."""
    pods = template(name, said=said, **spec.pop("pods", {}))
    if kind == "Job":
        pods["spec"].setdefault("restartPolicy", "Never")
        return made(kind, name, spec={"template": pods, **spec})
    selector = {"matchLabels": {"app": name}}
    if kind == "StatefulSet":
        spec.setdefault("serviceName", name)
    return made(kind, name, spec={"selector": selector, "template": pods, **spec})


def service(name: str, kind: str = "ClusterIP", **spec: Any) -> Object:
    """A Service of a workload."""
    ports = [{"port": 80, "targetPort": 8080}]
    own = {"type": kind, "selector": {"app": name}, "ports": ports}
    return made("Service", name, spec={**own, **spec})


def budget(name: str) -> Object:
    """A PodDisruptionBudget of a workload."""
    selector = {"matchLabels": {"app": name}}
    return made("PodDisruptionBudget", name, spec={"maxUnavailable": 1, "selector": selector})


def claims(size: str = "8Gi") -> list[Object]:
    """Templates of claims."""
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return [{"metadata": {"name": "data"}, "spec": wanted}]


def autoscaler(name: str) -> Object:
    """A HorizontalPodAutoscaler of a Deployment."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    use = {"type": "Utilization", "averageUtilization": 80}
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": use}}
    return made("HorizontalPodAutoscaler", name, spec={
        "scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 5, "metrics": [metric],
    })  # fmt: skip


def rights(name: str) -> list[Object]:
    """A ServiceAccount and what it may do."""
    group = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}
    reference = {"apiGroup": group, "kind": "ClusterRole", "name": name}
    return [
        made("ServiceAccount", name),
        made("ClusterRole", name, rules=[rule]),
        made("ClusterRoleBinding", name, roleRef=reference, subjects=[subject]),
    ]


def hook(name: str, when: str, **spec: Any) -> Object:
    """A Job that runs before or after."""
    job = load("Job", name, **spec)
    job["metadata"]["annotations"] = {"helm.sh/hook": when}
    return job


def definition(plural: str, kind: str, group: str) -> Object:
    """A CustomResourceDefinition."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema,
               "subresources": {"status": {}}}  # fmt: skip
    names = {"plural": plural, "singular": kind.lower(), "kind": kind}
    return made("CustomResourceDefinition", f"{plural}.{group}", spec={
        "group": group, "scope": "Namespaced", "names": names, "versions": [version],
    })  # fmt: skip


SLOW = {"start-seconds": "5", "ready-seconds": "20"}
PERCENT = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
CHARTS: dict[str, list[Object]] = {
    "a database with a volume": [
        made("Secret", "db", stringData={"password": "x"}),
        made("ConfigMap", "db", data={"a": "b"}),
        service("db"), service("db-headless", clusterIP="None"),
        load("StatefulSet", "db", said=SLOW, volumeClaimTemplates=claims(),
             serviceName="db-headless"),
    ],
    "a replicated database": [
        *rights("rdb"), service("rdb", clusterIP="None"), budget("rdb"),
        load("StatefulSet", "rdb", said=SLOW, replicas=3, volumeClaimTemplates=claims("20Gi"),
             podManagementPolicy="OrderedReady", minReadySeconds=5),
    ],
    "a cache with replicas": [
        service("cache-primary"), service("cache-replica"),
        load("StatefulSet", "cache-primary", volumeClaimTemplates=claims()),
        load("StatefulSet", "cache-replica", said=SLOW, replicas=3,
             volumeClaimTemplates=claims(), updateStrategy={"type": "RollingUpdate"}),
    ],
    "an ingress controller on each node": [
        *rights("ingress"), service("ingress", "NodePort"),
        made("IngressClass", "ingress", spec={"controller": "example.com/ingress"}),
        load("DaemonSet", "ingress", said=SLOW,
             pods={"tolerations": [{"operator": "Exists"}], "ports": [{"containerPort": 80,
                                                                     "hostPort": 80}]}),
    ],
    "a web application": [
        made("ConfigMap", "web", data={"a": "b"}), service("web"), budget("web"),
        load("Deployment", "web", said=SLOW, replicas=2, strategy=PERCENT,
             pods={"requests": {"cpu": "100m", "memory": "128Mi"}}),
        autoscaler("web"),
        made("Ingress", "web", spec={"rules": [{"host": "web.example.com", "http": {"paths": [
            {"path": "/", "pathType": "Prefix",
             "backend": {"service": {"name": "web", "port": {"number": 80}}}}]}}]}),
    ],
    "an operator with its definitions": [
        definition("databases", "Database", "example.com"),
        definition("backups", "Backup", "example.com"),
        *rights("operator"),
        load("Deployment", "operator", said=SLOW, replicas=1,
             pods={"serviceAccountName": "operator"}),
    ],
    "certificates with hooks": [
        hook("certs-before", "pre-install"), *rights("certs"), service("certs"),
        load("Deployment", "certs", replicas=1),
        load("Deployment", "certs-hook", said=SLOW, replicas=2),
        hook("certs-check", "post-install", backoffLimit=4, said={"run-seconds": "15"}),
    ],
    "monitoring": [
        *rights("monitor"), service("monitor"),
        load("Deployment", "monitor", said=SLOW, replicas=1, strategy={"type": "Recreate"},
             pods={"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "monitor"}}]}),
        made("PersistentVolumeClaim", "monitor", spec={
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}}),
        load("DaemonSet", "exporter", pods={"hostNetwork": True,
                                            "tolerations": [{"operator": "Exists"}]}),
        load("StatefulSet", "alerts", replicas=2),
    ],
    "backups by schedule": [
        made("PersistentVolumeClaim", "backup", spec={
            "accessModes": ["ReadWriteOnce"], "storageClassName": "quick",
            "resources": {"requests": {"storage": "5Gi"}}}),
        made("CronJob", "backup", spec={"schedule": "0 3 * * *", "jobTemplate": {"spec": {
            "template": {"spec": {"restartPolicy": "Never",
                                  "containers": [{"name": "c", "image": "i"}]}}}}}),
        load("Job", "first", completions=2, parallelism=1),
    ],
    "a queue with a migration": [
        hook("migrate", "pre-install", said={"run-seconds": "30"}),
        made("PriorityClass", "queue", value=1000), service("queue"),
        load("StatefulSet", "queue", said=SLOW, replicas=3, podManagementPolicy="Parallel",
             pods={"priorityClassName": "queue"}),
        load("Deployment", "workers", said=SLOW, replicas=4, strategy=PERCENT,
             pods={"initContainers": [{"name": "wait", "image": "i"}]}),
    ],
}  # fmt: skip


async def is_ready(there: Cluster, obj: Object) -> bool:
    """Whether an object is ready by helm's rules for its kind."""
    kind, name = obj["kind"], obj["metadata"]["name"]
    stored = await there.get(kind, name)
    spec, status = stored.get("spec") or {}, stored.get("status") or {}
    seen = status.get("observedGeneration") == stored["metadata"].get("generation")
    match kind:
        case "Pod":
            return (await there.condition("Pod", name, "Ready")).get("status") == "True"
        case "Service":
            return spec["type"] == "ExternalName" or bool(spec.get("clusterIP"))
        case "PersistentVolumeClaim":
            return status.get("phase") == "Bound"
        case "Deployment":
            ready = int(status.get("readyReplicas") or 0)
            return seen and ready >= _least(spec)
        case "StatefulSet":
            count = spec["replicas"]
            updated = status.get("updatedReplicas") == count
            same = status.get("currentRevision") == status.get("updateRevision")
            return bool(seen and updated and same and status.get("readyReplicas") == count)
        case "DaemonSet":
            wanted = status.get("desiredNumberScheduled")
            updated = status.get("updatedNumberScheduled") == wanted
            return bool(seen and updated and status["numberReady"] == wanted)
        case "Job":
            assert (status.get("failed") or 0) <= spec["backoffLimit"], "it failed"
            return int(status.get("succeeded") or 0) >= int(spec["completions"])
        case "CustomResourceDefinition":
            established = await there.condition(kind, name, "Established")
            return established.get("status") == "True"
    return True


def _least(spec: Object) -> int:
    """How many pods of a Deployment are to be ready: all but those that may be unavailable."""
    rolling = spec["strategy"].get("rollingUpdate") or {}
    most = rolling.get("maxUnavailable", 0)
    count: int = spec["replicas"]
    share = int(most.rstrip("%")) * count // 100 if isinstance(most, str) else int(most)
    return count - min(share, count)


async def install(there: Cluster, chart: list[Object]) -> None:
    """Apply objects and wait for them as helm does."""
    hooks = {"pre-install": list[Object](), "post-install": list[Object](), "": list[Object]()}
    for obj in chart:
        hooks[(obj["metadata"].get("annotations") or {}).get("helm.sh/hook", "")].append(obj)
    for when in ("pre-install", "", "post-install"):
        objects = sorted(hooks[when], key=lambda one: ORDER.index(one["kind"]))
        for obj in objects:
            await there.client.create(obj)

        async def ready(objects: list[Object] = objects) -> bool:
            for obj in objects:
                if not await is_ready(there, obj):
                    return False
            return True

        await there.until(ready, LIMIT_S)


@pytest.mark.parametrize("name", CHARTS)
async def test_a_chart_is_ready(name: str, autojump_clock: MockClock) -> None:
    """Within helm's own limit, with hooks before and after."""
    async with cluster(3) as there:
        await there.client.create({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "metadata": {"name": "quick"},
            "provisioner": "hostless.simulation.kubetrio.io", "volumeBindingMode": "Immediate",
        })  # fmt: skip
        await install(there, CHARTS[name])


async def test_a_chart_that_is_not_ready_is_told(autojump_clock: MockClock) -> None:
    """A wait for what cannot be ends in an error, and does not hang."""
    broken = load("Deployment", "web", said={"state": "image-pull-back-off"}, replicas=1)
    async with cluster(1) as there:
        with pytest.raises(AssertionError, match="it does not come to pass"):
            await install(there, [broken])
