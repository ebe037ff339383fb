"""A script of requests as a shell script of curl lines, for any server and without kubetrio.

It asks ``$SERVER``, where ``kubectl proxy`` listens unless it says otherwise, so that it needs no
credentials.  References to earlier answers are read with jq.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from shlex import quote

from kubetrio.harness.references import IN_JSON, REFERENCE, numbers, parts
from kubetrio.harness.script import Inject, Move, Request, Restart, Script, Settle, Step, Watch

HEAD = """\
#!/bin/sh
# Needs curl, and jq where answers are used again. Before: kubectl proxy &
set -u
SERVER="${SERVER:-http://127.0.0.1:8001}"
"""
END = "wait  # for watches; Ctrl-C ends them\n"


def shell(script: Script) -> str:
    """The shell script.

    Args:
        script: whose steps are its lines, with the number of each; answers are not used.
    """
    used = {number for step in script.steps for number in _numbers(step)}
    lines: list[str] = [HEAD]
    for number, step in enumerate(script.steps, 1):
        lines += [f"# step {number}", *_lines(step, number, kept=number in used)]
    if any(isinstance(step, Watch) for step in script.steps):
        lines.append(END)
    return "\n".join(lines).rstrip("\n") + "\n"


def _numbers(step: Step) -> set[int]:
    """Numbers of the steps that a step refers to."""
    if not isinstance(step, Request | Watch):
        return set()
    sent = [step.path, dict(step.headers), step.user, list(step.groups)]
    return numbers([*sent, step.body, step.text] if isinstance(step, Request) else sent)


def _lines(step: Step, number: int, *, kept: bool) -> Iterator[str]:
    match step:
        case Request():
            command = _curl(step, "-sS")
            yield f'A{number}=$({command}); printf "%s\\n" "$A{number}"' if kept else command
        case Watch():
            yield f"{_curl(step, '-sSN')} &"
        case Move():
            yield f"# the clock moves by {step.seconds:g} seconds: sleep {step.seconds:g}"
        case Inject(rule=None):
            yield f'curl -sS -X DELETE "$SERVER"/debug/faults'  # noqa: F541
        case Inject():
            rule = json.dumps(step.rule and step.rule.as_dict())
            yield f'curl -sS "$SERVER"/debug/faults -d {quote(rule)}'
        case Settle():
            yield "sleep 1  # the controllers do what there is to do"
        case Restart():
            yield "# the server is stopped and started again"


def _curl(step: Request | Watch, options: str) -> str:
    words = ["curl", options]
    method = step.method if isinstance(step, Request) else "GET"
    text = ""
    if isinstance(step, Request):
        text = step.text or ("" if step.body is None else json.dumps(step.body))
    binary = isinstance(step, Request) and step.base64 is not None
    if method != ("POST" if text or binary else "GET"):
        words += ["-X", method]
    words.append(f'"$SERVER"{_word(step.path, escaped=True)}')
    headers = dict(step.headers)
    if (text or binary) and not any(name.lower() == "content-type" for name in headers):
        headers = {"Content-Type": "application/json", **headers}
    for name, value in headers.items():
        words += ["-H", _word(f"{name}: {value}")]
    if step.user:
        words += ["-H", _word(f"Impersonate-User: {step.user}")]
        for group in step.groups:
            words += ["-H", _word(f"Impersonate-Group: {group}")]
    if isinstance(step, Request) and step.base64 is not None:
        pipe = f"printf %s {quote(step.base64)} | base64 -d | "
        return pipe + " ".join([*words, "--data-binary", "@-"])
    if text:
        words += ["--data-binary", _word(text, as_json=isinstance(step, Request) and not step.text)]
    return " ".join(words)


def _word(text: str, *, escaped: bool = False, as_json: bool = False) -> str:
    """A text as one word of the shell, with references read from earlier answers.

    Args:
        text: with references.
        escaped: whether what they lead to is escaped for a URL.
        as_json: whether the text is JSON, in which a text that is one reference becomes the value.
    """
    pattern = IN_JSON if as_json else REFERENCE
    word, at = "", 0
    for match in pattern.finditer(text):
        word += quote(text[at : match.start()]) if match.start() > at else ""
        step, path = (group for group in match.groups() if group is not None)
        form = "-r", "|tostring|@uri" if escaped else ""
        if as_json:  # a value, or the inside of a text
            form = ("-c", "") if match[0].startswith('"') else ("-r", "|tostring|tojson[1:-1]")
        word += f'"$(printf %s "${{A{step}-}}" | jq {form[0]} {quote(_jq(path) + form[1])})"'
        at = match.end()
    rest = text[at:]
    return word + (quote(rest) if rest or not word else "")


def _jq(path: str) -> str:
    """The filter of jq that a reference's path is."""
    return "." + "".join(
        f"[{part}]" if part.isdigit() else f"[{json.dumps(part)}]" for part in parts(path)
    )
