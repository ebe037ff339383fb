"""Expressions that ask an authorizer whose answer has to be waited for."""

from __future__ import annotations

from collections.abc import Awaitable

import pytest
import trio
from policy_objects import CONFIGS, config, mutating, needs_engine, validating

from kubetrio.auth.authorize import ALLOWED, NO_OPINION
from kubetrio.env import Env
from kubetrio.machinery.identity import Attributes, Decision, Verdict
from kubetrio.server.parts import Parts
from kubetrio.testing.server import open_api


class Slow:
    """Answers later: yes for names that begin with ``good``, an error for ``broken``."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def authorize(self, attributes: Attributes) -> Verdict | Awaitable[Verdict]:
        return self._later(attributes) if attributes.resource == "doors" else NO_OPINION

    async def _later(self, attributes: Attributes) -> Verdict:
        self.asked.append(attributes.name)
        await trio.lowlevel.checkpoint()
        if attributes.name == "broken":
            return Verdict(Decision.NO_OPINION, "", "boom")
        return ALLOWED if attributes.name.startswith("good") else NO_OPINION


def door(name: str, quote: str = "'") -> str:
    """An expression that asks about one."""
    who = "authorizer.serviceAccount('a', 'b').group('').resource('doors')"
    return f"{who}.name({quote}{name}{quote}).check('open').allowed()"


@needs_engine
@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        (door("good"), True),
        (door("bad"), False),
        (f"!{door('bad')}", True),
        (f"{door('bad')} || {door('good')}", True),
        (f"{door('good')} && {door('bad')}", False),
        (f"{door('good')} ? {door('good2')} : {door('bad')}", True),
        (f"['good', 'good1', 'good2'].all(x, {door('x', quote='')})", True),
        (f"{door('broken').replace('.allowed()', '.errored()')}", True),
        (f"{door('broken').replace('.allowed()', '.error()')} == 'boom'", True),
        (f"{door('good').replace('.allowed()', '.errored()')}", False),
    ],
)  # fmt: skip
async def test_validations_wait(expression: str, *, allowed: bool) -> None:
    """And come to what they would if the answer had been there; nothing is asked twice."""
    slow = Slow()
    async with (
        open_api(parts=Parts(authorizers=[slow])) as server,
        server.connect() as client,
    ):
        expression = expression.replace(
            "authorizer.group", "authorizer.serviceAccount('a', 'b').group"
        )
        await validating(client, {"expression": expression})
        answer = await client.request("POST", CONFIGS, json=config("c"))
    assert answer.status == (201 if allowed else 422), answer.json()
    assert len(slow.asked) == len(set(slow.asked))


@needs_engine
async def test_mutations_and_conditions_wait() -> None:
    """Also with match conditions in front of them, and in a second policy."""
    slow = Slow()
    async with (
        open_api(parts=Parts(authorizers=[slow])) as server,
        server.connect() as client,
    ):
        label = f"Object{{metadata: Object.metadata{{labels: {{'open': string({door('good')})}}}}}}"
        conditions = [{"name": "x", "expression": door("good1")}]
        await mutating(client, label, matchConditions=conditions)
        answer = await client.request("POST", CONFIGS, json=config("c"))
        assert answer.status == 201, answer.json()
        assert answer.json()["metadata"]["labels"] == {"open": "true"}
    assert slow.asked == ["good1", "good"]


@needs_engine
async def test_policies_that_take_long() -> None:
    """They are evaluated in a thread indeed, with what they look at, and refuse or let through."""
    long = "lists.range(1000).all(x, object.data.a.replace('b', 'bb').size() > 0)"
    async with (
        open_api(env=Env()) as server,
        server.connect() as client,
    ):
        await validating(client, {"expression": f"{long} && object.data.a != 'bad'"})
        for text, status in (("x" * 500, 201), ("bad", 422)):
            made = {**config(f"c{len(text)}"), "data": {"a": text}}
            answer = await client.request("POST", CONFIGS, json=made)
            assert answer.status == status, answer.json()
