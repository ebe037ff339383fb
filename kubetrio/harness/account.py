"""The steps of a script as pages show them: what was sent, what was answered, and where that was.

Answers are those that the script has; what a replay answers otherwise is told beside them.  A
script without answers is told with those of the replay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from kubetrio.api.request import resolve
from kubetrio.harness.comparing import Difference, diff
from kubetrio.harness.observing import Moment, Observed
from kubetrio.harness.player import Prepared, UnsendableError, prepared
from kubetrio.harness.references import UnresolvedError
from kubetrio.harness.reply import Reply
from kubetrio.harness.script import Inject, Move, Request, Restart, Script, Settle, Step, Watch
from kubetrio.resources.timeline import time_text
from kubetrio.ui.steps import Steps

Object = dict[str, Any]
MOST_DIFFERENCES = 100
"""Differences of one step that are told."""


def account(name: str, script: Script, replay: Observed) -> Steps:
    """Return what there is to tell of a script.

    Args:
        name: of the script.
        script: with its answers, or without any.
        replay: what was done now.
    """
    has_answers = any(step.answer is not None for step in script.steps)
    shown = script if has_answers else replay.script
    differences: dict[int, list[Difference]] = {}
    for one in diff(script, replay.script) if has_answers else ():
        differences.setdefault(one.step, []).append(one)
    before, objects = replay.start, _Objects()
    heads, details = list[Object](), list[bytes]()
    for number, (step, after) in enumerate(zip(shown.steps, replay.moments, strict=True), 1):
        differing = differences.get(number, [])
        now = replay.script.steps[number - 1].answer or Reply()
        sent = _sent(step, shown.steps)
        head, earlier = objects.seen(number, step, sent)
        head = _head(number, step, sent, before, after) | head | {"otherwise": len(differing)}
        heads.append(head)
        detail = head | _detail(step, sent, earlier) | _otherwise(differing, now)
        details.append(orjson.dumps(detail))
        before = after
    setup = script.setup
    listed = {
        "name": name,
        "seed": setup.seed,
        "server": setup.as_dict(),
        "answers": has_answers,
        "start": _moment(replay.start),
        "items": heads,
    }
    return Steps(count=len(heads), listed=orjson.dumps(listed), details=tuple(details))


def _moment(moment: Moment) -> Object:
    return {"revision": moment.revision, "time": time_text(moment.at_ms)}


def _sent(step: Step, steps: Sequence[Step]) -> Prepared | None:
    """The request of a step, with what its references led to; None for what is no request."""
    if not isinstance(step, Request | Watch):
        return None

    def answer(number: int) -> Any:
        if not 0 < number <= len(steps) or (reply := steps[number - 1].answer) is None:
            raise LookupError(number)
        return reply.json()

    try:
        return prepared(step, answer)
    except (UnresolvedError, UnsendableError):
        return None


def _head(number: int, step: Step, sent: Prepared | None, before: Moment, after: Moment) -> Object:
    """A step in a line."""
    reply = step.answer or Reply()
    head: Object = {
        "number": number,
        "do": step.do,
        "time": time_text(before.at_ms),
        "until": time_text(after.at_ms),
        "before": before.revision,
        "revision": after.revision,
        "status": reply.status,
        "error": reply.error,
        "events": len(reply.events),
    }
    match step:
        case Request() | Watch():
            head["method"] = step.method if isinstance(step, Request) else "GET"
            head["path"] = step.path if sent is None else sent.target
            head["user"] = step.user
        case Move():
            head["seconds"] = step.seconds
        case Inject():
            head["rule"] = None if step.rule is None else step.rule.as_dict()
        case Settle() | Restart():
            pass
    return head


class _Objects:
    """Objects that were answered, by what paths lead to them."""

    def __init__(self) -> None:
        self._newest: dict[tuple[str, ...], tuple[int, Object]] = {}

    def seen(
        self, number: int, step: Step, sent: Prepared | None
    ) -> tuple[Object, tuple[int, Object] | None]:
        """Which object a step is about, and the step before that answered it, with its answer."""
        if not isinstance(step, Request) or sent is None or step.answer is None:
            return {}, None
        info = resolve(sent.method, sent.target.partition("?")[0], {})
        value = _object(step.answer)
        name = info.name or str((value or {}).get("metadata", {}).get("name") or "")
        if not info.is_resource or not name or info.subresource not in ("", "status"):
            return {}, None
        which = info.group, info.resource, info.namespace, name
        about = dict(zip(("group", "resource", "namespace", "name"), which, strict=True))
        if value is None:
            return {"object": about}, None
        key = (*which, str(value.get("kind")))
        earlier, self._newest[key] = self._newest.get(key), (number, value)
        return {"object": about}, earlier


def _object(reply: Reply) -> Object | None:
    """The object that was answered, None where none was."""
    if not 200 <= reply.status < 300:
        return None
    try:
        value = reply.json()
    except ValueError:
        return None
    if not isinstance(value, dict) or not isinstance(meta := value.get("metadata"), dict):
        return None
    return value if value.get("kind") != "Status" and meta.get("name") else None


def _detail(
    step: Step,
    sent: Prepared | None,
    earlier: tuple[int, Object] | None,
) -> Object:
    """All that there is to tell of a step beside its line."""
    reply = step.answer or Reply()
    answer: Object = {"headers": dict(reply.headers), **_body(reply.body)}
    if reply.events:
        answer["lines"] = [_body(event) for event in reply.events]
    detail: Object = {"answer": answer}
    if isinstance(step, Request | Watch):
        detail["groups"] = list(step.groups)
        detail["sent"] = _request(step, sent)
    if earlier is not None:
        detail["earlier"] = {"number": earlier[0], "object": earlier[1]}
    return detail


def _otherwise(differences: Sequence[Difference], now: Reply) -> Object:
    """What a replay answers in the place of the script's answer; nothing where that is the same."""
    if not differences:
        return {}
    listed = [
        {"where": one.where, "script": _text(one.one), "now": _text(one.other)}
        for one in differences[:MOST_DIFFERENCES]
    ]
    return {"differences": listed, "now": _body(now.body)}


def _request(step: Request | Watch, sent: Prepared | None) -> Object:
    """What was sent; what was to be, where references led nowhere."""
    if sent is None:
        headers = [[name, value] for name, value in step.headers.items()]
        body: Object = {}
        if isinstance(step, Request) and step.body is not None:
            body = {"json": step.body}
        elif isinstance(step, Request) and step.text is not None:
            body = {"text": step.text}
        return {"headers": headers, **body}
    headers = [[name, value] for name, value in sent.headers]
    return {"headers": headers, **_body(sent.body or b"")}


def _body(data: bytes) -> Object:
    """Bytes as a value of JSON where they are that, else as a text; nothing for none."""
    if not data:
        return {}
    try:
        return {"json": orjson.loads(data)}
    except ValueError:
        return Reply(body=data).as_dict()


def _text(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
