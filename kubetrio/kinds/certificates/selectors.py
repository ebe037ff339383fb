"""Fields that objects of certificates.k8s.io can be selected by."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.schema.fieldselectors import SHORT, FieldSelectors, at

SELECTORS: Mapping[str, FieldSelectors] = {
    "certificatesigningrequests": FieldSelectors(
        getters={"spec.signerName": at("spec.signerName")}, refusal=SHORT
    ),
}
"""By plural name."""
