"""Kinds of resource.k8s.io: claims, templates and classes of devices, and slices of them."""

from __future__ import annotations

from kubetrio.resources.validation.deviceclaims import claim_rules
from kubetrio.resources.validation.deviceslices import SLICES
from kubetrio.resources.validation.expressions import compile_expression
from kubetrio.resources.validation.library import Tables
from kubetrio.resources.validation.library_more import Compile


def rules(compiler: Compile) -> Tables:
    """The rules of the group with a compiler of expressions.

    Args:
        compiler: tells what is wrong with an expression.
    """
    return {**claim_rules(compiler), ("resource.k8s.io", "resourceslices"): SLICES}


TABLES: Tables = rules(compile_expression)
