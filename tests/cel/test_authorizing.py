"""Questions of expressions to authorizers."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.cel.authorizing import Answer, Question, authorizer, resource_check
from kubetrio.cel.engine import available
from kubetrio.cel.expressions import admission_scope, check
from kubetrio.cel.programs import Inputs, Outcome, Program

pytestmark = pytest.mark.skipif(not available(), reason="needs the extra cel")
SCOPE = admission_scope(params=False, authorizer=True, composed=False, patches=True)


def evaluated(source: str, **values: Any) -> Outcome:
    return Program(check(source, SCOPE)).evaluate(Inputs({"object": {"n": 1}, **values}))


def test_questions_to_the_authorizer() -> None:
    """They are put with everything that was said, in the name of whoever is named."""
    asked: list[Question] = []

    def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer(question["verb"] == "get", "because")

    def answered(source: str) -> Any:
        values = {
            "authorizer": authorizer(),
            "authorizer.requestResource": resource_check({"resource": "pods", "name": "p"}),
        }
        return Program(check(source, SCOPE)).evaluate(Inputs(values, ask)).value

    told = "authorizer.group('apps').resource('deployments').subresource('scale').namespace('n')"
    assert answered(f"{told}.name('d').check('get').allowed()") is True
    assert answered("authorizer.path('/healthz').check('post').allowed()") is False
    assert answered("authorizer.requestResource.check('get').reason()") == "because"
    account = "authorizer.serviceAccount('ns', 'sa').group('').resource('pods').check('list')"
    assert answered(f"{account}.errored() || {account}.error() != ''") is False
    assert asked[:4] == [
        {
            "group": "apps",
            "resource": "deployments",
            "subresource": "scale",
            "namespace": "n",
            "name": "d",
            "verb": "get",
        },
        {"path": "/healthz", "verb": "post"},
        {"resource": "pods", "name": "p", "verb": "get"},
        {"serviceAccount": ["ns", "sa"], "group": "", "resource": "pods", "verb": "list"},
    ]


def test_without_an_authorizer() -> None:
    """A question that nobody answers is an error."""
    source = "authorizer.group('').resource('pods').check('get').allowed()"
    outcome = evaluated(source, authorizer=authorizer())
    assert outcome == Outcome(error="no authorizer is available")
