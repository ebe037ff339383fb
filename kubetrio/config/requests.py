"""Flags of requests: time and flow control."""

from __future__ import annotations

from typing import ClassVar

from kubetrio.config.flag import ConfigError, Rule, Section, error_of, flag, section
from kubetrio.config.kinds import BOOLEAN, COUNT, DURATION, SECONDS, one_of


@section
class Requests(Section):
    """How long requests take; see the reference of flags."""

    TITLE: ClassVar[str] = "requests"

    request_timeout_s: float = flag(
        "request-timeout", DURATION, 60.0, "time for requests other than watches",
        more="504 after that.",
    )  # fmt: skip
    min_request_timeout_s: float = flag(
        "min-request-timeout", SECONDS, 1800.0,
        "a watch without a time-out gets between this and twice this",
    )  # fmt: skip
    inert_warnings: str = flag(
        "inert-warnings", one_of("kubectl", "all", "none"), "kubectl",
        "which clients are warned when they create what is stored and not acted on, such as a "
        "Deployment",
        more="Programs get kube-apiserver's answers unless told otherwise. See "
        "[controllers](compatibility.md#controllers).",
    )  # fmt: skip


LIMITS = ("max_requests_inflight", "max_mutating_requests_inflight")


def _some_seat(chosen: FlowControl) -> ConfigError | None:
    if not chosen.priority_and_fairness or sum(getattr(chosen, name) for name in LIMITS):
        return None
    why = "must sum to more than 0 with priority and fairness"
    return error_of(FlowControl, LIMITS, why)


@section
class FlowControl(Section):
    """How many requests execute at a time; see the reference of flags."""

    TITLE: ClassVar[str] = "flow control"
    RULES: ClassVar[tuple[Rule, ...]] = (_some_seat,)

    max_requests_inflight: int = flag(
        "max-requests-inflight", COUNT, 400, "reads at a time; part of the seats of flow control",
        more="See [flow control](../design/flow-control.md).",
    )  # fmt: skip
    max_mutating_requests_inflight: int = flag(
        "max-mutating-requests-inflight", COUNT, 200, "the same of writes"
    )
    priority_and_fairness: bool = flag(
        "enable-priority-and-fairness", BOOLEAN, True,
        "false: only count requests, and refuse those over the limits",
    )  # fmt: skip
