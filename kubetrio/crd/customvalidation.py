"""What is wrong with a custom resource, by the schema of its version.

Source: strategy.go and status_strategy.go of apiextensions-apiserver (registry/customresource).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kubetrio.cel.engine import NOT_INSTALLED, Missing
from kubetrio.crd.customtype import Version
from kubetrio.machinery.fielderrors import forbidden, invalid
from kubetrio.machinery.jsonvalues import same_json
from kubetrio.machinery.status import MORE, Cause
from kubetrio.machinery.telling import untell
from kubetrio.runtime.effort import Exhausted
from kubetrio.schema.kind import Kind
from kubetrio.schema.rules import Causes, Json, Validation
from kubetrio.structural.causes import NOWHERE, Out
from kubetrio.structural.listtypes import check_embedded, check_lists
from kubetrio.structural.values import Checker, Old

_BLOCKING = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
"""What is wrong in such a way that rules are not looked at."""
_NOT_LOOKED_AT = Cause(
    "FieldValueInvalid",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
    NOWHERE,
)


def is_of(kind: Kind, obj: Json, causes: Causes) -> bool:
    """Whether an object says that it is of a kind and version; adds what it says wrongly.

    Source: validator.go of apiextensions-apiserver, validateTypeMeta.
    """
    before = len(causes)
    for name, value in (("kind", kind.kind), ("apiVersion", kind.api_version)):
        if obj.get(name) != value:
            causes.append(invalid(name, obj.get(name) or "", f"must be {value}"))
    return len(causes) == before


def without_schema(scale: Validation, kind: Kind) -> Validation:
    """Checks of objects of a kind without a declared schema.

    Args:
        scale: the checks of the numbers that its scale shows.
        kind: what they say they are.
    """

    def create(obj: Json, path: str, causes: Causes) -> None:
        if is_of(kind, obj, causes) and scale.create is not None:
            scale.create(obj, path, causes)

    return replace(scale, create=create)


class ObjectChecks:
    """The checks of objects of one version.

    Args:
        version: what its definition says.
        scale: the checks of the numbers that its scale shows.
        kind: what they say they are.
    """

    def __init__(self, version: Version, scale: Validation, kind: Kind) -> None:
        self._version = version
        self._scale = scale
        self._kind = kind
        self._spared: list[str] = []

    def validation(self) -> Validation:
        """The checks, as a kind has them."""
        return replace(
            self._scale,
            create=self._create,
            update=self._update,
            revalidate=False,
            subresources={"status": self._status, "scale": self._update},
            spared=self._take_spared,
        )

    def _take_spared(self) -> list[str]:
        taken, self._spared = self._spared, []
        return taken

    def _create(self, obj: Any, _: str, causes: Causes) -> None:
        problems = Out()
        try:
            if is_of(self._kind, obj, problems):
                self._version.checker.check(obj, "", None, problems)
                if self._scale.create is not None:
                    self._scale.create(obj, "", problems)
            check_embedded(self._version.node, obj, "", problems)
            check_lists(self._version.checker, obj, "", problems, problems.effort)
            self._rules(obj, None, problems)
        except Exhausted as error:
            causes.append(_too_much(error))
            return
        causes += problems

    def _update(self, new: Json, old: Json, causes: Causes) -> None:
        problems, checker = Out(), self._version.checker
        try:
            if is_of(self._kind, new, problems):
                checker.check(new, "", Old(checker, old, problems.effort), problems)
                if self._scale.create is not None:
                    self._scale.create(new, "", problems)
            self._changed(new, old, problems)
        except Exhausted as error:
            if not _same_but_metadata(new, old):
                causes.append(_too_much(error))
            return
        causes += problems

    def _changed(self, new: Json, old: Json, found: Out) -> None:
        """What is looked at for every update, whatever was written."""
        checker = self._version.checker
        check_embedded(self._version.node, new, "", found)
        before: Causes = []
        check_lists(checker, old, "", before, found.effort)
        untell(before)
        if not before:
            check_lists(checker, new, "", found, found.effort)
        self._rules(new, old, found)

    def _status(self, new: Json, old: Json, causes: Causes) -> None:
        checker = self._version.checker.properties.get("status") or _ANYTHING
        problems = Out()
        try:
            if "status" in new:
                inner = Out("status", problems.effort)
                before = Old(checker, old.get("status"), problems.effort)
                checker.check(new["status"], "", before, inner)
                problems += inner
            if (check := self._scale.subresources.get("status")) is not None:
                check(new, old, problems)
            self._changed(new, old, problems)
        except Exhausted as error:
            if not _same_but_metadata(new, old):
                causes.append(_too_much(error))
            return
        causes += problems

    def _rules(self, new: Json, old: Json | None, found: Out) -> None:
        try:
            rules = self._version.rules
        except Missing:
            # The definition was stored by a server that could tell.
            found.append(forbidden(NOWHERE, f"x-kubernetes-validations: {NOT_INSTALLED}"))
            return
        if rules is None:
            return
        if _blocked(found):
            found.append(_NOT_LOOKED_AT)
            return
        from kubetrio.structural.celrules import check_rules

        self._spared = check_rules(
            rules, new, old, self._version.checker, found, effort=found.effort
        )


_ANYTHING = Checker({})


def _too_much(error: Exhausted) -> Cause:
    return forbidden(NOWHERE, f"checking the object by its schema {error}")


def _same_but_metadata(new: Json, old: Json) -> bool:
    """Whether what takes too long to check was there before: finalizers can be taken off it."""
    one, two = ({**obj, "metadata": None} for obj in (new, old))
    return same_json(one, two)


def _blocked(found: Sequence[Cause]) -> bool:
    return any(cause is MORE or cause.reason in _BLOCKING for cause in found)
