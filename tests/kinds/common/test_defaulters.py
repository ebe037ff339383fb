"""Tables and the functions made of them."""

from __future__ import annotations

import pytest
from defaults.defaulted import TABLES, defaults_of
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.kinds.builtin import registry
from kubetrio.kinds.common.defaulters import compile_rules, round_up
from kubetrio.kinds.common.defaulting import Amounts, Default, Each, Json, each, within
from kubetrio.machinery.quantity import parse

POD = "io.k8s.api.core.v1.Pod"


@pytest.mark.parametrize("type_name", TABLES)
def test_every_table_fits_its_type(type_name: str) -> None:
    """Names in tables exist in the schema."""
    assert callable(defaults_of(type_name))


def test_an_unknown_member_is_told_at_once() -> None:
    """A table with a misspelt name does not compile."""
    with pytest.raises(KeyError, match="containerz"):
        compile_rules(POD, (each("spec.containerz", Default("name", "x")),))


@pytest.mark.parametrize(
    "rule", [Each("spec", ()), within("kind", Default("x", 1)), Amounts("spec")]
)
def test_a_rule_of_the_wrong_shape_is_told_at_once(rule: Each) -> None:
    """A struct is no list, a text is no struct, a struct is no map."""
    with pytest.raises(TypeError):
        compile_rules(POD, (rule,))


def test_defaults_are_not_shared_between_objects() -> None:
    """Two objects never hold the same list or object."""
    apply = compile_rules(POD, (within("spec", Default("securityContext", {})),))
    one: Json = {"spec": {}}
    two: Json = {"spec": {}}
    apply(one)
    apply(two)
    one["spec"]["securityContext"]["runAsUser"] = 1
    assert two == {"spec": {"securityContext": {}}}


def test_absent_parents_stay_absent() -> None:
    """A default makes no struct around itself."""
    obj: Json = {}
    compile_rules(POD, (within("spec.dnsConfig", Default("searches", ["a"])),))(obj)
    assert obj == {}


def test_kinds_without_tables_are_left_alone() -> None:
    """A ConfigMap has no defaults; nor has any kind without a table."""
    resource = registry().get("", "v1", "configmaps")
    assert resource is not None
    obj: Json = {"kind": "ConfigMap", "metadata": {"name": "x"}}
    resource.rules.default(obj)
    assert obj == {"kind": "ConfigMap", "metadata": {"name": "x"}}


@given(st.integers(0, 10**12), st.sampled_from(["n", "u", "m", "", "k", "Mi", "e-9", "e3"]))
@settings(max_examples=80, deadline=None)
def test_rounding_is_up_to_thousandths(number: int, suffix: str) -> None:
    """A rounded amount is a multiple of a thousandth, not less, and less than one more."""
    before = parse(f"{number}{suffix}")
    amounts: Json = {"x": str(before)}
    round_up(amounts)
    after = parse(amounts["x"])
    assert after.milli_value() == before.milli_value()
    assert parse(f"{after.milli_value()}m") == after
