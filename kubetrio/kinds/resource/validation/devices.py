"""Kinds of resource.k8s.io: claims, templates and classes of devices, and slices of them."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.common.expressions import compile_expression
from kubetrio.kinds.common.shared_checks import Compile
from kubetrio.kinds.resource.validation.claims import claim_rules
from kubetrio.kinds.resource.validation.slices import SLICES
from kubetrio.schema.rules import Validation


def rules(compiler: Compile) -> Mapping[str, Validation]:
    """The rules of the group with a compiler of expressions.

    Args:
        compiler: tells what is wrong with an expression.
    """
    return {**claim_rules(compiler), "resourceslices": SLICES}


_CHECKS = rules(compile_expression)
DEVICECLASSES = _CHECKS["deviceclasses"]
RESOURCECLAIMS = _CHECKS["resourceclaims"]
RESOURCECLAIMTEMPLATES = _CHECKS["resourceclaimtemplates"]
RESOURCESLICES = _CHECKS["resourceslices"]
