"""Types of node/v1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.core.v1 import Toleration
from kubetrio.types.meta.v1 import ObjectMeta

class Overhead(TypedDict):
    """What running a pod takes besides its containers."""

    podFixed: NotRequired[dict[str, str]]

class RuntimeClass(TypedDict):
    """A way of running containers, which pods choose by name."""

    apiVersion: Literal["node.k8s.io/v1"]
    kind: Literal["RuntimeClass"]
    metadata: ObjectMeta
    handler: str
    overhead: NotRequired[Overhead]
    scheduling: NotRequired[Scheduling]

class Scheduling(TypedDict):
    """Which nodes support a RuntimeClass."""

    nodeSelector: NotRequired[dict[str, str]]
    tolerations: NotRequired[list[Toleration]]
