"""Fields that objects of resource.k8s.io can be selected by."""

from __future__ import annotations

from kubetrio.schema.fieldselectors import FieldSelectors, at

RESOURCESLICES = FieldSelectors(
    getters={"spec.driver": at("spec.driver"), "spec.nodeName": at("spec.nodeName")},
    refusal="field label not supported for {group}/{version}, Kind={kind}: {field}",
)
