"""Flags of authorization."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, NamedTuple

from kubetrio.config.flag import ConfigError, Rule, Section, error_of, flag, section
from kubetrio.config.kinds import AUDIENCES, DURATION, FILE, Kind


class Mode(NamedTuple):
    """A value of ``--authorization-mode``.

    Args:
        make: path of the function that makes its authorizer (`kubetrio.auth.modes`); empty where
            each entry of the chain has one of its own.
        file: field of `Authorization` with the file that it needs, empty for none.
        content: what that file holds, a word.
        added_later: whether a changed configuration file may name it that did not at the start.
    """

    make: str
    file: str = ""
    content: str = ""
    added_later: bool = False


MODES: Mapping[str, Mode] = {
    "Node": Mode("kubetrio.auth.modes.node"),
    "RBAC": Mode("kubetrio.auth.modes.rbac"),
    "Webhook": Mode("", "webhook_config_file", "config", added_later=True),
    "ABAC": Mode("kubetrio.auth.modes.abac", "policy_file", "policy"),
    "AlwaysAllow": Mode("kubetrio.auth.modes.allow", added_later=True),
    "AlwaysDeny": Mode("kubetrio.auth.modes.deny", added_later=True),
}
"""The table of modes, in the order in which documents list them."""
DEFAULT_MODES = ("Node", "RBAC")
MODE_LIST = AUDIENCES._replace(placeholder="MODE,...")


def _is_text(value: object) -> str:
    return "" if isinstance(value, str) else "is no text"


REVIEW_VERSION = Kind(placeholder="VERSION", parse=str, check=_is_text)
_TTLS = {"webhook_authorized_ttl_s": 300.0, "webhook_unauthorized_ttl_s": 30.0}


def _one_way(chosen: Authorization) -> ConfigError | None:
    """A configuration file says it all."""
    if chosen.config_file is None:
        return None
    legacy = (
        bool(chosen.modes)
        or chosen.webhook_config_file is not None
        or chosen.webhook_version != "v1beta1"
        or any(getattr(chosen, name) != default for name, default in _TTLS.items())
    )
    if not legacy:
        return None
    why = (
        "--authorization-config can not be specified when --authorization-mode or "
        "--authorization-webhook-* flags are defined"
    )
    return error_of(Authorization, ("config_file",), why)


def _problems(chosen: Authorization) -> Iterator[str]:
    modes = chosen.modes
    for mode in modes:
        if mode not in MODES:
            yield f'authorization-mode "{mode}" is not a valid mode'
            continue
        row = MODES[mode]
        if row.file and getattr(chosen, row.file) is None:
            yield f"authorization-mode {mode}'s authorization {row.content} file not passed"
    for mode, row in sorted(MODES.items()):
        if row.file and getattr(chosen, row.file) is not None and mode not in modes:
            name = row.file.replace("_", "-")
            yield f"cannot specify --authorization-{name} without mode {mode}"
    if len(set(modes)) < len(modes):
        shown = " ".join(f'"{mode}"' for mode in modes)
        yield f"authorization-mode [{shown}] has mode specified more than once"


def _modes_fit(chosen: Authorization) -> ConfigError | None:
    """Modes exist, once each, and have what they need."""
    if chosen.config_file is not None:
        return None
    problems = list(_problems(chosen))
    if not problems:
        return None
    return error_of(
        Authorization, ("modes",), problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
    )


@section
class Authorization(Section):
    """Who may do what; see the reference of flags."""

    TITLE: ClassVar[str] = "authorization"
    RULES: ClassVar[tuple[Rule, ...]] = (_one_way, _modes_fit)

    modes: tuple[str, ...] = flag(
        "authorization-mode", MODE_LIST, (),
        f"who decides what users may do, in this order: {', '.join(MODES)}",
        unset="Node,RBAC",
    )  # fmt: skip
    config_file: Path | None = flag(
        "authorization-config", FILE, None,
        "AuthorizationConfiguration that says the same, for several webhooks too; read again when "
        "it changes",
    )  # fmt: skip
    policy_file: Path | None = flag(
        "authorization-policy-file", FILE, None, "policies of mode ABAC, one JSON object a line"
    )
    webhook_config_file: Path | None = flag(
        "authorization-webhook-config-file", FILE, None,
        "kubeconfig of the server that mode Webhook asks",
    )  # fmt: skip
    webhook_version: str = flag(
        "authorization-webhook-version", REVIEW_VERSION, "v1beta1",
        "version of the SubjectAccessReviews that it is sent: v1 or v1beta1",
    )  # fmt: skip
    webhook_authorized_ttl_s: float = flag(
        "authorization-webhook-cache-authorized-ttl", DURATION, _TTLS["webhook_authorized_ttl_s"],
        "how long it is remembered that it allowed something",
    )  # fmt: skip
    webhook_unauthorized_ttl_s: float = flag(
        "authorization-webhook-cache-unauthorized-ttl", DURATION,
        _TTLS["webhook_unauthorized_ttl_s"], "the same of everything else that it answered",
    )  # fmt: skip
