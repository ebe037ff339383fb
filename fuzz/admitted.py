"""Admission against a model: webhooks and policies that are drawn, and what they let through.

Target of ``python -m fuzz``: ``python -m fuzz admission --seconds 60``.  A round is a server in
this process whose webhooks answer in it too.  Each mutating webhook adds its letter to a text, so
that the text tells who was asked, in which order and how often.

Source of the rules: docs "Dynamic Admission Control" (order, reinvocation, match conditions,
failure policy, object selectors), docs "Validating Admission Policy".
"""

from __future__ import annotations

import json
import tempfile
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random  # noqa: TID251  (a type; the generator is seeded)
from typing import Any
from unittest import mock

from fuzz.api_model import ALICE, BOB, GROUP, RBAC
from fuzz.interrupting import config_of, run
from fuzz.rounds import Round, Target
from kubetrio.cel.engine import available
from kubetrio.config import Authorization
from kubetrio.env import seeded
from kubetrio.outgoing.client import Answer, CallError
from kubetrio.outgoing.target import Target as Outside
from kubetrio.testing.client import ADMIN, Client
from kubetrio.testing.server import InProcess, open_api

Object = dict[str, Any]

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"
SETS, REQUESTS = 2, 14  # of one round, and of one set of webhooks
NAMES, TEAMS = ("x", "y", "z"), ("red", "blue")
OPERATIONS = ("CREATE", "UPDATE", "DELETE")
LONGEST = 3  # text that the policy lets through
BEGIN = "-"
CONDITIONS = {
    "": "",
    "short": "object == null || size(object.data.trail) < 3",
    "never": "object == null && oldObject == null",
    "broken": "object.data.absent == 'x' || oldObject.data.absent == 'x'",
}
"""The last one cannot be evaluated, of any object."""


@dataclass(frozen=True)
class Hook:
    """A webhook.

    Args:
        letter: that it adds, and is told apart by.
        mutating: whether it is one that may.
        operations: that it is asked about.
        team: label of the objects that it is asked about; empty for all.
        condition: key of `CONDITIONS`.
        ignores: whether what cannot be asked is let through.
        again: whether it is asked again when the object was changed behind it.
        does: ``add``, ``leave``, ``deny`` or ``fail``.
    """

    letter: str
    mutating: bool
    operations: tuple[str, ...]
    team: str
    condition: str
    ignores: bool
    again: bool
    does: str

    @property
    def name(self) -> str:
        """Its name."""
        return f"{self.letter}.hooks.example.test"

    def as_json(self) -> Object:
        """As a configuration has it."""
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
        made: Object = {
            "name": self.name,
            "clientConfig": {"url": f"https://hooks.example.test/{self.letter}"},
            "rules": [{**rule, "operations": list(self.operations)}],
            "failurePolicy": "Ignore" if self.ignores else "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        if self.team:
            made["objectSelector"] = {"matchLabels": {"team": self.team}}
        if self.condition:
            named = {"name": self.condition, "expression": CONDITIONS[self.condition]}
            made["matchConditions"] = [named]
        if self.mutating:
            made["reinvocationPolicy"] = "IfNeeded" if self.again else "Never"
        return made


def drawn(rng: Random, letter: str, *, mutating: bool) -> Hook:
    """A webhook."""
    return Hook(
        letter=letter,
        mutating=mutating,
        operations=tuple(rng.sample(OPERATIONS, rng.randint(1, 3))),
        team=rng.choice(("", "", *TEAMS)),
        condition=rng.choice(("", "", "", "short", "short", "never", "broken")),
        ignores=rng.random() < 0.6,
        again=rng.random() < 0.5,
        does=rng.choice(("add", "add", "add", "leave", "deny", "fail", "fail"))
        if mutating
        else rng.choice(("leave", "leave", "leave", "deny", "fail")),
    )


# ------------------------------------------------------------------------ the model


class Refused(Exception):
    """The request is refused.

    Args:
        by: letters of webhooks that may have refused it; empty for the policy.
    """

    def __init__(self, by: str) -> None:
        super().__init__(by)
        self.by = by


@dataclass(frozen=True)
class Asked:
    """A request.

    Args:
        operation: of `OPERATIONS`.
        trail: the text that it sends; empty for a deletion.
        teams: labels of the object that is sent and of the one that is there.
    """

    operation: str
    trail: str
    teams: frozenset[str]


def concerned(hook: Hook, asked: Asked, trail: str) -> bool:
    """Whether a webhook is asked.

    Raises:
        Refused: its conditions cannot be evaluated, and it lets nothing through then.
    """
    if asked.operation not in hook.operations or (hook.team and hook.team not in asked.teams):
        return False
    if hook.condition == "broken" and not hook.ignores:
        raise Refused(hook.letter)
    if hook.condition == "short":
        return asked.operation == "DELETE" or len(trail) < 3
    return not hook.condition


def mutated(hooks: Sequence[Hook], asked: Asked, order: list[str]) -> str:
    """The text behind all mutating webhooks.

    Args:
        hooks: in their order.
        asked: the request.
        order: letters of those that are asked are added.

    Raises:
        Refused: one of them refuses.
    """
    trail, changes = asked.trail, 0
    seen: dict[str, int] = {}  # changes, by letter, when a webhook had been asked
    for first in (True, False):
        for hook in hooks if first or changes else ():
            if not concerned(hook, asked, trail):
                continue
            if not first and not (hook.again and changes > seen.get(hook.letter, changes)):
                continue
            order.append(hook.letter)
            if hook.does == "deny" or (hook.does == "fail" and not hook.ignores):
                raise Refused(hook.letter)
            if hook.does == "add" and asked.operation != "DELETE":
                trail += hook.letter
                changes += 1
            seen[hook.letter] = changes
    return trail


def validated(hooks: Sequence[Hook], asked: Asked, trail: str) -> list[str]:
    """Letters of the validating webhooks that are asked.

    Raises:
        Refused: some of them refuse, or the policy does.
    """
    if asked.operation != "DELETE" and len(trail) > LONGEST:
        raise Refused("")
    told, refusing = [], ""
    for hook in hooks:
        try:
            if not concerned(hook, asked, trail):
                continue
            told.append(hook.letter)
            if hook.does == "deny" or (hook.does == "fail" and not hook.ignores):
                refusing += hook.letter
        except Refused as refused:
            refusing += refused.by
    if refusing:
        raise Refused(refusing)
    return told


# ------------------------------------------------------------------------ the server's side


@dataclass
class Answering:
    """What answers as webhooks do.

    Attributes:
        hooks: by letter.
        asked: letters, in order.
        trails: texts that validating webhooks were shown.
        users: who is said to ask.
    """

    hooks: dict[str, Hook] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    trails: set[str] = field(default_factory=set)
    users: set[str] = field(default_factory=set)

    async def call(self, target: Outside, *, url: str, body: bytes, **_: Any) -> Answer:
        """Answer a review.

        Raises:
            CallError: the webhook fails.
        """
        del target
        request = json.loads(body)["request"]
        letter = url.partition("?")[0].rpartition("/")[2]
        self.asked.append(letter)
        self.users.add(request["userInfo"]["username"])
        hook = self.hooks.get(letter)
        response: Object = {"uid": request["uid"], "allowed": hook is None or hook.does != "deny"}
        operations: list[Object] = []
        if hook is None:  # the one of roles
            rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]}
            operations = [{"op": "add", "path": "/rules", "value": [rule]}]
        elif hook.does == "fail":
            raise CallError(f'Post "{url}": no answer')
        elif obj := request.get("object"):
            trail = obj["data"]["trail"]
            if not hook.mutating:
                self.trails.add(trail)
            elif hook.does == "add":
                operations = [{"op": "replace", "path": "/data/trail", "value": trail + letter}]
        if operations:
            patch = b64encode(json.dumps(operations).encode()).decode()
            response |= {"patchType": "JSONPatch", "patch": patch}
        review = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": response,
        }
        return Answer(200, {"content-type": "application/json"}, json.dumps(review).encode())


class Player:
    """Makes webhooks, sends requests and judges the answers.

    Args:
        client: of the administrator.
        bob: of a user without rights.
        answering: the webhooks.
        rng: draws.
        told: where what is found goes.
    """

    def __init__(
        self, client: Client, bob: Client, answering: Answering, rng: Random, told: Round
    ) -> None:
        self._client, self._bob, self._answering = client, bob, answering
        self._rng, self._told = rng, told
        self._live: dict[str, tuple[str, str]] = {}
        self._mutating: list[Hook] = []
        self._validating: list[Hook] = []

    async def configure(self, server: InProcess) -> None:
        """Have other webhooks."""
        rng, letters = self._rng, iter("abcdefgh")
        groups = [[drawn(rng, next(letters), mutating=True) for _ in range(2)] for _ in range(2)]
        self._mutating = [hook for group in groups for hook in group]
        self._validating = [drawn(rng, next(letters), mutating=False) for _ in range(3)]
        self._answering.hooks = {h.letter: h for h in (*self._mutating, *self._validating)}
        # Their order is that of the names of the configurations, not that in which they came.
        for number, group in reversed([*enumerate(groups)]):
            await self._configuration("Mutating", f"m{number}", group)
        await self._configuration("Validating", "v", self._validating)
        await server.settled()

    async def _configuration(self, kind: str, name: str, hooks: Sequence[Hook]) -> None:
        kind = f"{kind}WebhookConfiguration"
        path = f"{ADMISSION}/{kind.lower()}s"
        await self._client.request("DELETE", f"{path}/{name}")
        webhooks = [hook.as_json() for hook in hooks]
        body = {"kind": kind, "metadata": {"name": name}, "webhooks": webhooks}
        await made(self._client, path, {"apiVersion": ADMISSION.removeprefix("/apis/"), **body})

    async def ask(self) -> None:
        """Create, change or delete an object, or ask for that without a right to it."""
        rng, name = self._rng, self._rng.choice(NAMES)
        there = self._live.get(name)
        team = rng.choice(TEAMS)
        body: Object | None = {
            "metadata": {"name": name, "labels": {"team": team}},
            "data": {"trail": BEGIN},
        }
        headers = {}
        if there is None:
            method, path, operation = "POST", MAPS, "CREATE"
        elif rng.random() < 0.2:
            method, path, operation, body = "DELETE", f"{MAPS}/{name}", "DELETE", None
        else:
            method, path, operation = rng.choice(("PUT", "PATCH")), f"{MAPS}/{name}", "UPDATE"
            headers = {"Content-Type": MERGE} if method == "PATCH" else {}
        teams = {there[0]} if there else set()
        asked = Asked(
            operation,
            BEGIN if body else "",
            frozenset(teams | ({team} if body else set())),
        )
        self._forget()
        self._told.executions += 1
        if rng.random() < 0.1:
            answer = await self._bob.request(method, path, headers, json=body)
            self._told.require(answer.status == 403, f"bob: {answer.status}")
            self._told.require(not self._answering.asked, "webhooks are asked about who may not")
            return
        dry = rng.random() < 0.2
        answer = await self._client.request(
            method, path + ("?dryRun=All" if dry else ""), headers, json=body
        )
        after = self._judge(name, team, asked, answer.status, answer.body.decode())
        if not dry:
            self._live.pop(name, None)
            if after is not None:
                self._live[name] = after
        await self._look(name)

    def _forget(self) -> None:
        self._answering.asked.clear()
        self._answering.trails.clear()
        self._answering.users.clear()

    def _judge(
        self, name: str, team: str, asked: Asked, status: int, text: str
    ) -> tuple[str, str] | None:
        """Compare an answer with the model; return what is there behind it."""
        order: list[str] = []
        found, require = self._answering.asked, self._told.require
        said = f"{asked} of {[*self._mutating, *self._validating]}"
        before = self._live.get(name)
        require(self._answering.users <= {ADMIN.name}, f"asked as {self._answering.users}")
        try:
            trail = mutated(self._mutating, asked, order)
            validating = validated(self._validating, asked, trail)
        except Refused as refused:
            require(status >= 400, f"{said}: {status}, not refused by {refused.by}")
            hooks = [self._answering.hooks[letter] for letter in refused.by]
            named = any(hook.name in text or hook.condition == "broken" for hook in hooks)
            require(named or not hooks, f"{said}: {text}, refused by {refused.by}")
            require(found[: len(order)] == order, f"{said}: asks {found}, not {order}")
            return before
        require(status in (200, 201), f"{said}: {status} {text[:500]}")
        require(
            found[: len(order)] == order and sorted(found[len(order) :]) == validating,
            f"{said}: asks {found}, not {order} and {validating}",
        )
        require(self._answering.trails <= {trail}, f"{said}: {self._answering.trails}, not {trail}")
        return None if asked.operation == "DELETE" else (team, trail)

    async def _look(self, name: str) -> None:
        answer = await self._client.request("GET", f"{MAPS}/{name}")
        stored = answer.json()["data"]["trail"] if answer.status == 200 else None
        wanted = self._live[name][1] if name in self._live else None
        self._told.require(stored == wanted, f"{name} is {stored}, not {wanted}")


async def made(client: Client, path: str, body: Object) -> None:
    """Create an object.

    Raises:
        AssertionError: it is refused.
    """
    answer = await client.request("POST", path, json=body)
    if answer.status != 201:
        raise AssertionError(answer.body)


def policy() -> Iterator[tuple[str, Object]]:
    """A policy on the length of the text, and its binding, each with its path."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    condition = {"name": "ours", "expression": "has(object.data) && 'trail' in object.data"}
    expression = f"size(object.data.trail) <= {LONGEST}"
    yield (
        f"{ADMISSION}/validatingadmissionpolicies",
        {
            "metadata": {"name": "length"},
            "spec": {
                "matchConstraints": {
                    "resourceRules": [{**rule, "operations": ["CREATE", "UPDATE"]}]
                },
                "matchConditions": [condition],
                "validations": [{"expression": expression}],
            },
        },
    )
    yield (
        f"{ADMISSION}/validatingadmissionpolicybindings",
        {
            "metadata": {"name": "length"},
            "spec": {"policyName": "length", "validationActions": ["Deny"]},
        },
    )


async def escalate(server: InProcess, admin: Client, told: Round) -> None:
    """Have a webhook give a role more rights than its author has: it is refused."""
    rights = [{"apiGroups": [GROUP], "resources": ["roles"], "verbs": ["create"]}]
    await made(admin, f"{RBAC}/clusterroles", {"metadata": {"name": "author"}, "rules": rights})
    subject = {"apiGroup": GROUP, "kind": "User", "name": ALICE.name}
    reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "author"}
    bound = {"metadata": {"name": "author"}, "roleRef": reference, "subjects": [subject]}
    await made(admin, f"{RBAC}/clusterrolebindings", bound)
    hook = {
        **Hook("roles", True, ("CREATE",), "", "", False, False, "add").as_json(),
        "rules": [
            {"apiGroups": [GROUP], "apiVersions": ["v1"], "resources": ["roles"],
             "operations": ["CREATE"]},
        ],
    }  # fmt: skip
    body = {"kind": "MutatingWebhookConfiguration", "metadata": {"name": "roles"}}
    await made(admin, f"{ADMISSION}/mutatingwebhookconfigurations", {**body, "webhooks": [hook]})
    await server.settled()
    async with server.connect(certificate=ALICE) as alice:
        role = {"metadata": {"name": "more"}, "rules": []}
        answer = await alice.request("POST", f"{RBAC}/namespaces/default/roles", json=role)
        told.executions += 1
        told.require(answer.status == 403, f"a right comes by a webhook: {answer.status}")


async def play(seed: int, told: Round) -> None:
    """Play a round."""
    rng, answering = seeded(seed).rng, Answering()
    with tempfile.TemporaryDirectory(prefix="kubetrio-admitted-") as folder:
        config = replace(config_of(Path(folder)), authorization=Authorization(modes=("RBAC",)))
        async with (
            open_api(env=seeded(seed), config=config, kept=True) as server,
            server.connect(certificate=ADMIN) as admin,
            server.connect(certificate=BOB) as bob,
        ):
            for path, body in policy():
                await made(admin, path, body)
            with mock.patch.object(server.assembly.outgoing, "call", answering.call):
                player = Player(admin, bob, answering, rng, told)
                for _ in range(SETS):
                    await player.configure(server)
                    for _ in range(REQUESTS):
                        await player.ask()
                await escalate(server, admin, told)


def round_of(seed: int) -> Round:
    """The round of a seed."""
    told = Round()
    if available():
        run(lambda: play(seed, told), seed)
    return told


TARGET = Target(
    "admission",
    "Webhooks are asked in their order, about what they match, again where their object was "
    "changed behind them; one refusal refuses and stores nothing; and none of them gives its user "
    "a right.",
    round_of,
)
