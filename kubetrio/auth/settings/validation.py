"""What an AuthorizationConfiguration may say.

Source: docs "kube-apiserver Authorization Configuration"; the words are kube-apiserver's.
"""

from __future__ import annotations

import errno
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kubetrio.auth.settings.decoding import ConfigurationError, decoded
from kubetrio.auth.settings.settings import WEBHOOK, Setting, WebhookSetting
from kubetrio.config.authorization import MODES
from kubetrio.gotext.durations import duration_text
from kubetrio.gotext.text import aggregate
from kubetrio.machinery.fielderrors import (
    duplicate,
    invalid,
    not_supported,
    required,
    too_many,
)
from kubetrio.machinery.names_validation import dns1123_subdomain
from kubetrio.machinery.status import Cause

Object = Mapping[str, Any]

AUTHORIZED_S, UNAUTHORIZED_S = 300.0, 30.0
LONGEST_S = 30.0
MOST_CONDITIONS = 64
CONNECTIONS = ("InClusterConfig", "KubeConfigFile")


def configured(data: bytes, keep: frozenset[str] = frozenset()) -> tuple[Setting, ...]:
    """The authorizers of a configuration.

    Args:
        data: the file.
        keep: modes other than webhooks that have to be there, since they were at the start.

    Raises:
        ConfigurationError: it cannot be used.
    """
    config = decoded(data)
    authorizers = config.get("authorizers") or []
    causes: list[Cause] = []
    if not authorizers:
        detail = "at least one authorization mode must be defined"
        causes.append(required("authorizers", detail))
    seen, names = set[str](), set[str]()
    for at, one in enumerate(authorizers):
        _authorizer(one, f"authorizers[{at}]", seen, names, causes)
    _raise(map(str, causes))
    settings = tuple(map(_setting, authorizers))
    wrong = [
        f"expected name {one.mode.lower()} for authorizer {one.mode} instead of {one.name}"
        for one in settings
        if one.mode != WEBHOOK and one.name != one.mode.lower()
    ]
    if missing := keep - {one.mode for one in settings}:
        wrong.append(f"missing required types: [{' '.join(sorted(missing))}]")
    _raise(wrong)
    return settings


def _raise(errors: Iterable[str]) -> None:
    if told := aggregate(errors):
        raise ConfigurationError(told)


def _authorizer(
    one: Object, path: str, seen: set[str], names: set[str], causes: list[Cause]
) -> None:
    mode, name, webhook = one.get("type") or "", one.get("name") or "", one.get("webhook")
    if not mode:
        causes.append(required(f"{path}.type"))
        return
    if mode not in MODES:
        causes.append(not_supported(f"{path}.type", mode, sorted(MODES)))
        return
    if mode in seen and mode != WEBHOOK:
        causes.append(duplicate(f"{path}.type", mode))
        return
    seen.add(mode)
    if not name:
        causes.append(required(f"{path}.name"))
    elif name in names:
        causes.append(duplicate(f"{path}.name", name))
    elif wrong := dns1123_subdomain(name):
        detail = f"authorizer name is invalid: {', '.join(wrong)}"
        causes.append(invalid(f"{path}.name", name, detail))
    names.add(name)
    if mode != WEBHOOK:
        if webhook is not None:
            detail = "may only be specified when type=Webhook"
            causes.append(invalid(f"{path}.webhook", "non-null", detail))
    elif webhook is None:
        causes.append(required(f"{path}.webhook", "required when type=Webhook"))
    else:
        _webhook(webhook, path, causes)


def _webhook(webhook: Object, path: str, causes: list[Cause]) -> None:
    timeout = webhook.get("timeout") or 0.0
    if not timeout:
        causes.append(required(f"{path}.timeout"))
    elif not 0 < timeout <= LONGEST_S:
        shown = duration_text(timeout)
        causes.append(invalid(f"{path}.timeout", shown, "must be > 0s and <= 30s"))
    for name in ("authorizedTTL", "unauthorizedTTL"):
        if (webhook.get(name) or 0.0) < 0:
            shown = duration_text(webhook[name])
            causes.append(invalid(f"{path}.{name}", shown, "must be > 0s"))
    _one_of(webhook, "subjectAccessReviewVersion", ("v1", "v1beta1"), path, causes)
    version = "matchConditionSubjectAccessReviewVersion"
    conditions = webhook.get("matchConditions") or []
    if webhook.get(version):
        _one_of(webhook, version, ("v1",), path, causes)
    elif conditions:
        detail = "required if match conditions are specified"
        causes.append(required(f"{path}.{version}", detail))
    _one_of(webhook, "failurePolicy", ("NoOpinion", "Deny"), path, causes)
    _connection(webhook.get("connectionInfo") or {}, f"{path}.connectionInfo", causes)
    _conditions(conditions, f"{path}.matchConditions", causes)


def _one_of(
    webhook: Object, name: str, allowed: tuple[str, ...], path: str, causes: list[Cause]
) -> None:
    value = webhook.get(name) or ""
    if not value:
        causes.append(required(f"{path}.{name}"))
    elif value not in allowed:
        causes.append(not_supported(f"{path}.{name}", value, allowed))


def _connection(connection: Object, path: str, causes: list[Cause]) -> None:
    kind, file = connection.get("type") or "", connection.get("kubeConfigFile")
    where = f"{path}.kubeConfigFile"
    if not kind:
        causes.append(required(f"{path}.type"))
    elif kind not in CONNECTIONS:
        shown = {"Type": kind, "KubeConfigFile": file}
        causes.append(not_supported(f"{path}.type", shown, CONNECTIONS))
    elif kind == "InClusterConfig":
        if file is not None:
            causes.append(invalid(where, file, "can only be set when type=KubeConfigFile"))
    elif not file:
        causes.append(required(where))
    elif not file.startswith("/"):
        causes.append(invalid(where, file, "must be an absolute path"))
    elif detail := _unusable(file):
        causes.append(invalid(where, file, detail))


def _unusable(file: str) -> str:
    """Why a file cannot be read, empty if it can."""
    try:
        about = Path(file).stat()
    except OSError as error:
        missing = error.errno == errno.ENOENT
        why = "no such file or directory" if missing else (error.strerror or "").lower()
        return f"error loading file: stat {file}: {why}"
    return "" if stat.S_ISREG(about.st_mode) else "must be a regular file"


def _conditions(conditions: list[Object], path: str, causes: list[Cause]) -> None:
    if len(conditions) > MOST_CONDITIONS:
        causes.append(too_many(path, len(conditions), MOST_CONDITIONS))
        return
    from kubetrio.auth.webhook.conditions import BadCondition, compiled
    from kubetrio.cel.engine import Missing

    seen = set[str]()
    for at, condition in enumerate(conditions):
        where, text = f"{path}[{at}].expression", condition.get("expression") or ""
        if not text.strip():
            causes.append(required(where))
        elif text in seen:
            causes.append(duplicate(where, text))
        else:
            seen.add(text)
            try:
                compiled(text)
            except (BadCondition, Missing) as error:
                causes.append(invalid(where, text, str(error)))


def _setting(one: Object) -> Setting:
    webhook = one.get("webhook")
    if webhook is None:
        return Setting(mode=one["type"], name=one["name"])
    connection = webhook["connectionInfo"]
    file = connection.get("kubeConfigFile")
    life = {
        name: (webhook.get(f"{name}TTL") or default)
        if webhook.get(f"cache{name.capitalize()}Requests", True)
        else 0.0
        for name, default in (("authorized", AUTHORIZED_S), ("unauthorized", UNAUTHORIZED_S))
    }
    return Setting(
        mode=WEBHOOK,
        name=one["name"],
        webhook=WebhookSetting(
            authorized_s=life["authorized"],
            unauthorized_s=life["unauthorized"],
            timeout_s=webhook["timeout"],
            version=webhook["subjectAccessReviewVersion"],
            failure=webhook["failurePolicy"],
            kubeconfig=Path(file) if file else None,
            conditions=tuple(
                condition["expression"] for condition in webhook.get("matchConditions") or ()
            ),
        ),
    )
