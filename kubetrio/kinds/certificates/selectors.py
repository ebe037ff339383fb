"""Fields that objects of certificates.k8s.io can be selected by."""

from __future__ import annotations

from kubetrio.schema.fieldselectors import SHORT, FieldSelectors, at

CERTIFICATESIGNINGREQUESTS = FieldSelectors(
    getters={"spec.signerName": at("spec.signerName")}, refusal=SHORT
)
