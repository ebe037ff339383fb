"""Expressions that would take all memory or all time, wherever expressions are evaluated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kubetrio.auth.claimexpressions import Expression, ExpressionError, inputs_of
from kubetrio.auth.webhook.conditions import Conditions
from kubetrio.auth.webhook.conditions import compiled as condition
from kubetrio.cel.budget import ON_LOOP, PER_CALL, Budget, budgeted
from kubetrio.cel.engine import available
from kubetrio.cel.expressions import Checked, Scope, admission_scope, check
from kubetrio.cel.programs import Inputs, Outcome, Program
from kubetrio.cel.spending import ROWS, counting
from kubetrio.cel.wording import OUT_OF_BUDGET
from kubetrio.machinery.status import Cause
from kubetrio.plugins.dynamic.conditions import MatchConditions
from kubetrio.plugins.policies.policies import policy_scope
from kubetrio.plugins.policies.validating import Validations
from kubetrio.runtime.effort import STRIDE, Effort, Exhausted, Looking
from kubetrio.structural.celrules import check_rules, compiled
from kubetrio.structural.values import Checker

pytestmark = pytest.mark.skipif(not available(), reason="needs the extra cel")

SCOPE = admission_scope(params=False, authorizer=False, composed=True, patches=False)
OBJECT: dict[str, Any] = {
    "s": "x" * 1000,
    "big": "x" * 1_000_000,
    "also": "x" * 999_999 + "y",
    "l": list(range(100)),
    "many": list(range(5000)),
    "words": [f"w{at}" for at in range(2000)],
    "map": {f"k{at}": {"a": at} for at in range(20_000)},
}
TURNS = 30
NESTED: dict[str, Callable[[str], str]] = {
    "sum": lambda it: f"{it} + {it}",
    "replace": lambda it: f"{it}.replace('x', 'xx')",
    "replace nothing": lambda it: f"{it}.replace('', 'yy')",
    "join": lambda it: f"[{it}, {it}].join('-')",
    "format": lambda it: f"'%s%s'.format([{it}, {it}])",
    "format of lists": lambda it: f"'%s'.format([[{it}, {it}]])",
    "quote": lambda it: f"strings.quote(strings.quote({it}))",
    "bytes": lambda it: f"string(bytes({it})) + {it}",
    "list": lambda it: f"[dyn({it}), dyn({it})]",
    "map": lambda it: f"{{'a': dyn({it}), 'b': dyn({it})}}",
    "flatten": lambda it: f"[dyn({it}), dyn({it})].flatten()",
    "sum of lists": lambda it: f"[dyn({it})] + [dyn({it})]",
    "loop": lambda it: f"object.l.map(x, dyn({it}))",
}
"""What doubles a value each time."""
AT_ONCE = [
    "lists.range(9999).map(x, object.s.replace('x', 'yyyyyyyyyyyyyyyyyyyy')).size() > 0",
    "lists.range(9999).map(x, object.s + object.s).size() > 0",
    "lists.range(9999).map(x, object.map).size() > 0",
    "lists.range(1000000000).size() > 0",
    "'%.1000000000f'.format([1.5]) == ''",
    "object.many.all(x, object.big == object.also || true)",
    "object.many.all(x, object.big.size() > 5)",
    "object.many.all(x, object.big.contains('y') == false)",
    "object.many.all(x, object.big.lowerAscii() != '')",
    "object.many.all(x, object.big < object.also || true)",
    "object.many.all(x, x in object.many)",
    "object.many.all(x, object.map == object.map)",
    "object.words.all(x, object.s.matches('(a?){200}' + x) || true)",
    "object.words.all(x, object.big.matches('a' + x) || matches(object.big, x) || true)",
    "object.words.all(x, object.big.matches('^(x|y)+z$') || true)",
    "object.words.all(x, !x.matches('[^a]{900}' + x))",
    "sets.equivalent(object.words, object.words) && sets.contains(object.many, object.many)",
    "object.many.exists_one(x, object.many.indexOf(x) == 5)",
    "object.many.all(x, [object.many].all(y, y.distinct().sort().reverse().size() > 0))",
]
"""What takes seconds or gigabytes in a single expression."""


def doubled(double: Callable[[str], str], times: int = TURNS) -> list[tuple[str, str]]:
    """Variables of which each is twice the one before."""
    later = [(f"v{at}", double(f"variables.v{at - 1}")) for at in range(1, times)]
    return [("v0", "object.s"), *later]


def scope_of(variables: list[tuple[str, str]]) -> Scope:
    scope = SCOPE
    for name, source in variables:
        scope = scope.having(name, check(source, scope))
    return scope


def evaluated(source: str, scope: Scope = SCOPE, **more: Any) -> Outcome:
    checked: Checked = check(source, scope)
    inputs = Inputs({"object": {**OBJECT, **more}})
    return Program(checked, scope.variables or ()).evaluate(inputs)


OVER = Outcome(error=OUT_OF_BUDGET, out_of_budget=True)


@pytest.mark.parametrize("name", NESTED)
def test_values_that_double(name: str) -> None:
    scope = scope_of(doubled(NESTED[name]))
    last = f"variables.v{TURNS - 1}"
    assert evaluated(f"{last} == dyn({last})", scope) == OVER


@pytest.mark.parametrize("source", AT_ONCE)
def test_much_at_once(source: str) -> None:
    assert evaluated(source) == OVER


@pytest.mark.parametrize("source", AT_ONCE[:4])
def test_no_operator_hides_it(source: str) -> None:
    assert evaluated(f"({source}) || true") == OVER


@pytest.mark.parametrize(
    "source",
    [
        "object.containers.all(c, c.name.size() <= 63 && c.image.contains(':'))",
        "object.containers.all(c, object.containers.exists_one(d, d.name == c.name))",
        "object.containers.map(c, {'n': c.name, 'o': object.s}).size() == 90",
        "object.containers.all(c, c.image.matches('^[a-z0-9/.:-]+$'))",
        "object.containers.map(c, c.name).sort().distinct().join(',').size() > 0",
        "'%s of %s'.format([object.containers[0].name, object.s]).size() > 5",
        "object.big == object.big && object.map == object.map && object.big.size() > 1",
        "object.containers.map(c, [c.name, c.image]).flatten().size() == 180",
    ],
)
def test_what_people_write(source: str) -> None:
    """Of ninety containers in an object of 20 KB, and of one of two megabytes."""
    containers = [{"name": f"c{at}", "image": f"registry/i{at}:v1"} for at in range(90)]
    whole = {**OBJECT, "containers": containers}
    small = {"s": "x" * 15_000, "containers": containers}
    inputs = Inputs({"object": whole if "big" in source else small})
    assert Program(check(source, SCOPE)).evaluate(inputs) == Outcome(True)


def test_all_expressions_together() -> None:
    """What one took, the next one has not."""
    program = Program(check("object.big.replace('x', 'xx').size() > 0", SCOPE))
    inputs = Inputs({"object": OBJECT})
    with budgeted(Budget(total=PER_CALL)) as budget:
        outcomes = [program.evaluate(inputs) for _ in range(20)]
    assert outcomes[0] == Outcome(True)
    assert outcomes[-1] == OVER
    assert budget.left < 0


# --- all places where expressions are evaluated ---


def test_policies() -> None:
    """Variables of a policy, its conditions, validations, messages and annotations."""
    names = doubled(NESTED["replace"])
    variables = [{"name": name, "expression": source} for name, source in names]
    last = f"variables.v{TURNS - 1}"
    inputs = Inputs({"object": OBJECT})
    empty = [{"expression": f"{last} == ''"}]
    spec: dict[str, Any] = {"variables": variables, "validations": empty}
    [refusal] = Validations(spec).run(inputs).refusals
    assert refusal.message == OUT_OF_BUDGET
    conditions = {"variables": variables, "matchConditions": empty}
    scope = policy_scope(conditions, patches=False)
    assert MatchConditions(conditions, scope).match(inputs).error == OUT_OF_BUDGET
    told = {"expression": "false", "messageExpression": last, "message": "as written"}
    [refusal] = Validations({"variables": variables, "validations": [told]}).run(inputs).refusals
    assert refusal.message == "as written"
    noted = {"variables": variables, "auditAnnotations": [{"key": "a", "valueExpression": last}]}
    assert Validations(noted).run(inputs).errors == [OUT_OF_BUDGET]


def test_conditions_of_webhooks() -> None:
    """Of admission without variables, and of authorization."""
    spec = {"matchConditions": [{"expression": source} for source in AT_ONCE[:1]]}
    scope = admission_scope(params=False, authorizer=False, composed=False, patches=False)
    found = MatchConditions(spec, scope).match(Inputs({"object": OBJECT}))
    assert found.error == OUT_OF_BUDGET
    source = "lists.range(9999).map(x, request.user.replace('x', 'yyyyyyyyyy')).size() > 0"
    matched = Conditions([condition(source)]).match({"user": "x" * 1000})
    assert matched.error.endswith(OUT_OF_BUDGET)


@pytest.mark.parametrize(
    "source",
    [
        "lists.range(9999).map(x, claims.s.replace('x', 'yyyyyyyyyy')).size() > 0",
        "claims.l.all(x, claims.l.all(y, claims.s.matches(claims.s + string(y)) || true))",
    ],
)
def test_claims(source: str) -> None:
    claims = {"s": "x" * 1000, "l": list(range(50))}
    with pytest.raises(ExpressionError, match="cost budget"):
        Expression(source, "claims").evaluate(inputs_of("claims", claims))


def test_what_is_evaluated_on_the_loop_alone_takes_less() -> None:
    assert ON_LOOP * 10 <= PER_CALL


@pytest.mark.parametrize("rule", [one.replace("object.", "self.") for one in AT_ONCE[::3]])
def test_rules(rule: str) -> None:
    """Of a definition that was stored, whatever its rules are estimated to cost."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            **{name: {"type": "string"} for name in ("s", "big", "also")},
            **{name: {"type": "array", "items": {"type": "integer"}} for name in ("l", "many")},
            "words": {"type": "array", "items": {"type": "string"}},
            "map": {
                "type": "object",
                "additionalProperties": {
                    "type": "object",
                    "properties": {"a": {"type": "integer"}},
                },
            },
        },
        "x-kubernetes-validations": [{"rule": rule}],
    }
    place = compiled(schema, whole=False)
    assert place is not None
    out: list[Cause] = []
    check_rules(place, OBJECT, None, Checker(schema), out)
    [cause] = out
    assert "call cost exceeds limit for rule" in cause.message


# --- looking up ---


class Elsewhere(Exception):
    pass


def test_a_rule_looks_up_while_it_is_evaluated() -> None:
    """What a look raises ends it, and comes out as it is."""
    looked = 0

    def look() -> None:
        nonlocal looked
        looked += 1
        if looked > 1:
            raise Elsewhere

    source = "lists.range(3000).all(x, object.s.replace('x', 'yyy').size() > 0)"
    program = Program(check(source, SCOPE))
    inputs = Inputs({"object": {"s": "x" * 100}})
    assert program.evaluate(inputs) == Outcome(True)
    with Looking(look), budgeted(Budget()), pytest.raises(Elsewhere):
        program.evaluate(inputs)


def test_effort_is_spent_beside_the_budget() -> None:
    program = Program(check("object.big.replace('x', 'xx').size() > 0", SCOPE))
    with budgeted(Budget(effort=Effort(10 * STRIDE))), pytest.raises(Exhausted):
        program.evaluate(Inputs({"object": OBJECT}))


def test_what_the_engine_keeps_of_calls() -> None:
    """It keeps arguments for ever: what is called at every turn has none, lists are emptied."""
    assert all(not arguments for _, arguments, _, _ in ROWS)
    seen: list[Any] = []
    handed = [1, 2]

    def seeing(items: list[int]) -> list[int]:
        seen.extend(items)
        return items

    assert counting(seeing)(handed) == [1, 2]
    assert (seen, handed) == ([1, 2], [])
