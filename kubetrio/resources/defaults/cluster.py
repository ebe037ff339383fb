"""Small groups: storage, scheduling, flow control, node, authentication."""

from __future__ import annotations

from kubetrio.resources.defaults.rules import Amounts, Default, Rules, within
from kubetrio.resources.defaults.volumes import (
    AZURE_DISK,
    HOST_PATH,
    ISCSI,
    RBD,
    SCALE_IO,
)

TABLES: dict[str, Rules] = {
    "io.k8s.api.storage.v1.StorageClass": (
        Default("reclaimPolicy", "Delete"),
        Default("volumeBindingMode", "Immediate"),
    ),
    "io.k8s.api.storage.v1.CSIDriver": (
        within(
            "spec",
            Default("attachRequired", True),
            Default("podInfoOnMount", False),
            Default("volumeLifecycleModes", ["Persistent"]),
            Default("storageCapacity", False),
            Default("fsGroupPolicy", "ReadWriteOnceWithFSType"),
            Default("requiresRepublish", False),
            Default("seLinuxMount", False),
        ),
    ),
    "io.k8s.api.storage.v1.VolumeAttachment": (
        within("spec.source.inlineVolumeSpec", HOST_PATH, ISCSI, RBD, AZURE_DISK, SCALE_IO),
    ),
    "io.k8s.api.scheduling.v1.PriorityClass": (
        Default("preemptionPolicy", "PreemptLowerPriority"),
    ),
    "io.k8s.api.flowcontrol.v1.FlowSchema": (within("spec", Default("matchingPrecedence", 1000)),),
    "io.k8s.api.flowcontrol.v1.PriorityLevelConfiguration": (
        within(
            "spec.limited",
            Default("nominalConcurrencyShares", 30),
            Default("lendablePercent", 0),
            within(
                "limitResponse.queuing",
                Default("queues", 64),
                Default("handSize", 8),
                Default("queueLengthLimit", 50),
            ),
        ),
        within(
            "spec.exempt", Default("nominalConcurrencyShares", 0), Default("lendablePercent", 0)
        ),
    ),
    "io.k8s.api.node.v1.RuntimeClass": (within("overhead", Amounts("podFixed")),),
    "io.k8s.api.authentication.v1.TokenRequest": (
        within("spec", Default("expirationSeconds", 3600)),
    ),
}
