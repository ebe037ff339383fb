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
}
