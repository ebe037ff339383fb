"""Writes as a kube-apiserver took or refused them, and how they are compared with the checks.

The files below ``cases`` have three forms: writes of core groups, writes of all other groups, and
objects whose causes were written down.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kubetrio.cel.engine import available
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.jsonpatch import apply_merge_patch
from kubetrio.resources.validation import validate_create, validate_update, with_metadata_of_new
from kubetrio.schema.kind import Kind
from kubetrio.schema.rules import Context
from kubetrio.schema.structural import Report, compile_type

from .helpers import refused, resource, skip_without_engine

Case = dict[str, Any]
Json = dict[str, Any]
Cause = tuple[str, str, str]

CASES = Path(__file__).parent / "cases"
CORE_CONTEXT = Context(now="2024-01-01T00:00:00Z", uid="0f2f6d3c-1111-2222-3333-444455556666")
CONTEXT = Context(
    now="2024-01-01T00:00:00Z",
    uid="00000000-0000-4000-8000-000000000000",
    user=UserInfo("admin", "admin-uid", ("system:masters", "system:authenticated")),
)
OWN = ("metadata.annotations[", "metadata.taints", "metadata.conditions")
_DUMP = re.compile(r"Invalid value: (?=[{\[])")
# what a compiler of expressions says, or an estimator of their cost
_CEL = re.compile(
    r"compilation failed|must evaluate to|estimated (?:rule )?(?:cost|messageExpression)|rule cost"
)


def _read(path: Path) -> list[Case]:
    cases: list[Case] = json.loads(path.read_text())
    return cases


@cache
def core_writes() -> list[Case]:
    """Recorded writes of the groups "", apps, batch and autoscaling."""
    names = ("core", "apps", "batch", "autoscaling")
    return [case for name in names for case in _read(CASES / f"{name}.json")]


@cache
def group_writes() -> list[Case]:
    """Recorded writes of all other groups."""
    return [case for path in sorted((CASES / "groups").glob("*.json")) for case in _read(path)]


@cache
def objects() -> list[Case]:
    """Objects with many mistakes, and with texts that are set though they are empty."""
    texts = [
        {"id": f"{case['resource'][2]}-{case['path']}", "causes": case["told"], **case}
        for case in _read(CASES / "empty_texts.json")
    ]
    return _read(CASES / "unrecorded.json") + texts


def _group_and_plural(case: Case) -> tuple[str, str]:
    if "group" in case:
        return case["group"], case["resource"]
    group, _, plural = case["resource"]
    return group, plural


def recorded(group: str, *plurals: str, changes: bool | None = None) -> list[Any]:
    """The cases of a group's kinds, as parameters of a test.

    Args:
        group: the group.
        plurals: names of kinds; none for all of the group.
        changes: whether to have changes of objects only, or new objects only; None for both.
    """
    return [
        pytest.param(case, id=case["id"])
        for case in (*core_writes(), *group_writes(), *objects())
        if _group_and_plural(case)[0] == group
        and (not plurals or _group_and_plural(case)[1] in plurals)
        and changes in (None, case.get("old") is not None)
    ]


def assert_as_recorded(case: Case) -> None:
    """A write is taken or refused: for the recorded reasons, at their paths, in their words."""
    if "body" in case:
        skip_without_engine(case["body"])
        group, version, plural = case["resource"]
        assert refused(resource(plural, group, version), case["body"]) == case["causes"]
    elif "group" in case:
        assert Counter(_core_causes(case)) == Counter(tuple(cause) for cause in case["causes"])
    else:
        skip_without_engine(case["new"])
        if is_cel(case) and not available():
            pytest.skip("needs the extra cel")
        wanted = sorted((reason, field, message) for reason, field, message in case["causes"])
        causes = _group_causes(case)
        assert [cause[:2] for cause in causes] == [cause[:2] for cause in wanted]
        for (_, _, text), (_, _, pattern) in zip(causes, wanted, strict=True):
            assert _matches(pattern, text), (text, pattern)


# ---------------------------------------------------------------- core groups


def _core_decoded(kind: Kind, raw: Json) -> Json:
    obj = compile_type(kind.schema_name).decode(raw, Report())
    metadata = obj.setdefault("metadata", {})
    if kind.namespaced:
        metadata["namespace"] = "ns"
    metadata.setdefault("uid", CORE_CONTEXT.uid)
    kind.rules.default(obj)
    return obj


def _core_created(kind: Kind, raw: Json) -> Json:
    """What a create makes of a body before it is checked."""
    obj = _core_decoded(kind, raw)
    kind.rules.prepare_create(obj, CORE_CONTEXT)
    kind.rules.default(obj)
    return obj


def _core_stored(kind: Kind, raw: Json) -> Json:
    """An object as it is stored: the recorded one, or what a create would have stored."""
    obj = _core_decoded(kind, raw)
    if "creationTimestamp" not in raw["metadata"]:
        obj = _core_created(kind, raw)
    if kind.resource == "services" and not obj["spec"].get("clusterIP"):
        obj["spec"] |= {"clusterIP": "10.0.0.250", "clusterIPs": ["10.0.0.250"]}
    return obj


def _masked(message: str) -> str:
    """The message without what the recorder leaves out: diffs and long dumps."""
    message = re.sub(r"\n@@[\s\S]*$", "\n<diff>", message)
    match = _DUMP.search(message)
    if match:
        try:
            _, end = json.JSONDecoder().raw_decode(message, match.end())
        except ValueError:
            return message
        if end - match.end() > 100:
            return f"{message[: match.end()]}<object>{message[end:]}"
    return message


def _core_causes(case: Case) -> list[Cause]:
    kind = resource(case["resource"], case["group"], case["version"])
    if "old" in case:
        old = _core_stored(kind, deepcopy(case["old"]))
        new = _core_decoded(kind, apply_merge_patch(deepcopy(old), case["patch"]))
        kind.rules.prepare_update(new, old, CORE_CONTEXT, case["subresource"])
        causes = validate_update(kind, new, old, case["subresource"])
    else:
        causes = validate_create(kind, _core_created(kind, deepcopy(case["new"])))
    return [
        (cause.reason, cause.field, _masked(cause.message))
        for cause in causes
        if not cause.field.startswith("metadata.") or cause.field.startswith(OWN)
    ]


# ---------------------------------------------------------------- all other groups


def is_cel(case: Case) -> bool:
    """Whether a write was refused for an expression."""
    return any(_CEL.search(message) for _, _, message in case["causes"])


def resource_of(case: Case) -> Kind:
    """The kind of a recorded write."""
    kind = registry().get(*case["resource"])
    assert kind is not None
    return kind


def decoded(kind: Kind, raw: Json, namespace: str) -> Json:
    """A body decoded and defaulted, in a namespace."""
    obj = compile_type(kind.schema_name).decode(deepcopy(raw), Report())
    if namespace:
        obj["metadata"]["namespace"] = namespace
    kind.rules.default(obj)
    return obj


def pair(case: Case) -> tuple[Kind, Json, Json | None]:
    """The kind, the new and the old object as they reach validation."""
    kind, namespace = resource_of(case), case["namespace"]
    new = decoded(kind, case["new"], namespace)
    if case["old"] is None:
        kind.rules.prepare_create(new, CONTEXT)
        kind.rules.default(new)
        return kind, new, None
    old = decoded(kind, case["old"], namespace)
    if kind.kind == "CustomResourceDefinition":
        kind.rules.prepare_create(old, CONTEXT)
        old["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    kind.rules.prepare_update(new, old, CONTEXT, case["subresource"])
    return kind, new, old


def _group_causes(case: Case) -> list[Cause]:
    kind, new, old = pair(case)
    if old is None:
        causes = with_metadata_of_new(kind, new, validate_create(kind, new))
    else:
        causes = validate_update(kind, new, old, case["subresource"])
    return sorted((cause.reason, cause.field, cause.message) for cause in causes)


def _matches(recorded_text: str, text: str) -> bool:
    """Whether a message is the recorded one, in which some texts are left out."""
    pattern = "".join(
        ".*" if part in ("<object>", "<cel error>") else re.escape(part)
        for part in re.split(r"(<object>|<cel error>)", recorded_text)
    )
    return re.fullmatch(pattern, text, re.DOTALL) is not None
