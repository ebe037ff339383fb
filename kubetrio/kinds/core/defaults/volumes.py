"""Sources of volumes, in pods and in persistent volumes."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import Amounts, Call, Default, Json, Within, each, within
from kubetrio.kinds.core.images import pull_policy

_MODE = Default("defaultMode", 0o644)
FIELD_REF = within("fieldRef", Default("apiVersion", "v1"))
"""A reference to a field of the pod itself."""
RESOURCE_FIELD_REF = within("resourceFieldRef", Default("divisor", "0"))

HOST_PATH = Within("hostPath", (Default("type", ""),))
ISCSI = Within("iscsi", (Default("iscsiInterface", "default"),))
RBD = Within(
    "rbd",
    (Default("pool", "rbd"), Default("user", "admin"), Default("keyring", "/etc/ceph/keyring")),
)
AZURE_DISK = Within(
    "azureDisk",
    (
        Default("cachingMode", "ReadWrite"),
        Default("kind", "Shared"),
        Default("fsType", "ext4"),
        Default("readOnly", False),
    ),
)
SCALE_IO = Within("scaleIO", (Default("storageMode", "ThinProvisioned"), Default("fsType", "xfs")))

CLAIM_SPEC = (
    Default("volumeMode", "Filesystem"),
    within("resources", Amounts("limits"), Amounts("requests")),
)

PROJECTION = (
    each("downwardAPI.items", FIELD_REF, RESOURCE_FIELD_REF),
    within("serviceAccountToken", Default("expirationSeconds", 3600)),
)


def default_source(volume: Json) -> None:
    """A volume without a source is an empty directory."""
    if len(volume) < 2:
        volume["emptyDir"] = {}


def default_pull(image: Json) -> None:
    """The pull policy of an image volume follows from its tag."""
    if not image.get("pullPolicy"):
        image["pullPolicy"] = pull_policy(image.get("reference", ""))


VOLUME = (
    Call(default_source),
    within("secret", _MODE),
    within("configMap", _MODE),
    within("downwardAPI", _MODE, each("items", FIELD_REF, RESOURCE_FIELD_REF)),
    within("projected", _MODE, each("sources", *PROJECTION)),
    within("ephemeral.volumeClaimTemplate.spec", *CLAIM_SPEC),
    within("image", Call(default_pull)),
    HOST_PATH,
    ISCSI,
    RBD,
    AZURE_DISK,
    SCALE_IO,
)
