"""What expressions evaluate to, and the words for what goes wrong."""

from __future__ import annotations

from typing import Any

import pytest
from examples import shortened
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.cel.engine import available
from kubetrio.cel.expressions import admission_scope, check
from kubetrio.cel.programs import Inputs, Outcome, Program
from kubetrio.cel.rewriting import TYPE_KEY
from kubetrio.cel.wording import OUT_OF_BUDGET
from kubetrio.wire.gojson import Float

pytestmark = pytest.mark.skipif(not available(), reason="needs the extra cel")

SCOPE = admission_scope(params=True, authorizer=True, composed=True, patches=True)
OBJECT = {
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {"replicas": 3, "none": None, "containers": [{"image": "a:1"}, {"image": "b:2"}]},
}


def evaluated(source: str, **values: Any) -> Outcome:
    inputs = {"object": OBJECT, "oldObject": None, "params": None, **values}
    return Program(check(source, SCOPE)).evaluate(Inputs(inputs))


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("object.metadata.name == 'web'", True),
        ("object.spec.containers.map(c, c.image)", ["a:1", "b:2"]),
        ("object.spec.containers.all(c, has(c.image) && !has(c.command))", True),
        ("has(object.spec.none) && !has(object.spec.nothing)", True),
        ("has(object.spec.none.x)", False),
        ("has(oldObject.metadata)", False),
        ("has(object.metadata.name.x)", False),
        ("object.?spec.?none.?x.orValue('d')", "d"),
        ("object.?spec.replicas.orValue(0)", 3),
        ("object.?absent.x.y.hasValue()", False),
        ("object.metadata.?labels['app'].orValue('')", "web"),
        ("oldObject == null && params == null", True),
        ("object.spec.replicas in [1, 2, 3]", True),
        ("'x' in object.metadata.labels || object.absent == 1 || true", True),
        ("false && object.absent == 1", False),
        ("1.0 == dyn(1) && 1 < 1.5", True),
        ("string(1.5) + string(true)", "1.5true"),
        ("'%s has %d'.format([object.metadata.name, 3])", "web has 3"),
        ("[3, 1, 2].isSorted()", False),
        ("type(object) == map", True),
        ("timestamp('2020-01-01T00:00:00Z') + duration('1h') > timestamp('2020-01-01T00:30:00Z')",
         True),
    ],
)  # fmt: skip
def test_values(source: str, value: Any) -> None:
    """Members that are missing are missing, whatever holds them."""
    assert evaluated(source) == Outcome(value)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("object.spec.absent > 1", "no such key: absent"),
        ("object.spec.none.x == 1", "no such key: x"),
        ("oldObject.metadata.name == ''", "no such key: metadata"),
        ("has(object.absent.x)", "no such key: absent"),
        ("object.spec.containers[7].image == ''", "index out of bounds: 7"),
        ("1 / (object.spec.replicas - 3) == 0", "division by zero"),
        ("1 % (object.spec.replicas - 3) == 0", "modulus by zero"),
        ("object.spec.replicas + 'a' == ''", "no such overload"),
        ("object.metadata.name && true", "no such overload"),
        ("int(object.metadata.name) == 1", "type conversion error from 'string' to 'int'"),
        ("object.spec.replicas + 9223372036854775807 > 0", "integer overflow"),
        ("object.?absent.value() == 1", "optional.none() dereference"),
        ("object.spec.containers.map(c, c.absent.x) == []", "no such key: absent"),
        ("[].max() == 1", "max called on empty list"),
        ("[1].map(x, x + object.spec.none.x) == []", "no such key: x"),
        ("[dyn(null)].map(x, x.y) == []", "no such key"),
    ],
)
def test_errors(source: str, error: str) -> None:
    """What fails is told as cel-go tells it."""
    assert evaluated(source) == Outcome(error=error)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("object.metadata.labels.all(k, v, k == 'app' && v == 'web')", True),
        ("object.spec.containers.exists(i, c, i == 1 && c.image == 'b:2')", True),
        ("object.spec.containers.existsOne(i, c, c.image != '')", False),
        ("{'a': 1, 'b': 2}.existsOne(k, v, v > 1)", True),
        ("[5, 6].all(i, n, [1, 2].exists(j, m, i < j && n > m) || i == 1)", True),
        ("[5, 6].transformList(i, n, i * n)", [0, 6]),
        ("[5, 6, 7].transformList(i, n, i > 0, n)", [6, 7]),
        ("[5, 6].transformMap(i, n, n + 1)", {0: 6, 1: 7}),
        ("{'a': 1, 'b': 2}.transformMap(k, v, k == 'b', string(v))", {"b": "2"}),
        ("{'a': 'x'}.transformMapEntry(k, v, {v: k})", {"x": "a"}),
        ("[1, 2].all(i, n, has(object.spec.none.x) || n > i)", True),
        ("[5].transformMap(i, n, duration('1h'))[0] == duration('60m')", True),
    ],
)
def test_loops_with_two_variables(source: str, value: Any) -> None:
    """Over keys and values of maps, and over indexes and items of lists."""
    assert evaluated(source) == Outcome(value)


def test_loops_with_two_variables_fail_like_others() -> None:
    """An error counts unless another turn decides; a key may be made once."""
    source = "[1, 2].all(i, n, n > 1 || object.absent)"
    assert evaluated(source) == Outcome(error="no such key: absent")
    assert evaluated("[1, 2].exists(i, n, n > 1 || object.absent)") == Outcome(True)
    twice = evaluated("{'a': 1, 'b': 1}.transformMapEntry(k, v, {v: k})")
    assert twice == Outcome(error="insert failed: key 1 already exists")
    numbers = {"l": list(range(300))}
    outcome = evaluated("object.l.all(i, a, object.l.all(j, b, a + b >= 0))", object=numbers)
    assert outcome.out_of_budget


def test_loops_end() -> None:
    """An expression that turns more than 10,000 times is stopped."""
    numbers = {"l": list(range(300))}
    outcome = evaluated("object.l.all(a, object.l.all(b, a + b >= 0))", object=numbers)
    assert outcome == Outcome(error=OUT_OF_BUDGET, out_of_budget=True)
    assert evaluated("object.l.all(a, a >= 0)", object=numbers) == Outcome(True)


def composed(*variables: tuple[str, str], source: str) -> Outcome:
    scope = SCOPE
    for name, text in variables:
        scope = scope.having(name, check(text, scope))
    program = Program(check(source, scope), scope.variables or ())
    return program.evaluate(Inputs({"object": OBJECT}))


def test_variables() -> None:
    """They may ask for one another, and inside of loops."""
    variables = (("n", "object.spec.replicas"), ("double", "variables.n * 2"))
    assert composed(*variables, source="variables.double + variables.n") == Outcome(9)
    assert composed(*variables, source="[1, 5].all(x, x < variables.double)") == Outcome(True)
    optional = ("labels", "object.metadata.?labels")
    assert composed(optional, source="variables.labels.?app.orValue('')") == Outcome("web")


def test_variables_are_evaluated_when_asked_for() -> None:
    """One that fails harms nobody who does not ask; else it is named."""
    bad = ("bad", "object.spec.absent.x")
    assert composed(bad, source="true || variables.bad == 1") == Outcome(True)
    blamed = 'composited variable "bad" fails to evaluate: no such key: absent'
    assert composed(bad, source="variables.bad == 1") == Outcome(error=blamed)
    worse = ("worse", "variables.bad + 1")
    blamed = f'composited variable "worse" fails to evaluate: {blamed}'
    assert composed(bad, worse, source="variables.worse == 1") == Outcome(error=blamed)


def test_made_objects_know_their_type() -> None:
    """Objects are maps with a member that names the type; optional members may be left out."""
    source = "Object{spec: Object.spec{n: 1, ?a: object.?absent, ?b: object.?metadata}}"
    assert evaluated(source).value == {
        TYPE_KEY: "Object",
        "spec": {TYPE_KEY: "Object.spec", "n": 1, "b": OBJECT["metadata"]},
    }


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_values_come_back_as_they_went_in(value: Any) -> None:
    """JSON values survive both ways; integers stay integers and floats floats."""
    found = evaluated("object.v", object={"v": value})
    assert found.error == ""
    assert repr(_sorted(found.value)) == repr(_sorted(value))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


@shortened(100)
@given(JSON)
def test_presence_never_fails_on_what_is_there(value: Any) -> None:
    """``has(v.a)`` is true for a map with the member, and false for everything else."""
    wanted = isinstance(value, dict) and "a" in value
    assert evaluated("has(object.v.a)", object={"v": value}) == Outcome(wanted)
    assert evaluated("object.v.?a.hasValue()", object={"v": value}) == Outcome(wanted)


def test_a_nul_hides_nothing() -> None:
    """The engine cuts texts at a NUL: it gets another character instead."""
    value = {"v": "good\0bad", "k\0ey": [{"a": "\0"}]}
    assert evaluated("object.v == 'good'", object=value) == Outcome(False)
    assert evaluated("object.v.endsWith('bad') && object.v.size() == 8", object=value).value
    assert evaluated("object.all(k, k == 'v' || k.size() == 4)", object=value).value
    assert value["v"] == "good\0bad"


@pytest.mark.parametrize(
    "first", ["'ab'", "object.metadata.name", "b'ab'", "[1]", "object.spec.containers"]
)
def test_what_grows_without_end_is_stopped(first: str) -> None:
    """Variables that are each twice another one cost memory, which is out of budget."""
    variables = [("v0", first)]
    variables += [(f"v{n}", f"variables.v{n - 1} + variables.v{n - 1}") for n in range(1, 28)]
    outcome = composed(*variables, source="size(variables.v27) > 0")
    assert outcome.out_of_budget
    assert outcome.error == OUT_OF_BUDGET
    assert composed(*variables[:12], source="size(variables.v11) > 2000") == Outcome(True)


def test_sums_of_many_parts() -> None:
    """A long sum is looked at once, and a list that a loop collects not at all."""
    source = " + ".join(["'a'", "object.metadata.name"] * 14)
    assert evaluated(source) == Outcome("aweb" * 14)
    items = {"l": list(range(2000))}
    assert evaluated("object.l.map(x, x + 1).size()", object=items) == Outcome(2000)


@pytest.mark.parametrize("at", ["object.spec.crew", "object.spec.sails[0].area"])
def test_numbers_that_keep_their_text_are_fractions(at: str) -> None:
    """A custom resource had them in it, and no expression about it could be evaluated."""
    spec = {"crew": 3, "sails": [{"area": Float("2.50")}, {"area": 10}]}
    outcome = evaluated(at, object={"spec": spec})
    assert outcome in (Outcome(3), Outcome(2.5))


def test_a_number_alone_may_keep_its_text() -> None:
    assert evaluated("params + 1.0", params=Float("2.5")) == Outcome(3.5)
