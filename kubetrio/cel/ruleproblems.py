"""What is wrong with the rules of a schema: those that do not compile, and those that are too dear.

A rule is evaluated for each value of its schema that an object has; its cost is that of one
evaluation times how many there can be.

Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go and
cel_validation.go (``StaticEstimatedCostLimit``, ``StaticEstimatedCRDCostLimit``, ``TotalCost``).
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubetrio.cel.expressions import CompileError
from kubetrio.cel.places import Compiling, Estimated, Place
from kubetrio.cel.ranges import plus, times
from kubetrio.cel.schemas import Rules, Schema, SchemaTypes
from kubetrio.cel.sizes import Sized, Sizes

RULE_LIMIT = 10_000_000
"""What one rule may cost for an object at most."""
SCHEMA_LIMIT = 100_000_000
"""What all rules of a schema may cost for an object at most."""
_NAMED = SCHEMA_LIMIT // 100  # what the dearest rules cost at least
_DEAREST = 4
_RULES = "x-kubernetes-validations"
_TOTAL = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
_PART = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
_NO_OLD_SELF = "may not be set if oldSelf is not used in rule"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with a rule, or with all rules together.

    Args:
        text: what is wrong.
        place: where the rule is, None for all of them.
        index: which rule it is there.
        member: the member of the rule that is wrong.
        value: what is shown of the rule: a member, or all of it where that is empty.
        below: a path that ends the text, below that of the root; None for none.
        too_dear: whether it is refused for its cost.
    """

    text: str
    place: Rules | None = None
    index: int = 0
    member: str = ""
    value: str = ""
    below: str | None = None
    too_dear: bool = False


def excess(what: str, cost: int, limit: int) -> str:
    """What is said of a cost that is more than its limit.

    Args:
        what: what costs so much.
        cost: how much it is.
        limit: how much it may be.
    """
    factor = cost / limit
    if factor > 100:
        shown = "more than 100x"
    else:
        shown = f"{factor:.6f}x" if factor < 1.5 else f"{factor:.1f}x"
    return (
        f"{what} exceeds budget by factor of {shown} (try simplifying the rule, or adding "
        "maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )


class _Total:
    """What all rules cost."""

    def __init__(self) -> None:
        self.cost = 0
        self._dearest: list[tuple[int, Rules, int, str]] = []

    def add(self, cost: int, place: Rules, index: int, member: str) -> None:
        self.cost = plus(self.cost, cost)
        if cost >= _NAMED:
            self._dearest.append((cost, place, index, member))
            self._dearest.sort(key=lambda one: -one[0])
            del self._dearest[_DEAREST:]

    def findings(self) -> Iterator[Finding]:
        if self.cost <= SCHEMA_LIMIT:
            return
        for _, place, index, member in self._dearest:
            yield Finding(_PART, place, index, member, too_dear=True)
        yield Finding(excess(_TOTAL, self.cost, SCHEMA_LIMIT), too_dear=True)


class _Shapes:
    """Numbers for what the parts of a schema are, beside their rules and words: equal for equal."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[int, int] = {}

    def of(self, schema: Schema) -> int:
        """The number of a part; the schema is one, and stays as it is, as long as this is asked."""
        number = self._known.get(id(schema))
        if number is None:
            shape = tuple(
                (name, self._part(name, value))
                for name, value in schema.items()
                if name not in _NO_MATTER
            )
            number = self._known[id(schema)] = self._numbers.setdefault(shape, len(self._numbers))
        return number

    def _part(self, name: str, value: Any) -> Hashable:
        if name == "properties" and value:
            return tuple((key, self.of(inner)) for key, inner in value.items())
        if name in ("items", "additionalProperties") and isinstance(value, dict):
            return self.of(value)
        return repr(value)


_NO_MATTER = frozenset({"description", "title", "example", "externalDocs", _RULES})


class _Problems:
    """The problems of one schema."""

    def __init__(self, types: SchemaTypes, *, stored: bool) -> None:
        optional = [any(rule.get("optionalOldSelf") for rule in it.rules) for it in types.places]
        places = [
            Place(place.kind, optional_old=old)
            for place, old in zip(types.places, optional, strict=True)
        ]
        self._compiling = Compiling(types.messages, places)
        self._shapes = _Shapes()
        self._known: dict[tuple[int, bool, bool, str], Estimated] = {}
        self._stored = stored
        self.total = _Total()

    def rule(
        self, at: int, place: Rules, size: Sized, index: int, rule: Mapping[str, Any]
    ) -> Iterator[Finding]:
        """The problems of one rule.

        Args:
            at: the number of its place.
            place: its place.
            size: of the values there.
            index: the number of the rule there.
            rule: the rule.
        """
        uses: frozenset[str] = frozenset()
        outcome = self._compiled(at, place, size, rule, "rule")
        if isinstance(outcome, str):
            yield Finding(outcome, place, index, "rule")
        else:
            count = size.cardinality if place.most is None else place.most
            cost = times(outcome.cost.most, count)
            yield from self._dear("estimated rule cost", cost, place, index, "rule")
            yield from self._message(at, place, size, index, rule)
            uses = outcome.uses
        if uses and place.loose is not None:
            text = "oldSelf cannot be used on the uncorrelatable portion of the schema within "
            yield Finding(text, place, index, "rule", value="rule", below=place.loose)
        elif not uses and rule.get("optionalOldSelf") is not None:
            member = "optionalOldSelf"
            yield Finding(_NO_OLD_SELF, place, index, member, value=member)

    def _message(
        self, at: int, place: Rules, size: Sized, index: int, rule: Mapping[str, Any]
    ) -> Iterator[Finding]:
        member = "messageExpression"
        if not (rule.get(member) or "").strip():
            return
        outcome = self._compiled(at, place, size, rule, member)
        if isinstance(outcome, str):
            yield Finding(outcome, place, index, member)
            return
        what = "estimated messageExpression cost"
        yield from self._dear(what, outcome.cost.most, place, index, member)

    def _dear(
        self, what: str, cost: int, place: Rules, index: int, member: str
    ) -> Iterator[Finding]:
        if cost > RULE_LIMIT and not self._stored:
            text = excess(what, cost, RULE_LIMIT)
            yield Finding(text, place, index, member, too_dear=True)
        self.total.add(cost, place, index, member)

    def _compiled(
        self, at: int, place: Rules, size: Sized, rule: Mapping[str, Any], member: str
    ) -> Estimated | str:
        """An expression of a rule, or what is wrong with it."""
        optional = bool(rule.get("optionalOldSelf"))
        text = (rule.get(member) or "").strip()
        # What is wrong names the types of a place; what is right is so in all that are alike.
        alike = self._shapes.of(place.schema), place.whole, optional, text
        outcome = self._known.get(alike)
        if outcome is None:
            try:
                outcome = self._compiling.estimate(text, at, size, optional_old=optional)
            except CompileError as error:
                return str(error) if member == "rule" else f"{member} {error}"
            self._known[alike] = outcome
        if member == "rule":
            return outcome if outcome.type == "bool" else "cel expression must evaluate to a bool"
        return outcome if outcome.type == "string" else f"{member} must evaluate to a string"


def rule_problems(
    root: Schema, *, stored: bool = False, faulty: Container[int] = frozenset()
) -> Iterator[Finding]:
    """What is wrong with the rules of a schema.

    Args:
        root: a structural schema.
        stored: whether the schema is stored already: none of its rules is refused then for what
            it alone costs.
        faulty: identities of parts of it in which something else is wrong: their rules are not
            looked at.

    Raises:
        Missing: there are rules and no engine.
    """
    return problems_of(SchemaTypes(root), Sizes(), stored=stored, faulty=faulty)


def problems_of(
    types: SchemaTypes, sizes: Sizes, *, stored: bool = False, faulty: Container[int] = frozenset()
) -> Iterator[Finding]:
    """Find problems in a schema whose types are known, and sizes if they were asked for.

    Raises:
        Missing: there are rules and no engine.
    """
    if not types.places:
        return
    problems = _Problems(types, stored=stored)
    for at, place in enumerate(types.places):
        if id(place.schema) in faulty:
            continue
        size = sizes.of(place.schema, whole=place.whole)
        for index, rule in enumerate(place.rules if size is not None else ()):
            if size is not None:
                yield from problems.rule(at, place, size, index, rule)
    yield from problems.total.findings()
