"""How objects of admissionregistration.k8s.io become rows of a ``Table``."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.cells import (
    UNSET,
    age,
    field,
    go_selector,
    items,
    name,
    text,
)
from kubetrio.schema.printing import Json


def webhook_configuration(obj: Json, now: float) -> list[Any]:
    """Name, Webhooks, Age."""
    return [name(obj), len(items(obj, "webhooks")), age(obj, now)]


def _admission_policy(obj: Json, rules: str, now: float) -> list[Any]:
    kind = field(obj, "spec", "paramKind")
    parameters = UNSET if kind is None else f"{text(kind, 'apiVersion')}/{text(kind, 'kind')}"
    return [name(obj), len(items(obj, "spec", rules)), parameters, age(obj, now)]


def validating_admission_policy(obj: Json, now: float) -> list[Any]:
    """Name, Validations, ParamKind, Age."""
    return _admission_policy(obj, "validations", now)


def mutating_admission_policy(obj: Json, now: float) -> list[Any]:
    """Name, Mutations, ParamKind, Age."""
    return _admission_policy(obj, "mutations", now)


def admission_policy_binding(obj: Json, now: float) -> list[Any]:
    """Name, PolicyName, ParamRef, Age."""
    reference = field(obj, "spec", "paramRef")
    parameters = UNSET
    if text(reference, "name"):
        # Whether the parameters have a namespace is not known here: a star stands for both.
        parameters = f"{text(reference, 'namespace') or '*'}/{text(reference, 'name')}"
    elif field(reference, "selector") is not None:
        parameters = go_selector(field(reference, "selector"))
    return [name(obj), text(obj, "spec", "policyName"), parameters, age(obj, now)]
