"""Questions of expressions to authorizers of which some have to be waited for.

Expressions do not wait.  A question whose answer is not there yet is an error in the evaluation
that puts it; the answer is waited for beside it, kept for the rest of the request, and the
evaluation is done again from its beginning.  Within one evaluation no answer changes.

An evaluation that takes long for the event loop is done again in a thread, and so are those that
come behind it for the same request.  No question is put to an authorizer there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from kubetrio.auth.selectors import Selected
from kubetrio.cel.authorizing import Answer, Question
from kubetrio.cel.budget import PER_REQUEST, Budget, budgeted
from kubetrio.cel.wording import OUT_OF_BUDGET
from kubetrio.env import RunBlocking, end_if_cancelled
from kubetrio.machinery.asking import Authorize
from kubetrio.machinery.identity import AUTHENTICATED, Attributes, Decision, UserInfo, Verdict
from kubetrio.machinery.selectors import Selectors
from kubetrio.runtime.effort import Looking

T = TypeVar("T")

MOST_WAITED = 28
"""Answers that one request may wait for: kube-apiserver lets the expressions of a request cost
10,000,000, and a question to an authorizer costs 350,000."""


class Answers:
    """What authorizers answered to the expressions of one request.

    Args:
        authorize: the server's authorizers.
        thread: runs evaluations that take long; None to have them on the event loop.
    """

    def __init__(self, authorize: Authorize, thread: RunBlocking | None = None) -> None:
        self._authorize = authorize
        self._thread = thread
        self._away = False
        self._left = PER_REQUEST
        self._wanted: list[Attributes] = []
        self._known: dict[Attributes, Verdict] = {}
        self._asked: dict[Attributes, Awaitable[Verdict]] = {}
        self._waited = 0

    def ask(self, user: UserInfo, question: Question) -> Answer:
        """Answer a question of an expression.

        Args:
            user: in whose name it is put.
            question: it.

        Raises:
            ValueError: the answer is not known yet, or there were too many questions.
        """
        asked = _attributes(user, question)
        verdict = self._known.get(asked)
        if verdict is None:
            if self._away:
                self._wanted.append(asked)
                raise ValueError("not answered yet")
            verdict = self._found(asked)
            if verdict is None:
                raise ValueError("not answered yet")
        allowed = verdict.decision is Decision.ALLOW
        return Answer(allowed, verdict.reason, verdict.error)

    def _found(self, asked: Attributes) -> Verdict | None:
        """What the authorizers say at once, None for what has to be waited for.

        Raises:
            ValueError: there were too many questions.
        """
        if asked in self._asked:
            return None
        if self._waited >= MOST_WAITED:
            raise ValueError(OUT_OF_BUDGET)
        decision = self._authorize(asked)
        if isinstance(decision, Verdict):
            self._known[asked] = decision
            return decision
        self._waited += 1
        self._asked[asked] = decision
        return None

    async def decided(self, evaluate: Callable[[], T]) -> T:
        """What an evaluation comes to when all its questions are answered.

        Args:
            evaluate: evaluates; changes nothing that matters when it is called again.
        """
        while True:
            try:
                result = await self._evaluated(evaluate)
            except Exception:
                if not self._asked and not self._wanted:
                    raise
            else:
                if not self._asked and not self._wanted:
                    return result
            await self._wait()

    async def _evaluated(self, evaluate: Callable[[], T]) -> T:
        """What an evaluation comes to, wherever it is done."""
        if self._thread is None:
            return self._on_budget(evaluate)
        if not self._away:
            try:
                with Looking(_not_here):
                    return self._on_budget(evaluate)
            except _Elsewhere:
                self._away = True
        return await self._thread(self._beside, evaluate)

    def _beside(self, evaluate: Callable[[], T]) -> T:
        with Looking(end_if_cancelled):
            return self._on_budget(evaluate)

    def _on_budget(self, evaluate: Callable[[], T]) -> T:
        with budgeted(Budget(self._left)) as budget:
            result = evaluate()
        self._left = max(budget.left, 0)
        return result

    async def _wait(self) -> None:
        """Have the answers to what was asked."""
        questions, self._wanted = self._wanted, []
        for question in questions:
            if question not in self._known:
                self._found(question)
        asked, self._asked = self._asked, {}
        while asked:
            question, answer = asked.popitem()
            try:
                self._known[question] = await answer
            finally:
                if question not in self._known:
                    for left in asked.values():
                        close = getattr(left, "close", None)
                        if close is not None:  # a coroutine that is never awaited
                            close()


class _Elsewhere(Exception):
    """An evaluation takes too long for the event loop."""


def _not_here() -> None:
    raise _Elsewhere


def answers_of(memory: dict[str, Any], authorize: Authorize, thread: RunBlocking | None) -> Answers:
    """The answers of a request: one for all that is evaluated for it.

    Args:
        memory: of the request.
        authorize: the server's authorizers.
        thread: runs evaluations that take long.
    """
    answers: Answers = memory.setdefault("answers", Answers(authorize, thread))
    return answers


def _asker(user: UserInfo, question: Question) -> UserInfo:
    account = question.get("serviceAccount")
    if account is None:
        return user
    namespace, name = account
    return UserInfo(
        f"system:serviceaccount:{namespace}:{name}",
        groups=(
            "system:serviceaccounts",
            f"system:serviceaccounts:{namespace}",
            AUTHENTICATED,
        ),
    )


def _attributes(user: UserInfo, question: Question) -> Attributes:
    path = question.get("path", "")
    return Attributes(
        user=_asker(user, question),
        verb=question["verb"],
        namespace=question.get("namespace", ""),
        api_group=question.get("group", ""),
        api_version="*",
        resource=question.get("resource", ""),
        subresource=question.get("subresource", ""),
        name=question.get("name", ""),
        resource_request=not path,
        path=path,
        narrowing=Selected(
            Selectors(question.get("labelSelector", ""), question.get("fieldSelector", ""))
        ),
    )
