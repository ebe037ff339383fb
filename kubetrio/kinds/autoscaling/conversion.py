"""HorizontalPodAutoscalers between autoscaling/v2, in which they are stored, and autoscaling/v1.

What v1 has no field for travels in annotations, so nothing is lost on the way there and back; CPU
use comes last in the list of metrics after it was apart from the others.

Source: the API reference of both versions, docs "Horizontal Pod Autoscaling".
"""

from __future__ import annotations

from kubetrio.kinds.autoscaling.annotations import to_v1, to_v2
from kubetrio.kinds.common.versions import converting
from kubetrio.schema.kind import Conversion

_TYPE = "io.k8s.api.autoscaling.{}.HorizontalPodAutoscaler"

HORIZONTALPODAUTOSCALERS_V1 = Conversion(
    to_stored=converting(to_v2, "autoscaling/v2", _TYPE.format("v2")),
    from_stored=converting(to_v1, "autoscaling/v1", _TYPE.format("v1")),
)
