"""From claims to users by expressions, in the words of kube-apiserver when they fail."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubetrio.auth.claimmapping import ClaimError, Mapper
from kubetrio.auth.jwtconfig import parse
from kubetrio.kinds.authentication.configuration import compiled
from kubetrio.machinery.identity import UserInfo

CLAIMS = {
    "sub": "jane", "n": 5, "on": True, "none": None, "list": ["a", "", "b"], "mixed": ["a", 1],
    "foo.bar": "dotted", "deep": {"a-b": {"c/d": ["x"]}}, "jti": "id-1",
}  # fmt: skip


def mapper(**given: Any) -> Mapper:
    """Of an issuer with some mappings and rules, as a file has them."""
    mappings = {
        "username": given.get("username", {"claim": "sub", "prefix": ""}),
        **{name: given[name] for name in ("groups", "uid", "extra") if name in given},
    }
    issuer = {
        "issuer": {"url": "https://issuer", "audiences": ["a"]},
        "claimMappings": mappings,
        "claimValidationRules": given.get("rules", []),
        "userValidationRules": given.get("user_rules", []),
    }
    file = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthenticationConfiguration",
        "jwt": [issuer],
    }
    ((config, made),) = compiled(parse(json.dumps(file).encode()), [])
    return Mapper(config, made)


def by(expression: str) -> dict[str, str]:
    return {"expression": expression}


def refusal(**given: Any) -> str:
    with pytest.raises(ClaimError) as caught:
        mapper(**given).user(CLAIMS)
    return str(caught.value)


def test_expressions_make_every_part_of_a_user() -> None:
    """Name, uid, groups and further attributes; empty ones are left out."""
    user = mapper(
        username=by("'x:' + claims.sub"),
        uid=by("string(claims.n)"),
        groups=by("claims.list"),
        extra=[
            {"key": "acme.io/a", "valueExpression": "claims.foo__dot__bar"},
            {"key": "acme.io/b", "valueExpression": "claims.deep.a__dash__b.c__slash__d"},
            {"key": "acme.io/c", "valueExpression": "claims.none"},
            {"key": "acme.io/d", "valueExpression": "''"},
            {"key": "acme.io/e", "valueExpression": "claims.on ? ['y', ''] : []"},
        ],
    ).user(CLAIMS)
    assert user == UserInfo(
        "x:jane", "5", ("a", "b"),
        {
            "authentication.kubernetes.io/credential-id": ("JTI=id-1",),
            "acme.io/a": ("dotted",), "acme.io/b": ("x",), "acme.io/e": ("y",),
        },
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"username": by("claims.n")}, "username claim expression must return a string"),
        ({"username": by("claims.list")}, "username claim expression must return a string"),
        ({"username": by("''")}, "oidc: empty username via CEL expression is not allowed"),
        (
            {"username": by("claims.gone")},
            (
                "oidc: error evaluating username claim expression: expression 'claims.gone' "
                "resulted in error: no such key: gone"
            ),
        ),
        ({"uid": by("claims.n")}, "uid claim expression must return a string"),
        ({"groups": by("claims.n")}, "expression must return a string or a list of strings"),
        ({"groups": by("claims.mixed")}, "expression must return a string or a list of strings"),
        ({"groups": by("claims.deep")}, "expression must return a string or a list of strings"),
        (
            {"extra": [{"key": "a.io/x", "valueExpression": "claims.n"}]},
            "oidc: error evaluating extra claim expression: claims.n: expression must return",
        ),
        (
            {"rules": [{"expression": "claims.n == 6", "message": "six"}]},
            (
                "oidc: error evaluating claim validation expression: validation expression "
                "'claims.n == 6' failed: six"
            ),
        ),
        (
            {"user_rules": [{"expression": "user.username != 'jane'", "message": "no jane"}]},
            (
                "oidc: error evaluating user info validation rule: validation expression "
                "'user.username != 'jane'' failed: no jane"
            ),
        ),
        ({"user_rules": [{"expression": "user.extra['x'] == ['y']"}]}, "no such key: x"),
        ({"user_rules": [{"expression": "'a' in user.groups"}]}, "failed: "),
    ],
)
def test_what_makes_no_user_is_refused_with_its_reason(given: Any, why: str) -> None:
    """Other types, missing claims, rules that do not hold."""
    assert why in refusal(**given)


def test_rules_see_the_user_that_was_made() -> None:
    """With prefixes and further attributes, whose names may be escaped."""
    made = mapper(
        username={"claim": "sub", "prefix": "p:"},
        extra=[{"key": "acme.io/x", "valueExpression": "'1'"}],
        rules=[{"expression": "claims.n == 5 && !has(claims.gone)"}],
        user_rules=[
            {"expression": "user.username == 'p:jane' && user.uid == ''"},
            {"expression": "user.extra.acme__dot__io__slash__x == ['1']"},
            {"expression": "user.groups.all(g, !g.startsWith('system:'))"},
        ],
    )
    assert made.user(CLAIMS).name == "p:jane"


def test_an_expression_that_loops_without_end_makes_no_user() -> None:
    """What it may cost is bounded."""
    claims = {**CLAIMS, "many": ["x"] * 300}
    rule = "claims.many.all(a, claims.many.all(b, claims.many.all(c, a == c)))"
    with pytest.raises(ClaimError):
        mapper(rules=[{"expression": rule}]).user(claims)
