"""Types of storage/v1beta1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import ObjectMeta

class VolumeAttributesClass(TypedDict):
    """Properties of volumes that can be changed while they are in use."""

    apiVersion: Literal["storage.k8s.io/v1beta1"]
    kind: Literal["VolumeAttributesClass"]
    metadata: NotRequired[ObjectMeta]
    driverName: str
    parameters: NotRequired[dict[str, str]]
