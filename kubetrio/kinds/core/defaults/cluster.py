"""The core group, without pods and services."""

from __future__ import annotations

from base64 import b64encode

from kubetrio.kinds.common.defaulting import Amounts, Call, Default, Json, Rules, each, within
from kubetrio.kinds.core.defaults import volumes
from kubetrio.kinds.core.defaults.pods import TEMPLATE

NAME_LABEL = "kubernetes.io/metadata.name"


def label_namespace(namespace: Json) -> None:
    """The label that selectors of namespaces by name rely on."""
    meta = namespace.get("metadata") or {}
    name = meta.get("name")
    if not name:
        return
    labels = meta.get("labels") or {}
    if labels.get(NAME_LABEL) != name:
        labels = {**labels, NAME_LABEL: name}
        meta["labels"] = {key: labels[key] for key in sorted(labels)}


def encode_texts(secret: Json) -> None:
    """``stringData`` is written into ``data`` and never read."""
    texts = secret.pop("stringData", None)
    if texts:
        data = secret.get("data") or {}
        data.update((key, b64encode(text.encode()).decode()) for key, text in texts.items())
        secret["data"] = {key: data[key] for key in sorted(data)}


def list_pod_ranges(spec: Json) -> None:
    """``podCIDR`` and the first of ``podCIDRs`` are the same range; ``podCIDR`` wins."""
    one, several = spec.get("podCIDR"), spec.get("podCIDRs")
    if one and (not several or several[0] != one):
        spec["podCIDRs"] = [one]
    elif several and not one:
        spec["podCIDR"] = several[0]


def allocate_capacity(status: Json) -> None:
    """All of the capacity is allocatable unless the node says otherwise."""
    capacity = status.get("capacity")
    if capacity and status.get("allocatable") is None:
        status["allocatable"] = dict(capacity)


def fill_limits(item: Json) -> None:
    """Container limits follow from each other: maximum, default, default request, minimum."""
    if item.get("type") != "Container":
        return
    default = {**(item.get("max") or {}), **(item.get("default") or {})}
    request = {**(item.get("min") or {}), **default, **(item.get("defaultRequest") or {})}
    for name, amounts in (("default", default), ("defaultRequest", request)):
        if amounts:
            item[name] = {key: amounts[key] for key in sorted(amounts)}


def label_controller(controller: Json) -> None:
    """Selector and labels of a replication controller are those of its template."""
    spec = controller.get("spec") or {}
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    if not labels:
        return
    if not spec.get("selector"):
        spec["selector"] = dict(labels)
    meta = controller.get("metadata")
    if meta is not None and not meta.get("labels"):
        meta["labels"] = dict(labels)


_CLAIM_STATUS = (
    Default("phase", "Pending"),
    Amounts("capacity"),
    Amounts("allocatedResources"),
)
CLAIM: Rules = (
    within("spec", *volumes.CLAIM_SPEC),
    within("status", *_CLAIM_STATUS),
)

NAMESPACES: Rules = (
    Call(label_namespace, grows=("metadata",)),
    within("status", Default("phase", "Active")),
)
SECRETS: Rules = (Call(encode_texts), Default("type", "Opaque"))
NODES: Rules = (
    within("spec", Call(list_pod_ranges)),
    within("status", Call(allocate_capacity), Amounts("capacity"), Amounts("allocatable")),
)
ENDPOINTS: Rules = (each("subsets", each("ports", Default("protocol", "TCP"))),)
LIMITRANGES: Rules = (
    each(
        "spec.limits",
        Call(fill_limits),
        *map(Amounts, ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")),
    ),
)
RESOURCEQUOTAS: Rules = (
    within("spec", Amounts("hard")),
    within("status", Amounts("hard"), Amounts("used")),
)
REPLICATIONCONTROLLERS: Rules = (
    Call(label_controller, grows=("metadata", "spec")),
    within("spec", Default("replicas", 1), within("template", *TEMPLATE)),
)
PERSISTENTVOLUMES: Rules = (
    within(
        "spec",
        Default("persistentVolumeReclaimPolicy", "Retain"),
        Default("volumeMode", "Filesystem"),
        Amounts("capacity"),
        volumes.HOST_PATH,
        volumes.ISCSI,
        volumes.RBD,
        volumes.AZURE_DISK,
        volumes.SCALE_IO,
    ),
    within("status", Default("phase", "Pending")),
)
