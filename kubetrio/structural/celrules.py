"""``x-kubernetes-validations`` at work: what the rules of a schema say of an object.

Source: docs "Extend the Kubernetes API with CustomResourceDefinitions" (validation rules);
KEP-2876; k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from kubetrio.cel.times import COMPILATION, EVALUATION
from kubetrio.env import monotonic
from kubetrio.machinery.fielderrors import duplicate, forbidden, invalid, required
from kubetrio.machinery.status import Cause
from kubetrio.runtime.effort import Effort
from kubetrio.structural.causes import NOWHERE
from kubetrio.structural.celvalues import Convert, Converters
from kubetrio.structural.jsonkeys import by_keys, keys_of, steps_of
from kubetrio.structural.schemaparts import RULES, Marks, making, parts_of
from kubetrio.structural.schemapaths import NoField, find_field
from kubetrio.structural.values import Checker, Old

if TYPE_CHECKING:
    from kubetrio.cel.expressions import Checked
    from kubetrio.cel.programs import Outcome, Program

Json = dict[str, Any]

BUDGET = 100_000
"""How many rules are looked at for one object; those with loops count as many."""
LOOP_WEIGHT = 100
RULE_STEPS = 10
"""What the weight of one takes of the effort for an object."""
_NO_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
_BROKEN = "rule compile error"
_CALL_LIMIT = "operation cancelled: actual cost limit exceeded"
MOST_MESSAGE = 5 * 1024  # bytes that a messageExpression may make
_breaks = re.compile(r"\n")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule.

    Args:
        said: as the schema has it.
        program: evaluates it; None for a rule that does not compile.
        message: evaluates its ``messageExpression``, None where there is none or it does not work.
        uses_old: whether it asks for ``oldSelf``.
        path: what its ``fieldPath`` adds to the path.
        weight: what looking at it once takes of the budget of an object.
        error: why it does not compile.
    """

    said: Mapping[str, Any]
    program: Program | None
    message: Program | None = None
    uses_old: bool = False
    path: str = ""
    weight: int = 1
    error: str = ""

    @property
    def shown(self) -> str:
        """The rule in messages about it."""
        return (self.said.get("message") or self.said.get("rule") or "").strip()


HasRules = Callable[[Mapping[str, Any]], bool]
"""Whether a part of a schema has rules, or something in it has."""


class Place:
    """The rules of one place in a schema, and of those below it.

    Args:
        schema: what is there.
        whole: whether it is a resource, the root or inside of another.
        rules: the rules there, by the identity of the schema.
        ruled: of the parts of the schema.
        converters: of the schema.
    """

    __slots__ = (
        "_converters",
        "_converts",
        "_whole",
        "items",
        "keys",
        "others",
        "properties",
        "rules",
        "schema",
    )

    def __init__(
        self,
        schema: Mapping[str, Any],
        rules: Mapping[int, Iterable[Rule]],
        ruled: HasRules,
        converters: Converters,
        *,
        whole: bool = False,
    ) -> None:
        self.schema = schema
        self.rules = rules.get(id(schema), ())
        self.properties = {
            name: Place(inner, rules, ruled, converters)
            for name, inner in (schema.get("properties") or {}).items()
            if ruled(inner)
        }
        self.others, self.items = (
            Place(inner, rules, ruled, converters)
            if isinstance(inner, dict) and ruled(inner)
            else None
            for inner in (schema.get("additionalProperties"), schema.get("items"))
        )
        self.keys = schema.get("x-kubernetes-list-map-keys") or ()
        self._converters: Converters | None = converters
        self._converts: Convert | None = None
        self._whole = whole

    @property
    def converts(self) -> Convert | None:
        """What makes the values that rules see, None to take them; made for the first one."""
        if self._converters is not None:
            making().look_up()
            self._converts = self._converters.of(self.schema, whole=self._whole)
            self._converters = None
        return self._converts


def compiled(
    root: Mapping[str, Any],
    *,
    whole: bool = True,
    broken: bool = False,
    marks: Marks | None = None,
) -> Place | None:
    """The rules of a schema, None where it has none.

    Args:
        root: a structural schema.
        whole: whether it is that of a resource.
        broken: whether values are refused for rules that do not compile.  They are left out
            otherwise: what is stored was compiled once.
        marks: of the schema, when it is large.

    Raises:
        Missing: there are rules and no engine.
    """
    from kubetrio.cel.expressions import CompileError
    from kubetrio.cel.places import TOGETHER, Compiling
    from kubetrio.cel.places import Place as Typed
    from kubetrio.cel.schemas import SchemaTypes

    making().look_up()  # a handful of rules takes milliseconds
    ruled = _parts_with_rules(root) if marks is None else _marked(marks)
    if not ruled(root):
        return None
    types = SchemaTypes(root, whole=whole)
    typed = [
        Typed(place.kind, optional_old=any(rule.get("optionalOldSelf") for rule in place.rules))
        for place in types.places
    ]
    compiling = Compiling(types.messages, typed, TOGETHER)

    def made(at: int, said: Mapping[str, Any]) -> Rule | None:
        try:
            return _rule(compiling, at, types.places[at], said)
        except CompileError as error:
            return Rule(said, None, error=str(error)) if broken else None

    rules = {
        id(place.schema): RulesOfPlace(place.rules, partial(made, at))
        for at, place in enumerate(types.places)
    }
    return Place(root, rules, ruled, Converters(), whole=whole)


class RulesOfPlace:
    """The rules of a place, compiled when its first value is looked at.

    Args:
        said: as the schema has them.
        make: compiles one of them; None for one that is left out.
    """

    __slots__ = ("_made", "_make", "_said")

    def __init__(
        self,
        said: Sequence[Mapping[str, Any]],
        make: Callable[[Mapping[str, Any]], Rule | None],
    ) -> None:
        self._said = said
        self._make = make
        self._made: Sequence[Rule] | None = None

    def __iter__(self) -> Iterator[Rule]:
        if self._made is None:
            making().look_up()
            begun = monotonic()
            self._made = tuple(rule for rule in map(self._make, self._said) if rule is not None)
            COMPILATION.observe(monotonic() - begun)
        return iter(self._made)


def _marked(marks: Marks) -> HasRules:
    return lambda schema: marks.has(schema, RULES)


def _parts_with_rules(root: Mapping[str, Any]) -> HasRules:
    ruled: set[int] = set()
    _find_rules(root, ruled)
    return lambda schema: id(schema) in ruled


def _find_rules(schema: Mapping[str, Any], ruled: set[int]) -> bool:
    """Note the parts of a schema that have rules, at any depth; whether it has some."""
    has_rules = bool(schema.get("x-kubernetes-validations"))
    for inner in parts_of(schema):
        has_rules |= _find_rules(inner, ruled)
    if has_rules:
        ruled.add(id(schema))
    return has_rules


def _rule(compiling: Any, at: int, place: Any, said: Mapping[str, Any]) -> Rule:
    from kubetrio.cel.expressions import CompileError
    from kubetrio.cel.programs import Program
    from kubetrio.cel.syntax import bind, kind_of, walk

    optional = bool(said.get("optionalOldSelf"))

    def runs(text: str) -> Checked:
        rule_checked: Checked = compiling.check(text, at, optional_old=optional)
        return (
            replace(rule_checked, tree=bind("oldSelf", _what_was(), rule_checked.tree))
            if optional
            else rule_checked
        )

    checked = runs((said.get("rule") or "").strip())
    if checked.type != "bool":
        raise CompileError("cel expression must evaluate to a bool")
    message = None
    if text := (said.get("messageExpression") or "").strip():
        try:
            message = Program(runs(text))
        except CompileError:
            message = None
    loops = any(kind_of(node) == "comprehension_expr" for node in walk(checked.tree))
    return Rule(
        said,
        Program(checked),
        message,
        "oldSelf" in checked.uses,
        _field_path(place.schema, said.get("fieldPath") or ""),
        LOOP_WEIGHT if loops else 1,
    )


@cache
def _what_was() -> Any:
    """An expression for the old value as an optional: the engine takes none from outside."""
    from kubetrio.cel.expressions import parse

    return parse("oldSelf == null ? optional.none() : optional.of(oldSelf)").expr


def _field_path(schema: Mapping[str, Any], path: str) -> str:
    """A ``fieldPath`` as paths of fields are printed; empty for one that points nowhere."""
    try:
        return find_field(schema, path).path
    except NoField:
        return ""


# --- walking ---


class Exhausted(Exception):
    """No further rule is looked at."""


class _Walk:
    """One object against the rules of its schema."""

    def __init__(self, out: list[Cause], effort: Effort) -> None:
        self._out = out
        self._effort = effort
        self._left = BUDGET
        self.spared: list[str] = []  # what was wrong before, and did not change

    def check(
        self,
        place: Place,
        value: Any,
        path: str,
        before: Any,
        old: Old | None,
        parent: tuple[Old, Any] | None,
    ) -> None:
        """Look at a value and all below it.

        Args:
            place: where it is.
            value: the value.
            path: its path.
            before: what it was, for transition rules; None for what is not known.
            old: the same for ratcheting.
            parent: the nearest part above that is known to have been there, and its new value.
        """
        if value is None:
            return
        if place.rules:
            self._rules(place, value, path, before, old, parent)
        if type(value) is dict:
            self._object(place, value, path, before, old, parent)
        elif type(value) is list and place.items:
            listed = type(before) is list and place.schema.get("x-kubernetes-list-type") == "map"
            known = by_keys(place.keys, before) if listed else {}
            for index, item in enumerate(value):
                was = None if old is None else old.item(value, index)
                above = parent if old is None else (old, value)
                same = known.get(keys_of(place.keys, item)) if listed else None
                self.check(place.items, item, f"{path}[{index}]", same, was, above)

    def _object(
        self, place: Place, value: Json, path: str, before: Any, old: Old | None, parent: Any
    ) -> None:
        if not (place.properties or place.others):
            return
        known = before if type(before) is dict else {}
        above = parent if old is None else (old, value)
        for key, item in value.items():
            inner = place.properties.get(key)
            if inner is not None:
                where = f"{path}.{key}" if path else key
            elif place.others and key not in (place.schema.get("properties") or ()):
                inner, where = place.others, f"{path}[{key}]"
            else:
                continue
            was = None if old is None else old.key(value, key)
            if not path and key in ("apiVersion", "kind"):
                was = None
            self.check(inner, item, where, known.get(key), was, above)

    def _rules(
        self, place: Place, value: Any, path: str, before: Any, old: Old | None, parent: Any
    ) -> None:
        from kubetrio.cel.programs import Inputs

        self._effort.spend(steps_of(value) + steps_of(before))  # they are turned into the engine's
        wrong: list[str] = []
        shown = value if place.converts is None else place.converts(value, wrong)
        was = before if before is None or place.converts is None else place.converts(before, wrong)
        inputs = Inputs({"self": shown, "oldSelf": was})
        kind = place.schema.get("type") or ""
        for rule in place.rules:
            if rule.program is None:
                self._out.append(invalid(path or NOWHERE, kind, f"{_BROKEN}: {rule.error}"))
                continue
            optional = bool(rule.said.get("optionalOldSelf"))
            if rule.uses_old and before is None and not optional:
                continue
            self._left -= rule.weight
            if self._left < 0:
                self._out.append(invalid(path or NOWHERE, kind, _NO_BUDGET))
                raise Exhausted
            self._effort.spend(RULE_STEPS * rule.weight)
            outcome = (rule.program.guarded() if wrong else rule.program).evaluate(inputs)
            if outcome.error:
                self._failed(rule, outcome, path or NOWHERE, kind)
            elif outcome.value is not True:
                where = ".".join(filter(None, (path, rule.path))) or NOWHERE
                cause = self._refusal(rule, inputs, where, kind, value)
                if rule.uses_old or not _ratchets(value, old, parent):
                    self._out.append(cause)
                else:
                    self.spared.append(str(cause))

    def _failed(self, rule: Rule, outcome: Outcome, path: str, kind: str) -> None:
        if outcome.out_of_budget:
            text = (
                f"'{_CALL_LIMIT}': no further validation rules will be run due to call cost "
                f"exceeds limit for rule: {rule.shown}"
            )
            self._out.append(invalid(path, kind, text))
            raise Exhausted
        if outcome.error.startswith("no such overload"):
            text = (
                f"'{outcome.error}': call arguments did not match a supported operator, function "
                f"or macro signature for rule: {rule.shown}"
            )
        else:
            text = f"{outcome.error} evaluating rule: {rule.shown}"
        self._out.append(invalid(path, kind, text))

    def _refusal(self, rule: Rule, inputs: Any, path: str, kind: str, value: Any) -> Cause:
        detail = "" if rule.message is None else _message(rule.message.evaluate(inputs))
        if not detail:
            message = (rule.said.get("message") or "").strip()
            detail = message or f"failed rule: {rule.shown}"
        match rule.said.get("reason"):
            case "FieldValueForbidden":
                return forbidden(path, detail)
            case "FieldValueRequired":
                return required(path, detail)
            case "FieldValueDuplicate" if kind not in ("object", "array"):
                return duplicate(path, value)
            case "FieldValueDuplicate":
                return Cause("FieldValueDuplicate", "Duplicate value", path)
        if kind in ("object", "array"):
            return Cause("FieldValueInvalid", f"Invalid value: {detail}", path)
        return invalid(path, value, detail)


def _ratchets(value: Any, old: Old | None, parent: tuple[Old, Any] | None) -> bool:
    if old is not None:
        return old.equals(value)
    return parent is not None and parent[0].equals(parent[1])


def _message(outcome: Outcome) -> str:
    """What a messageExpression made, empty where that is of no use."""
    if outcome.error or not isinstance(outcome.value, str):
        return ""
    text = outcome.value.strip()
    if len(text.encode("utf-8", "replace")) > MOST_MESSAGE or _breaks.search(text):
        return ""
    return text


def check_rules(
    place: Place,
    value: Any,
    before: Any,
    schema: Checker,
    out: list[Cause],
    *,
    path: str = "",
    ratchets: bool = True,
    effort: Effort | None = None,
) -> list[str]:
    """Look at an object by the rules of its schema.

    Args:
        place: the rules.
        value: the object.
        before: what is stored, None for a new object.
        schema: of the object.
        out: receives causes.
        path: of the object, where it is part of another.
        ratchets: whether what was wrong before and did not change is let be.
        effort: of the check, None for a new one.

    Returns:
        What was let be, as warnings.

    Raises:
        kubetrio.runtime.effort.Exhausted: it takes too much effort.
    """
    effort = Effort() if effort is None else effort
    old = Old(schema, before, effort) if ratchets and before is not None else None
    from kubetrio.cel.budget import Budget, budgeted

    walk = _Walk(out, effort)
    begun = monotonic()
    with suppress(Exhausted), budgeted(Budget(effort=effort)):
        walk.check(place, value, path, before, old, None)
    EVALUATION.observe(monotonic() - begun)
    return walk.spared
