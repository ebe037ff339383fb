"""Annotations of pods that have a meaning to the server.

Source: "Well-Known Labels, Annotations and Taints" in the Kubernetes documentation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kubetrio.kinds.common.checks import Causes
from kubetrio.kinds.common.formats import descending
from kubetrio.kinds.common.jsontexts import TOLERATION, read_structs
from kubetrio.kinds.core.validation.scheduling import tolerations
from kubetrio.kinds.core.validation.security import every_container
from kubetrio.machinery.fielderrors import forbidden, invalid, quote
from kubetrio.machinery.status import Cause

MIRROR = "kubernetes.io/config.mirror"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_SECCOMP_PLAIN = frozenset({"runtime/default", "docker/default", "unconfined"})
_LOCALHOST = "localhost/"
_cost = re.compile("0|-?[1-9][0-9]*")
_Notes = Mapping[str, str]


def pod_annotations(notes: _Notes, spec: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check annotations of a pod or of a template of pods.

    Args:
        notes: the annotations.
        spec: the pod's spec.
        path: path of the annotations.
        out: receives causes.
    """
    mirror = notes.get(MIRROR)
    if mirror is not None and not spec.get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        out.append(invalid(f"{path}[{MIRROR}]", mirror, detail))
    if text := notes.get(_TOLERATIONS):
        _tolerations(text, path, out)
    cost = notes.get(_DELETION_COST)
    if cost is not None and not _is_cost(cost):
        out.append(invalid(f"{path}[{_DELETION_COST}]", cost, "must be a 32bit integer"))
    if SECCOMP_POD in notes:
        _seccomp(notes[SECCOMP_POD], f"{path}.{SECCOMP_POD}", out)
    for key, value in notes.items():
        if key.startswith(SECCOMP_CONTAINER):
            _seccomp(value, f"{path}.{key}", out)
    for key, value in notes.items():
        if key.startswith(APP_ARMOR):
            _app_armor(key, value, spec, (path, out))


def _is_cost(text: str) -> bool:
    return bool(_cost.fullmatch(text)) and len(text) < 12 and -(2**31) <= int(text) < 2**31


def _tolerations(text: str, path: str, out: Causes) -> None:
    try:
        items = read_structs(text, TOLERATION)
    except ValueError as error:
        out.append(invalid(path, _TOLERATIONS, str(error)))
        return
    tolerations(items, f"{path}.{_TOLERATIONS}", out)


def _seccomp(profile: str, path: str, out: Causes) -> None:
    if profile in _SECCOMP_PLAIN:
        return
    if profile.startswith(_LOCALHOST):
        descending(profile[len(_LOCALHOST) :], path, out)
    else:
        out.append(invalid(path, profile, "must be a valid seccomp profile"))


def _app_armor(key: str, value: str, spec: Mapping[str, Any], where: tuple[str, Causes]) -> None:
    path, out = where
    name = key[len(APP_ARMOR) :]
    if all(container.get("name") != name for container, _ in every_container(spec, "")):
        out.append(invalid(f"{path}[{key}]", name, "container not found"))
    known = value in ("", "runtime/default", "unconfined") or value.startswith(_LOCALHOST)
    if not known:
        detail = f"invalid AppArmor profile name: {quote(value)}"
        out.append(invalid(f"{path}[{key}]", value, detail))


# --- annotations and the fields that replaced them ---


def app_armor_profile(note: str) -> dict[str, str] | None:
    """The profile that an annotation of a container names, as the field has it.

    Args:
        note: value of the annotation.
    """
    if note == "unconfined":
        return {"type": "Unconfined"}
    if note == "runtime/default":
        return {"type": "RuntimeDefault"}
    name = note.removeprefix(_LOCALHOST)
    if note.startswith(_LOCALHOST) and name:
        return {"type": "Localhost", "localhostProfile": name}
    return None


def annotations_and_fields(notes: _Notes, spec: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check that annotations and fields for the same thing agree.

    Args:
        notes: the annotations.
        spec: the pod's spec.
        path: path of the spec.
        out: receives causes.
    """
    context = spec.get("securityContext") or {}
    own = context.get("seccompProfile")
    if own and SECCOMP_POD in notes:
        where = f"{path}.securityContext.seccompProfile"
        out.extend(_mismatch(notes[SECCOMP_POD], own, where, "seccomp"))
    windows = (spec.get("os") or {}).get("name") == "windows"
    for container, at in every_container(spec, path):
        theirs = container.get("securityContext") or {}
        name = container.get("name") or ""
        profile, note = theirs.get("seccompProfile"), notes.get(SECCOMP_CONTAINER + name)
        if profile and note is not None:
            where = f"{at}.securityContext.seccompProfile"
            out.extend(_mismatch(note, profile, where, "seccomp"))
        profile = theirs.get("appArmorProfile") or context.get("appArmorProfile")
        note = notes.get(APP_ARMOR + name)
        if profile and note is not None and not windows:
            where = f"{at}.securityContext.appArmorProfile"
            out.extend(_mismatch(note, profile, where, "apparmor"))


def _mismatch(note: str, profile: Mapping[str, Any], path: str, what: str) -> list[Cause]:
    kind = profile.get("type") or ""
    plain = {"Unconfined": ("unconfined",), "RuntimeDefault": ("runtime/default",)}
    expected: tuple[str, ...] = plain.get(kind, ())
    if expected and what == "seccomp" and kind == "RuntimeDefault":
        expected = ("runtime/default", "docker/default")
    wrong_type = forbidden(f"{path}.type", f"{what} type in annotation and field must match")
    if expected:
        return [] if note in expected else [wrong_type]
    if kind != "Localhost":
        return []
    if not note.startswith(_LOCALHOST):
        return [wrong_type]
    if note[len(_LOCALHOST) :] == profile.get("localhostProfile"):
        return []
    detail = f"{what} profile in annotation and field must match"
    return [forbidden(f"{path}.localhostProfile", detail)]


def annotation_changes(
    new: _Notes, old: _Notes, spec: Mapping[str, Any], path: str, out: Causes
) -> None:
    """Check that annotations that never change did not, and that all are good.

    Args:
        new: annotations as they would be stored.
        old: annotations as they are stored.
        spec: the pod's spec.
        path: path of the annotations.
        out: receives causes.
    """
    for key, value in old.items():
        if new.get(key) == value:
            continue
        if key.startswith(APP_ARMOR):
            detail = "may not remove or update AppArmor annotations"
            out.append(forbidden(f"{path}[{key}]", detail))
        if key == MIRROR:
            detail = "may not remove or update mirror pod annotation"
            out.append(forbidden(f"{path}[{key}]", detail))
    for key in new.keys() - old.keys():
        if key.startswith(APP_ARMOR):
            out.append(forbidden(f"{path}[{key}]", "may not add AppArmor annotations"))
        if key == MIRROR:
            out.append(forbidden(f"{path}[{key}]", "may not add mirror pod annotation"))
    if new:
        pod_annotations(new, spec, path, out)
