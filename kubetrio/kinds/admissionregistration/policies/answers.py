"""Questions of expressions to authorizers of which some have to be waited for.

Expressions do not wait.  A question whose answer is not there yet is an error in the evaluation
that puts it; the answer is waited for beside it, kept for the rest of the request, and the
evaluation is done again from its beginning.  Within one evaluation no answer changes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from kubetrio.auth.selectors import Selected
from kubetrio.cel.authorizing import Answer, Question
from kubetrio.cel.wording import OUT_OF_BUDGET
from kubetrio.machinery.asking import Authorize
from kubetrio.machinery.identity import AUTHENTICATED, Attributes, Decision, UserInfo, Verdict
from kubetrio.machinery.selectors import Selectors

T = TypeVar("T")

MOST_WAITED = 28
"""Answers that one request may wait for: kube-apiserver lets the expressions of a request cost
10,000,000, and a question to an authorizer costs 350,000."""


class Answers:
    """What authorizers answered to the expressions of one request.

    Args:
        authorize: the server's authorizers.
    """

    def __init__(self, authorize: Authorize) -> None:
        self._authorize = authorize
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
            if asked in self._asked:
                raise ValueError("not answered yet")
            if self._waited >= MOST_WAITED:
                raise ValueError(OUT_OF_BUDGET)
            found = self._authorize(asked)
            if not isinstance(found, Verdict):
                self._waited += 1
                self._asked[asked] = found
                raise ValueError("not answered yet")
            verdict = self._known[asked] = found
        allowed = verdict.decision is Decision.ALLOW
        return Answer(allowed, verdict.reason, verdict.error)

    async def decided(self, evaluate: Callable[[], T]) -> T:
        """What an evaluation comes to when all its questions are answered.

        Args:
            evaluate: evaluates; changes nothing that matters when it is called again.
        """
        while True:
            try:
                result = evaluate()
            except Exception:
                if not self._asked:
                    raise
            else:
                if not self._asked:
                    return result
            await self._wait()

    async def _wait(self) -> None:
        """Have the answers to what was asked."""
        asked, self._asked = self._asked, {}
        while asked:
            question, answer = asked.popitem()
            try:
                self._known[question] = await answer
            finally:
                if question not in self._known:
                    for left in asked.values():
                        close = getattr(left, "close", None)
                        if close is not None:  # a coroutine that nobody will await
                            close()


def answers_of(memory: dict[str, Any], authorize: Authorize) -> Answers:
    """The answers of a request: one for all that is evaluated for it.

    Args:
        memory: of the request.
        authorize: the server's authorizers.
    """
    found: Answers = memory.setdefault("answers", Answers(authorize))
    return found


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
