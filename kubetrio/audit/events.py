"""Events of the audit log, and the two ways in which they are written.

An event is kept in the pieces that its stages have in common, so that a request with two events
pays once for what they share.

Source: API group audit.k8s.io/v1 (Event); the order of fields is kube-apiserver's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from kubetrio.audit.policy import LEVEL_NAMES, STAGES, Level
from kubetrio.gotext.text import quote
from kubetrio.machinery.identity import UserInfo, user_info
from kubetrio.machinery.remember import counted
from kubetrio.machinery.timestamps import format_micro
from kubetrio.wire.jsonwire import encode

TRUNCATED = "audit.k8s.io/truncated"
BEGIN = b'{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"'
LIST_BEGIN = b'{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":['
_LEVELS = {level: BEGIN + name.encode() + b'","auditID":' for level, name in LEVEL_NAMES.items()}
_OWN_HEAD = len(b'"kind":"Event","apiVersion":"audit.k8s.io/v1",')


_STAGES = {stage: stage.encode() + b'","requestURI":' for stage in STAGES}
_plain = re.compile(r"[ !#-%'-;=?-\[\]-~]*").fullmatch


def _quoted(text: str) -> bytes:
    """A text as JSON; nearly none has anything to escape."""
    return b'"%b"' % text.encode() if _plain(text) else encode(text)


@counted
@lru_cache(256)
def user_json(user: UserInfo) -> bytes:
    """A user as events show one."""
    return encode(user_info(user))


@counted
@lru_cache(64)
def _second(whole: int) -> bytes:
    return b'"' + format_micro(whole)[:-7].encode()


def time_json(at: float) -> bytes:
    """A time as events have it, in microseconds.

    Args:
        at: seconds since the epoch.
    """
    whole, micro = divmod(int(at * 1_000_000), 1_000_000)
    return b'%b%06dZ"' % (_second(whole), micro)


def ref_json(ref: Mapping[str, str]) -> bytes:
    """What a request is about, in the order of fields that events have."""
    return encode({name: ref[name] for name in REF_ORDER if ref.get(name)})


REF_ORDER = (
    "resource", "namespace", "name", "uid", "apiGroup", "apiVersion", "resourceVersion",
    "subresource",
)  # fmt: skip


@dataclass(slots=True, eq=False)
class AuditEvent:
    """One event.

    Args:
        level: how much it tells.
        audit_id: identity of the request.
        stage: what the request had come to.
        uri: as the client sent it.
        verb: of the request.
        user: sender; None for a request that was not authenticated.
        sources: ``sourceIPs`` and ``userAgent`` as they stand in the event, or nothing.
        ip: the first of the addresses, empty for none.
        agent: what the client calls itself.
        namespace: empty for none.
        ref: ``objectRef`` as JSON, empty for none.
        received: when the request came, as JSON.
        staged: when it had come to the stage, as JSON.
        as_user: who the user acts for.
        constraint: verb that allowed it, where acting is constrained.
        code: of the answer, 0 as long as there is none.
        status: ``responseStatus`` as JSON, empty for none.
        request_object: as JSON, empty for none.
        response_object: as JSON, empty for none.
        annotations: what was found out on the way.
    """

    level: Level
    audit_id: str
    stage: str
    uri: str
    verb: str
    user: UserInfo | None
    sources: bytes
    ip: str
    agent: str
    namespace: str
    ref: bytes
    received: bytes
    staged: bytes
    as_user: UserInfo | None = None
    constraint: str = ""
    code: int = 0
    status: bytes = b""
    request_object: bytes = b""
    response_object: bytes = b""
    annotations: Mapping[str, str] | None = None

    def json(self) -> bytes:
        """The event in one line of JSON, with the newline."""
        user, as_user = self.user, self.as_user
        parts = [
            _LEVELS[self.level], _quoted(self.audit_id), b',"stage":"', _STAGES[self.stage],
            _quoted(self.uri), b',"verb":', _quoted(self.verb),
            b',"user":', b"{}" if user is None else user_json(user),
        ]  # fmt: skip
        if as_user is not None:
            parts += (b',"impersonatedUser":', user_json(as_user))
            if self.constraint:
                constraint = encode({"impersonationConstraint": self.constraint})
                parts += (b',"authenticationMetadata":', constraint)
        parts.append(self.sources)
        if self.ref:
            parts += (b',"objectRef":', self.ref)
        if self.status:
            parts += (b',"responseStatus":', self.status)
        if self.request_object:
            parts += (b',"requestObject":', self.request_object)
        if self.response_object:
            parts += (b',"responseObject":', self.response_object)
        parts += (b',"requestReceivedTimestamp":', self.received, b',"stageTimestamp":')
        parts.append(self.staged)
        if self.annotations:
            parts += (b',"annotations":', annotations_json(self.annotations))
        parts.append(b"}\n")
        return b"".join(parts)

    def item(self) -> bytes:
        """The event as it stands in a list, without what the list says of all."""
        text = self.json()
        return b"{" + text[1 + _OWN_HEAD : -1]

    def legacy(self) -> bytes:
        """The event in one line of text, with the newline."""
        user, other = self.user, self.as_user
        name = user.name if user is not None else ""
        groups = user.groups if user is not None and name else ()
        shown = {
            "id": self.audit_id, "stage": self.stage, "ip": self.ip or "<unknown>",
            "method": self.verb, "user": name or "<none>", "groups": _texts(groups) or "<none>",
            "as": "<self>" if other is None else other.name,
            "asgroups": "<lookup>" if other is None else _texts(other.groups),
            "user-agent": self.agent, "namespace": self.namespace or "<none>", "uri": self.uri,
        }  # fmt: skip
        members = " ".join(f"{key}={quote(value)}" for key, value in shown.items())
        when = self.received.decode()[1:-2].rstrip("0").rstrip(".") + "Z"
        code = str(self.code) if self.status else "<deferred>"
        return f'{when} AUDIT: {members} response="{code}"\n'.encode()

    def truncated(self) -> AuditEvent:
        """The event without objects, and a note that they were there."""
        noted = {**(self.annotations or {}), TRUNCATED: "true"}
        return replace(self, request_object=b"", response_object=b"", annotations=noted)

    def size(self) -> int:
        """About how many bytes of memory the event holds."""
        objects = len(self.request_object) + len(self.response_object)
        size = 512 + len(self.uri) + len(self.agent) + len(self.status) + objects
        annotations = self.annotations
        if annotations is not None and annotations is not ALLOWED:
            size += sum(map(len, annotations.values()))
        return size


def annotations_json(annotations: Mapping[str, str]) -> bytes:
    """Annotations as Go prints a map: keys in order."""
    if annotations is ALLOWED:
        return _ALLOWED_JSON
    return encode({key: annotations[key] for key in sorted(annotations)})


DECISION = "authorization.k8s.io/decision"
REASON = "authorization.k8s.io/reason"
ALLOWED = {DECISION: "allow", REASON: ""}
"""What is noted of most requests."""
_ALLOWED_JSON = encode(ALLOWED)


def _texts(values: tuple[str, ...]) -> str:
    return ",".join(map(quote, values))


def event_list(items: list[bytes]) -> bytes:
    """The list that a webhook gets, with the newline.

    Args:
        items: see `AuditEvent.item`.
    """
    return b"%b%b]}\n" % (LIST_BEGIN, b",".join(items))
