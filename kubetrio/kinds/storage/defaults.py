"""Defaults of storage.k8s.io."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import Default, Rules, within
from kubetrio.kinds.core.defaults.volumes import (
    AZURE_DISK,
    HOST_PATH,
    ISCSI,
    RBD,
    SCALE_IO,
)

STORAGECLASSES: Rules = (
    Default("reclaimPolicy", "Delete"),
    Default("volumeBindingMode", "Immediate"),
)
CSIDRIVERS: Rules = (
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
)
VOLUMEATTACHMENTS: Rules = (
    within("spec.source.inlineVolumeSpec", HOST_PATH, ISCSI, RBD, AZURE_DISK, SCALE_IO),
)
