"""Containers, pods and pod templates.

Some defaults are for pods only and leave templates alone, so that the templates of stored
workloads do not change when a release adds a default.
"""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import Amounts, Call, Default, Json, each, within
from kubetrio.kinds.core.amounts import pod_total
from kubetrio.kinds.core.defaults.volumes import FIELD_REF, RESOURCE_FIELD_REF, VOLUME
from kubetrio.kinds.core.images import pull_policy

_RESOURCES = within("resources", Amounts("limits"), Amounts("requests"))
_HTTP_GET = within("httpGet", Default("path", "/"), Default("scheme", "HTTP"))
_PROBE = (
    Default("timeoutSeconds", 1),
    Default("periodSeconds", 10),
    Default("successThreshold", 1),
    Default("failureThreshold", 3),
    _HTTP_GET,
    within("grpc", Default("service", "")),
)


def default_pull(container: Json) -> None:
    """The pull policy follows from the image's tag."""
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))


CONTAINER = (
    Default("terminationMessagePath", "/dev/termination-log"),
    Default("terminationMessagePolicy", "File"),
    Call(default_pull),
    each("ports", Default("protocol", "TCP")),
    each(
        "env",
        within(
            "valueFrom",
            FIELD_REF,
            RESOURCE_FIELD_REF,
            within("fileKeyRef", Default("optional", False)),
        ),
    ),
    _RESOURCES,
    within("livenessProbe", *_PROBE),
    within("readinessProbe", *_PROBE),
    within("startupProbe", *_PROBE),
    within("lifecycle", within("postStart", _HTTP_GET), within("preStop", _HTTP_GET)),
)


def alias_service_account(spec: Json) -> None:
    """``serviceAccount`` is an older name of ``serviceAccountName``, which wins."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


POD_SPEC = (
    Default("restartPolicy", "Always"),
    Default("terminationGracePeriodSeconds", 30),
    Default("dnsPolicy", "ClusterFirst"),
    Default("securityContext", {}),
    Default("schedulerName", "default-scheduler"),
    Call(alias_service_account),
    each("containers", *CONTAINER),
    each("initContainers", *CONTAINER),
    each("ephemeralContainers", *CONTAINER),
    each("volumes", *VOLUME),
    Amounts("overhead"),
    _RESOURCES,
)

_OLD_ANNOTATIONS = (
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
)


def drop_old_annotations(meta: Json) -> None:
    """Init containers were annotations once; those are dropped."""
    annotations = meta.get("annotations")
    if annotations and any(name in annotations for name in _OLD_ANNOTATIONS):
        for name in _OLD_ANNOTATIONS:
            annotations.pop(name, None)
        if not annotations:
            del meta["annotations"]


TEMPLATE = (within("metadata", Call(drop_old_annotations)), within("spec", *POD_SPEC))


_RESOURCE_MEMBERS = ("limits", "requests", "claims")


def _put(resources: Json, name: str, amounts: Json) -> None:
    """Set a member and keep the order of the Go struct."""
    members = {**resources, name: {key: amounts[key] for key in sorted(amounts)}}
    resources.clear()
    resources.update((key, members[key]) for key in _RESOURCE_MEMBERS if key in members)


def request_limits(spec: Json) -> None:
    """What a container is limited to and does not request, it requests."""
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        limits = resources.get("limits")
        if limits:
            requests = resources.get("requests") or {}
            if not limits.keys() <= requests.keys():
                _put(resources, "requests", {**limits, **requests})


def _huge(name: str) -> bool:
    return name.startswith("hugepages-")


def default_pod_resources(spec: Json) -> None:
    """Resources of the whole pod (KEP-2837).

    Limits of huge pages are those of the containers; requests are those of the containers, or the
    pod's limits where no container requests anything.
    """
    resources = spec.get("resources")
    if not resources:
        return
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    if requests or limits:
        huge = {
            name: str(amount)
            for name, amount in pod_total(spec, "limits").items()
            if _huge(name) and name not in requests
        }
        if not huge.keys() <= limits.keys():
            limits = {**huge, **limits}
            _put(resources, "limits", limits)
    if not limits:
        return
    shared = {name: text for name, text in limits.items() if name in _SHARED or _huge(name)}
    for name, amount in pod_total(spec, "requests").items():
        if name in _SHARED:
            shared[name] = str(amount)
    if not shared.keys() <= requests.keys():
        _put(resources, "requests", {**shared, **requests})


_SHARED = ("cpu", "memory")


def open_host_ports(spec: Json) -> None:
    """On the host's network a container port is a host port."""
    if spec.get("hostNetwork"):
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            for port in container.get("ports") or ():
                if not port.get("hostPort"):
                    port["hostPort"] = port.get("containerPort", 0)


def default_grace(spec: Json) -> None:
    """A negative grace period is a second, in pods but not in templates."""
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1


def list_addresses(status: Json) -> None:
    """``podIP`` and the first of ``podIPs`` are the same address; ``podIP`` wins."""
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and not address and addresses[0].get("ip"):
        status["podIP"] = addresses[0]["ip"]


_STATUS = (
    Call(list_addresses),
    Amounts("allocatedResources"),
    _RESOURCES,
    *(
        each(name, Amounts("allocatedResources"), _RESOURCES)
        for name in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
    ),
)

POD = (
    within("metadata", Call(drop_old_annotations)),
    within(
        "spec",
        Default("enableServiceLinks", True),
        Call(request_limits),
        Call(default_pod_resources),
        Call(open_host_ports),
        Call(default_grace),
        *POD_SPEC,
    ),
    within("status", *_STATUS),
)

PODTEMPLATES = (within("template", *TEMPLATE),)
