"""What compiles, with which type, and what is said of what does not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.cel.checking import HIDDEN_OPTIONAL
from kubetrio.cel.engine import available
from kubetrio.cel.expressions import (
    DEVICE,
    CompileError,
    Scope,
    admission_scope,
    check,
    result_error,
)

pytestmark = pytest.mark.skipif(not available(), reason="needs the extra cel")

POLICY = admission_scope(params=True, authorizer=True, composed=True, patches=False)
PATCHES = admission_scope(params=False, authorizer=True, composed=True, patches=True)
BARE = admission_scope(params=False, authorizer=False, composed=False, patches=False)
UNFINISHED = (
    "Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', "
    "'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


def refused(source: str, scope: Scope) -> str:
    with pytest.raises(CompileError) as caught:
        check(source, scope)
    return str(caught.value)


def told(*problems: tuple[int, int, str], source: str) -> str:
    """Problems with line and column, as kube-apiserver lists them."""
    lines = source.split("\n")
    texts = [
        f"ERROR: <input>:{line}:{column}: {text}\n | {lines[line - 1]}\n | {'.' * (column - 1)}^"
        for line, column, text in problems
    ]
    return "compilation failed: " + "\n".join(texts)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("object.spec.replicas > 3", "bool"),
        ("object.spec", "dyn"),
        ("request.operation", "string"),
        ("request.userInfo.groups", "list(string)"),
        ("request.kind", "kubernetes.GroupVersionKind"),
        ("namespaceObject.metadata.labels", "map(string, string)"),
        ("null", "null_type"),
        ("[duration('1h')]", "list(duration)"),
        ("timestamp('2020-01-01T00:00:00Z')", "timestamp"),
        ("type(1)", "type(int)"),
        ("object.?spec", "optional_type(dyn)"),
        ("quantity('1Gi')", "kubernetes.Quantity"),
        ("1u", "uint"),
        ("b'x'", "bytes"),
        ("1.5", "double"),
        ("params.x == 1 || oldObject == null", "bool"),
        ("authorizer.requestResource.check('get').allowed()", "bool"),
    ],
)
def test_types(source: str, kind: str) -> None:
    """Types are in the notation of cel-go."""
    assert check(source, POLICY).type == kind


def test_what_there_is_depends_on_the_place() -> None:
    """Parameters, the authorizer and variables are undeclared where there are none."""
    for name in ("params", "authorizer", "variables"):
        text = f"undeclared reference to '{name}' (in container '')"
        source = f"{name}.x"
        assert refused(source, BARE) == told((1, 1, text), source=source)


@pytest.mark.parametrize(
    ("source", "problems"),
    [
        (
            "object.foo +",
            [
                (1, 13, UNFINISHED)
            ],
        ),
        ("1 + 'a'", [(1, 3, "found no matching overload for '_+_' applied to '(int, string)'")]),
        ("request.foo", [(1, 8, "undefined field 'foo'")]),
        (
            "b.c.d == 1 ||\n  a",
            [
                (1, 1, "undeclared reference to 'b' (in container '')"),
                (2, 3, "undeclared reference to 'a' (in container '')"),
            ],
        ),
        ("[1, 'a']", [(1, 5, "expected type 'int' but found 'string'")]),
        ("{'a': 1, 'b': true}", [(1, 15, "expected type 'int' but found 'bool'")]),
        ("{'a': 1, 2: 1}", [(1, 10, "expected type 'string' but found 'int'")]),
        ("duration('soon')", [(1, 10, "invalid duration argument")]),
        ("timestamp('today')", [(1, 11, "invalid timestamp argument")]),
        ("'a'.matches('(')", [(1, 13, "invalid matches argument")]),
        ("math.abs(1)", [
            (1, 1, "undeclared reference to 'math' (in container '')"),
            (1, 9, "undeclared reference to 'abs' (in container '')"),
        ]),
    ],
)  # fmt: skip
def test_what_is_wrong(source: str, problems: list[tuple[int, int, str]]) -> None:
    """Every problem is told with its place, in order."""
    assert refused(source, POLICY) == told(*problems, source=source)


def test_mixed_types_pass_through_dyn() -> None:
    """Where all types are open, an aggregate may hold anything; open is not the same as known."""
    assert check("[dyn(1), dyn('a'), object.x]", POLICY).type == "list(dyn)"
    assert "expected type 'int' but found 'dyn'" in refused("[1, object.x]", POLICY)


def test_variables_have_the_type_of_their_expression() -> None:
    """Also that of an optional, and later variables see earlier ones."""
    scope = POLICY.having("name", check("request.name", POLICY))
    scope = scope.having("labels", check("object.metadata.?labels", scope))
    scope = scope.having("long", check("variables.name + variables.name", scope))
    assert check("variables.long", scope).type == "string"
    assert check("variables.labels.hasValue()", scope).type == "bool"
    source = "variables.name + 1"
    text = "found no matching overload for '_+_' applied to '(string, int)'"
    assert refused(source, scope) == told((1, 16, text), source=source)
    source = "variables.other"
    assert refused(source, scope) == told((1, 10, "undefined field 'other'"), source=source)


def test_a_loop_may_declare_a_name_again() -> None:
    """``variables`` inside of such a loop is not the variables of the policy."""
    checked = check("[1].all(variables, variables > 0)", POLICY)
    assert checked.type == "bool"
    assert not checked.uses


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("Object{}", "Object"),
        ("Object{spec: Object.spec{replicas: 3}}", "Object"),
        ("Object{ metadata : Object.metadata {labels: {'a.Object.b{': 'x'}}}", "Object"),
        ("[JSONPatch{op: 'remove', path: '/spec/' + jsonpatch.escapeKey('a/b')}]",
         "list(JSONPatch)"),
        ("has(object.x) ? [JSONPatch{op: 'add', path: '/x', value: [1]}] : []", "list(JSONPatch)"),
    ],
)  # fmt: skip
def test_objects_and_patches(source: str, kind: str) -> None:
    """Any member of any object may be set; a patch has four members."""
    assert check(source, PATCHES).type == kind


def test_loops_with_two_variables() -> None:
    """They are of the type of their result; what they are over and what they test is checked."""
    assert check("object.m.all(k, v, v == k)", POLICY).type == "bool"
    assert check("[1].transformList(i, v, v)", POLICY).type == "list(dyn)"
    assert check("object.m.transformMap(k, v, v > 1, [v])", POLICY).type == "map(dyn, dyn)"
    assert "found no matching overload for 'all'" in refused("1.all(k, v, true)", POLICY)
    assert "found no matching overload for 'exists'" in refused("[1].exists(k, v, 'a')", POLICY)
    assert "undeclared reference to 'w'" in refused("[1].all(k, v, w > 1)", POLICY)


@pytest.mark.parametrize(
    "source",
    [
        "[object.?a]",
        "{'a': object.?a}",
        "[1, 2].map(x, object.?a)",
        "dyn(object.?a)",
        "[1].transformMap(i, x, object.?a)",
        "object.x ? object.?a : object.b",
        "Object{spec: object.?spec}",
    ],
)
def test_optionals_are_not_hidden(source: str) -> None:
    """They are refused where they could not be told from other values: the engine would crash."""
    assert HIDDEN_OPTIONAL in refused(source, PATCHES)


def test_optionals_may_be_elements() -> None:
    """Those that are left out when there is nothing in them are no values."""
    assert check("[?object.?a, dyn(1)]", PATCHES).type == "list(dyn)"
    assert check("Object{?spec: object.?spec}", PATCHES).type == "Object"
    assert check("object.x ? object.?a : optional.none()", PATCHES).type == "optional_type(dyn)"
    assert check("object.?a.optMap(x, x + 1).orValue(1)", PATCHES).type == "int"


def test_objects_and_patches_are_for_mutations() -> None:
    """Elsewhere there are no such types; a patch has no other members and no other types."""
    assert "undeclared reference to 'Object'" in refused("Object{}", POLICY)
    assert "undefined field 'oq'" in refused("[JSONPatch{oq: 'add'}]", PATCHES)
    wrong = "expected type of field 'op' is 'string' but provided type is 'int'"
    assert wrong in refused("[JSONPatch{op: 1}]", PATCHES)


def test_selectors_of_devices() -> None:
    """A device has a driver, attributes and capacities, each in a domain."""
    assert check("device.driver == 'a.example.com'", DEVICE).type == "bool"
    assert check("device.attributes['a.example.com'].size > 1", DEVICE).type == "bool"
    source = "device.capacity['a'].memory.isGreaterThan(quantity('1Gi'))"
    assert check(source, DEVICE).type == "bool"
    assert "undefined field 'name'" in refused("device.name", DEVICE)


def test_wrong_results() -> None:
    """One type or one of several may be wanted, or any."""
    assert result_error("int", ()) == ""
    assert result_error("bool", ("bool",)) == ""
    assert result_error("int", ("bool",)) == "must evaluate to bool but got int"
    wanted = ("string", "null_type")
    assert result_error("int", wanted) == "must evaluate to one of [string null_type] but got int"


def test_a_deep_expression_is_refused() -> None:
    """The parser does not follow for ever."""
    assert refused("(" * 300 + "1" + ")" * 300, BARE).startswith("compilation failed: ERROR: ")


TOKENS = (
    "object params .a .?a ['a'] [?0] ( ) [ ] { } , : ? + - ! && || == in 1 2u 'a' null true has( "
    "dyn( size( .all( .map( .transformMap( .orValue( x, k, v, x k Object{ a: } optional.of( "
    "quantity( '1' .find( .sum() request variables"
)


@given(st.lists(st.sampled_from(sorted(set(TOKENS.split()))), max_size=12))
def test_anything_compiles_or_is_refused(tokens: list[str]) -> None:
    """Whatever is written, the answer is a type or a list of problems with their places."""
    source = " ".join(tokens)
    try:
        answer = check(source, PATCHES).type
    except CompileError as error:
        answer = str(error)
    else:
        assert answer
        return
    assert re.match(r"compilation failed: ERROR: <input>:\d+:\d+: \S", answer)
