"""What is wrong with a custom resource, by the schema of its version.

Source: strategy.go and status_strategy.go of apiextensions-apiserver (registry/customresource).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kubetrio.cel.engine import NOT_INSTALLED, Missing
from kubetrio.kinds.apiextensions.causes import NOWHERE, Out
from kubetrio.kinds.apiextensions.customtype import Version
from kubetrio.kinds.apiextensions.listtypes import check_embedded, check_lists
from kubetrio.kinds.apiextensions.values import Checker, Old
from kubetrio.machinery.fielderrors import forbidden
from kubetrio.machinery.status import Cause
from kubetrio.schema.rules import Causes, Json, Validation

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


class ObjectChecks:
    """The checks of objects of one version.

    Args:
        version: what its definition says.
        scale: the checks of the numbers that its scale shows.
    """

    def __init__(self, version: Version, scale: Validation) -> None:
        self._version = version
        self._scale = scale
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
        found = Out()
        self._version.checker.check(obj, "", None, found)
        if self._scale.create is not None:
            self._scale.create(obj, "", found)
        check_embedded(self._version.node, obj, "", found)
        check_lists(self._version.checker, obj, "", found)
        self._rules(obj, None, found)
        causes += found

    def _update(self, new: Json, old: Json, causes: Causes) -> None:
        found, checker = Out(), self._version.checker
        checker.check(new, "", Old(checker, old), found)
        if self._scale.create is not None:
            self._scale.create(new, "", found)
        self._changed(new, old, found)
        causes += found

    def _changed(self, new: Json, old: Json, found: Causes) -> None:
        """What is looked at for every update, whatever was written."""
        checker = self._version.checker
        check_embedded(self._version.node, new, "", found)
        before: Causes = []
        check_lists(checker, old, "", before)
        if not before:
            check_lists(checker, new, "", found)
        self._rules(new, old, found)

    def _status(self, new: Json, old: Json, causes: Causes) -> None:
        checker = self._version.checker.properties.get("status") or _ANYTHING
        found = Out()
        if "status" in new:
            inner = Out("status")
            checker.check(new["status"], "", Old(checker, old.get("status")), inner)
            found += inner
        if (check := self._scale.subresources.get("status")) is not None:
            check(new, old, found)
        self._changed(new, old, found)
        causes += found

    def _rules(self, new: Json, old: Json | None, found: Causes) -> None:
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
        from kubetrio.kinds.apiextensions.celrules import check_rules

        self._spared = check_rules(rules, new, old, self._version.checker, found)


_ANYTHING = Checker({})


def _blocked(found: Sequence[Cause]) -> bool:
    return any(cause.reason in _BLOCKING for cause in found)
