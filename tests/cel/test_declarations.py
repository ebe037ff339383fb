"""Every function, operator and macro of kube-apiserver's environment, by the version that added it.

The table beside this file is what ``environment.MustBaseEnvSet`` of Kubernetes 1.36 declares, with
the library for JSON patches; it was written by a program that asked it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kubetrio.cel.authorizing import Answer, authorizer
from kubetrio.cel.engine import available
from kubetrio.cel.expressions import admission_scope, check
from kubetrio.cel.programs import Inputs, Program

pytestmark = pytest.mark.skipif(not available(), reason="needs the extra cel")

TABLE: dict[str, Any] = json.loads((Path(__file__).parent / "cases/functions.json").read_text())
SCOPE = admission_scope(params=False, authorizer=True, composed=False, patches=True)
VALUES = {
    "bool": "true",
    "bytes": "b'a'",
    "double": "1.5",
    "int": "1",
    "uint": "1u",
    "string": "'1'",
    "google.protobuf.Duration": "duration('1s')",
    "google.protobuf.Timestamp": "timestamp('2020-01-01T00:00:00Z')",
    "dyn": "dyn(1)",
    "type": "int",
    "kubernetes.Quantity": "quantity('1')",
    "kubernetes.URL": "url('http://a/b')",
    "kubernetes.Semver": "semver('1.0.0')",
    "net.IP": "ip('1.2.3.4')",
    "net.CIDR": "cidr('1.0.0.0/8')",
    "kubernetes.NamedFormat": "format.named('uuid').value()",
    "kubernetes.authorization.Authorizer": "authorizer",
    "kubernetes.authorization.PathCheck": "authorizer.path('/a')",
    "kubernetes.authorization.GroupCheck": "authorizer.group('')",
    "kubernetes.authorization.ResourceCheck": "authorizer.group('').resource('p')",
    "kubernetes.authorization.Decision": "authorizer.path('/a').check('get')",
}
"""By types, an expression of each."""
OPERATORS = {
    "_<_": "{} < {}", "_<=_": "{} <= {}", "_>_": "{} > {}", "_>=_": "{} >= {}", "_==_": "{} == {}",
    "_!=_": "{} != {}", "_+_": "{} + {}", "_-_": "{} - {}", "_*_": "{} * {}", "_/_": "{} / {}",
    "_%_": "{} % {}", "_&&_": "{} && {}", "_||_": "{} || {}", "!_": "!{}", "-_": "-{}",
    "_?_:_": "{} ? {} : {}", "@in": "{} in {}", "_[_]": "{}[{}]", "_[?_]": "{}[?{}]",
}  # fmt: skip
HIDDEN = {
    # what macros and older versions of the language are made of; no expression can name them
    "@not_strictly_false", "__not_strictly_false__", "_in_", "in", "cel.@mapInsert",
    "@sortByAssociatedKeys",
    # its second argument is a name
    "_?._",
}  # fmt: skip
OWN = {
    # constants are looked into
    "string_to_duration": "duration('1s')",
    "int64_to_duration": "duration(1 + 0)",
    "string_to_timestamp": "timestamp('2020-01-01T00:00:00Z')",
    "string_format": "'%s'.format([dyn(1)])",
}
MACROS = {
    "all:2": "[1].all(x, x > 0)", "all:3": "[1].all(i, x, i < x)",
    "exists:2": "[1].exists(x, x > 0)", "exists:3": "[1].exists(i, x, i < x)",
    "existsOne:3": "[1].existsOne(i, x, i < x)", "exists_one:2": "[1].exists_one(x, x > 0)",
    "exists_one:3": "[1].exists_one(i, x, i < x)", "filter:2": "[1].filter(x, x > 0) == [1]",
    "has:1": "has({'a': 1}.a)", "map:2": "[1].map(x, x + 1) == [2]",
    "map:3": "[1].map(x, x > 0, x + 1) == [2]",
    "optMap:2": "optional.of(1).optMap(x, x + 1).value() == 2",
    "optFlatMap:2": "optional.of(1).optFlatMap(x, optional.of(x + 1)).value() == 2",
    "sortBy:2": "[2, 1].sortBy(x, x) == [1, 2]",
    "transformList:3": "[1].transformList(i, x, i + x) == [1]",
    "transformList:4": "[1].transformList(i, x, x > 0, i + x) == [1]",
    "transformMap:3": "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
    "transformMap:4": "{'a': 1}.transformMap(k, v, v > 0, v + 1) == {'a': 2}",
    "transformMapEntry:3": "{'a': 1}.transformMapEntry(k, v, {v: k}) == {1: 'a'}",
    "transformMapEntry:4": "{'a': 1}.transformMapEntry(k, v, v > 0, {v: k}) == {1: 'a'}",
}  # fmt: skip


def plain(kind: str) -> str:
    """A type with whole numbers for its parameters."""
    return re.sub(r"<\w+>", "int", kind)


def value_of(kind: str) -> str:
    if kind in VALUES:
        return VALUES[kind]
    name, _, inside = kind.removesuffix(")").partition("(")
    match name:
        case "list":
            return f"[{value_of(inside)}]"
        case "map":
            key, value = inside.split(", ", 1)
            return f"{{{value_of(key)}: {value_of(value)}}}"
        case "optional_type":
            return f"optional.of({value_of(inside)})"
        case _:
            assert name == "type"
            return inside


def source_of(name: str, overload: str, arguments: list[str], *, is_method: bool) -> str:
    if overload in OWN:
        return OWN[overload]
    values = [value_of(plain(kind)) for kind in arguments]
    if name in OPERATORS:
        return OPERATORS[name].format(*values)
    if is_method:
        return f"{values[0]}.{name}({', '.join(values[1:])})"
    return f"{name}({', '.join(values)})"


FUNCTIONS = [
    pytest.param(
        source_of(name, overload, arguments, is_method=is_method),
        plain(result),
        id=f"{version}-{overload}",
    )
    for name, overload, is_method, arguments, result, version in TABLE["functions"]
    if name not in HIDDEN
]
LOOSE = re.compile(
    r"\.(distinct|reverse|slice|flatten)\(|^optional\.none|^format\.|\.validate\(|unwrap"
)
"""Calls whose results the engine cannot type: they are of any type until they are evaluated."""


@pytest.mark.parametrize(("source", "result"), FUNCTIONS)
def test_function(source: str, result: str) -> None:
    checked = check(source, SCOPE)
    if not LOOSE.search(source):
        assert checked.type.replace("google.protobuf.", "").lower() == result.replace(
            "google.protobuf.", ""
        ).lower().replace("null_type", "null")
    if result.startswith("optional_type"):
        checked = check(f"({source}).hasValue()", SCOPE)  # nothing hands an optional out
    outcome = Program(checked).evaluate(
        Inputs({"authorizer": authorizer(), "object": {}}, lambda _: Answer(allowed=True))
    )
    assert "overload" not in outcome.error, outcome.error
    assert "no such" not in outcome.error


@pytest.mark.parametrize("key", [key for key, _ in TABLE["macros"]])
def test_macro(key: str) -> None:
    source = MACROS[key.rpartition(":")[0]]
    assert Program(check(source, SCOPE)).evaluate(Inputs({})).value is True


@pytest.mark.parametrize("source", ["cel.bind(x, 1, x)", "math.abs(1)", "base64.encode(b'a')"])
def test_nothing_more(source: str) -> None:
    """Libraries that kube-apiserver leaves out are not there."""
    with pytest.raises(Exception, match="undeclared reference"):
        check(source, SCOPE)
