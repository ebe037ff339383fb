"""``/debug/faults``: rules of faults while the server runs, for those who may reach the path.

============================  ==============================================
GET ``/debug/faults``         the rules, with how often they fitted and struck
POST ``/debug/faults``        more of them: one, a list, or ``{"rules": [...]}``
DELETE ``/debug/faults``      ends all
DELETE ``/debug/faults/ID``   ends one
============================  ==============================================
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kubetrio.api.request import Request
from kubetrio.api.response import Response, json_response, page_not_found
from kubetrio.faults.injector import Injector
from kubetrio.faults.rule import Rule, RuleError, rules_of
from kubetrio.machinery.status import bad_request, method_not_allowed
from kubetrio.wire import yamlwire

ROOT = "/debug/faults"
MOST_BYTES = 1024 * 1024


class FaultsError(ValueError):
    """Rules cannot be read; one line."""


def parsed(text: bytes) -> list[Rule]:
    """The rules of a document in YAML or JSON.

    Raises:
        FaultsError: it has none.
    """
    try:
        data: Any = yamlwire.decode(text).value
        return [] if data is None else rules_of(data)
    except ValueError as error:  # of YAML or of a rule
        raise FaultsError(" ".join(str(error).split())) from error


def read(path: Path) -> list[Rule]:
    """The rules in a file.  Blocking.

    Raises:
        FaultsError: it cannot be read, or two rules have the same id.
    """
    try:
        rules = parsed(path.read_bytes())
    except OSError as error:
        raise FaultsError(f"cannot be read: {error.strerror}") from error
    named = [rule.id for rule in rules if rule.id]
    if len(named) != len(set(named)):
        raise FaultsError("two rules have the same id")
    return rules


class FaultPages:
    """The page of one server.

    Args:
        faults: its rules.
    """

    def __init__(self, faults: Injector) -> None:
        self._faults = faults

    async def answer(self, request: Request) -> Response:
        """Answer a request for `ROOT` or a path below it.

        Raises:
            ApiError: 400, 405 or 413.
        """
        rule_id = request.info.path.removeprefix(ROOT).strip("/")
        match request.method:
            case "GET" | "HEAD" if not rule_id:
                return self._shown()
            case "POST" if not rule_id:
                return self._added(await request.read_body(MOST_BYTES))
            case "DELETE":
                if not rule_id:
                    self._faults.clear()
                    return self._shown()
                try:
                    self._faults.remove(rule_id)
                except KeyError:
                    return page_not_found()
                return self._shown()
            case _:
                raise method_not_allowed()

    def _shown(self, code: int = 200) -> Response:
        return json_response({"rules": self._faults.rules()}, code)

    def _added(self, body: bytes) -> Response:
        added: list[str] = []
        try:
            added.extend(map(self._faults.add, parsed(body)))
        except (FaultsError, RuleError) as error:
            for rule_id in added:  # all of them or none
                self._faults.remove(rule_id)
            raise bad_request(str(error)) from None
        return json_response(
            {"rules": [one for one in self._faults.rules() if one["id"] in added]}, 201
        )
