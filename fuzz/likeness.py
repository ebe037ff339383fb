"""How two answers differ, but for what differs between any two servers.

Identities, times, revisions, addresses, ports, tokens and names that a server draws are compared by
what they look like; the order of errors, of owners and of warnings is left out, because
kube-apiserver takes it from maps.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import yaml

from fuzz.options import PROTOBUF
from fuzz.steps import Reply
from kubetrio.env import Env
from kubetrio.kinds.builtin import registry
from kubetrio.schema import builtin
from kubetrio.wire.protowire import MAGIC, ProtobufCodec, unwrap

UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
TIME = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z| [+]0000 UTC)?(?: m=[+-][\d.]+)?"
)
CLUSTER_IP = re.compile(r"\b10\.0\.0\.\d{1,3}\b")
TOKEN = re.compile(r"\bey[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}")
ADDRESS = re.compile(r"\b127\.0\.0\.1(?::\d+)?\b")
POINTER = re.compile(r"\b0xc[0-9a-f]{9}\b")
NODE_PORT = re.compile(r"\b3[0-2]\d{3}\b")
REVISION = re.compile(r"\b[1-9]\d{1,8}\b")
AGE = re.compile(r"^(?:<unknown>|(?:\d+[smhdy])+)$")
DRAWN = re.compile(r"[bcdfghjklmnpqrstvwxz2456789]{5}$")
BUILT_AT = re.compile(r"(?:[\w.-]+/)*pkg/api/legacyscheme/scheme\.go:\d+")
FRESH = timedelta(days=2)
OBJECT_REVISION = re.compile(r'(resourceVersion(?:\\*": ?\\*"|:))\d+')
UNDECLARED = re.compile(r"\s+\S+: field not declared in schema")  # the first of a map's, in Go
RECORDED = re.compile(r"\(\d+\)")
CLUSTER_RULES = {"/.well-known", "/.well-known/*"}  # of a vendor's role that kube-apiserver lacks
REVISIONS = frozenset({"resourceVersion", "continue"})
PORTS = frozenset({"nodePort", "healthCheckNodePort"})
CLAIMS_OF_TIME = frozenset({"exp", "iat", "nbf", "jti", "warnafter"})
ABSENT = "<absent>"
SHOWN = 300  # characters of a value
DEEPEST = 150  # levels of a value that are compared
Place = tuple[str, Any, Any]


@cache
def _codec() -> ProtobufCodec:
    return ProtobufCodec(builtin.message)


@cache
def _types() -> dict[tuple[str, str], str]:
    out = {("v1", "Status"): "io.k8s.apimachinery.pkg.apis.meta.v1.Status"}
    for kind in registry().resources.values():
        out[kind.api_version, kind.kind] = kind.schema_name
        out[kind.api_version, f"{kind.kind}List"] = f"{kind.schema_name}List"
    out["autoscaling/v1", "Scale"] = "io.k8s.api.autoscaling.v1.Scale"
    out["authentication.k8s.io/v1", "TokenRequest"] = "io.k8s.api.authentication.v1.TokenRequest"
    return out


def encoded(body: bytes, type_name: str) -> bytes | None:
    """An object in JSON as protobuf; None if its type cannot say it."""
    try:
        return _codec().encode_object(json.loads(body), type_name)
    except (ValueError, RecursionError, AttributeError, TypeError, LookupError):
        return None


def decoded(reply: Reply) -> Any:
    """What an answer says, as JSON values; the text if it is in no known format."""
    body = reply.body
    if body.startswith(MAGIC):
        try:
            envelope = unwrap(body)
            name = _types()[envelope.api_version, envelope.kind]
            value = _codec().decode(envelope.raw, name)
        except (ValueError, KeyError) as error:
            return f"not decoded: {error!r}"
        return {"apiVersion": envelope.api_version, "kind": envelope.kind, **value}
    value = reply.json()
    if isinstance(value, dict) and value.keys() == {"type", "object"}:  # one event of a watch
        return _frames(body)
    if value is not None:
        return value
    media = "".join(reply.header("content-type"))
    if "watch" in media or body.startswith(b'{"type"'):
        return _frames(body)
    if "yaml" in media:
        try:
            return json.loads(json.dumps(yaml.safe_load(body), default=str))
        except (yaml.YAMLError, ValueError, RecursionError):
            return body.decode(errors="replace")
    return body.decode(errors="backslashreplace") if PROTOBUF not in media else media


def _frames(body: bytes) -> Any:
    """Events of a watch but bookmarks, whose time is the server's own."""
    out = []
    for line in body.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return body.decode(errors="replace")
        if not isinstance(event, dict) or event.get("type") != "BOOKMARK":
            out.append(event)
    return out


class Likeness:
    """Compares answers.

    Args:
        env: the wall clock; times near it are the server's own.
    """

    def __init__(self, env: Env) -> None:
        self._env = env

    def differences(self, theirs: Reply, ours: Reply) -> Iterator[Place]:
        """Where two answers differ, and the two values there."""
        if theirs.status != ours.status:
            yield "status", theirs.status, ours.status
        for name in ("content-type", "warning"):
            left, right = (sorted(reply.header(name)) for reply in (theirs, ours))
            if [*map(self._plain, left)] != [*map(self._plain, right)]:
                yield name, left, right
        left, right = decoded(theirs), decoded(ours)
        lists = isinstance(left, list) and isinstance(right, list)
        yield from self.values(left, right, key="events" if lists else "")

    def values(self, theirs: Any, ours: Any, at: str = "", key: str = "") -> Iterator[Place]:
        """Where two JSON values differ, as a path without indexes, and the two values there."""
        if at.count(".") > DEEPEST:
            return
        if isinstance(theirs, dict) and isinstance(ours, dict):
            yield from self._objects(theirs, ours, at)
        elif isinstance(theirs, list) and isinstance(ours, list):
            yield from self._lists(theirs, ours, at, key)
        elif not self._alike(theirs, ours, at, key):
            yield at or ".", theirs, ours

    def _objects(self, theirs: Any, ours: Any, at: str) -> Iterator[Place]:
        drawn = "generateName" in theirs and theirs.get("generateName") == ours.get("generateName")
        for name in sorted({*theirs, *ours}):
            left, right = theirs.get(name, ABSENT), ours.get(name, ABSENT)
            if name == "description" and at.endswith(".columnDefinitions[]"):
                continue  # the project has its own words for columns
            if name == "name" and at == ".details" and DRAWN.search(str(left)):
                right = _redrawn(left, right)
            if drawn and name == "name" and DRAWN.search(str(left)) and DRAWN.search(str(right)):
                continue
            yield from self.values(left, right, f"{at}.{name}", name)

    def _lists(self, theirs: Any, ours: Any, at: str, key: str) -> Iterator[Place]:
        if key in ("managedFields", "causes"):
            theirs, ours = (sorted(value, key=_order) for value in (theirs, ours))
        if key in ("resourceRules", "nonResourceRules"):
            theirs, ours = (
                sorted(filter(_standard, value), key=_order) for value in (theirs, ours)
            )
        if key in ("items", "rows", "events"):
            theirs, ours = (
                [each for each in value if _of_the_run(each)] for value in (theirs, ours)
            )
        if len(theirs) != len(ours):
            yield f"{at}[#]", theirs, ours
            return
        for left, right in zip(theirs, ours, strict=True):
            yield from self.values(left, right, f"{at}[]", key)

    def _alike(self, theirs: Any, ours: Any, at: str, key: str) -> bool:
        if theirs == ours and type(theirs) is type(ours):
            return True
        if ABSENT in (theirs, ours):
            return False
        if isinstance(theirs, str) and isinstance(ours, str):
            if key in REVISIONS:
                return bool(theirs) == bool(ours)
            if ".cells" in at and AGE.match(theirs) and AGE.match(ours):
                return True
            if ".cells" in at:
                theirs, ours = (NODE_PORT.sub("PORT", text) for text in (theirs, ours))
            if TOKEN.fullmatch(theirs) and TOKEN.fullmatch(ours):
                return self._tokens(theirs, ours)
            left, right = self._plain(theirs), self._plain(ours)
            if left == right:
                return True
            return key == "message" and _message(left) == _message(right)
        if type(theirs) is int and type(ours) is int and key in PORTS:
            return bool(NODE_PORT.fullmatch(str(theirs)) and NODE_PORT.fullmatch(str(ours)))
        return False

    def _plain(self, text: str) -> str:
        for pattern, name in (
            (TOKEN, "TOKEN"), (UID, "UID"), (CLUSTER_IP, "IP"), (ADDRESS, "ADDRESS"),
            (POINTER, "POINTER"), (BUILT_AT, "SCHEME"),
        ):  # fmt: skip
            text = pattern.sub(name, text)
        return TIME.sub(self._time, OBJECT_REVISION.sub(r"\1N", text))

    def _time(self, found: re.Match[str]) -> str:
        text = found[0].replace(" ", "T")[:19]
        try:
            away = datetime.fromisoformat(text).timestamp() - self._env.now()
        except ValueError:
            return found[0]
        return "TIME" if abs(away) < FRESH.total_seconds() else found[0]

    def _tokens(self, theirs: str, ours: str) -> bool:
        left, right = _claims(theirs), _claims(ours)
        return not list(self.values(left, right))


def _redrawn(left: Any, right: Any) -> Any:
    """A name, as the other one where only the drawn end differs."""
    same = DRAWN.sub("", str(left)) == DRAWN.sub("", str(right))
    return left if same else right


def _standard(rule: Any) -> bool:
    """Whether a rule of a review is not the vendor's."""
    return not (isinstance(rule, dict) and CLUSTER_RULES & set(rule.get("nonResourceURLs") or ()))


def _of_the_run(value: Any) -> bool:
    """Whether an item of a list was made by this program: each server has others of its own."""
    value = value.get("object", value) if isinstance(value, dict) else value
    meta = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(meta, dict):
        return True
    return "fuzz" in f"{meta.get('namespace', '')} {meta.get('name', '')}"


def _claims(token: str) -> Any:
    payload = token.split(".")[1]
    value = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return _timeless(value)


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: "CLAIM" if k in CLAIMS_OF_TIME else _timeless(v) for k, v in value.items()}
    return value


def _order(value: Any) -> str:
    if isinstance(value, dict):
        names = ("manager", "operation", "subresource", "apiVersion", "field", "reason")
        first = [str(value.get(name, "")) for name in names]
        if any(first):
            return json.dumps([*first, value.get("message", "")])
    return json.dumps(value)


def _message(text: str) -> list[str]:
    """A message whose parts are in the order of a map, and which names revisions and ports."""
    text = NODE_PORT.sub("PORT", REVISION.sub("N", text) if "resource version" in text else text)
    text = RECORDED.sub("(N)", UNDECLARED.sub("", text))
    return sorted(re.split(r", |\n|; |\[|\]", text))


def shown(value: Any) -> str:
    """A value, short enough to be read."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
