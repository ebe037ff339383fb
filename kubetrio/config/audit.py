"""Flags of the audit log."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import ClassVar

from kubetrio.config.flag import ConfigError, Rule, Section, error_of, flag, section
from kubetrio.config.kinds import BOOLEAN, COUNT, DURATION, FILE, Kind

GUIDE = "../how-to/audit-requests.md"
MODES = ("batch", "blocking", "blocking-strict")
FORMATS = ("legacy", "json")
VERSION = "audit.k8s.io/v1"


def _fraction(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"invalid number {text!r}") from None


def _is_text(value: object) -> str:
    return "" if isinstance(value, str) else "is no text"


def _is_whole(value: object) -> str:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return "" if whole else "is no whole number"


def _is_number(value: object) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return "" if number else "is no number"


# What they may be is looked at where they are used: without a file nothing is.
TEXT = Kind(placeholder="TEXT", parse=str, check=_is_text)
WHOLE = COUNT._replace(check=_is_whole)
RATE = Kind(placeholder="N", parse=_fraction, check=_is_number, show=lambda value: f"{value:g}")


def _batch(chosen: Audit, plugin: str) -> ConfigError | None:
    def wrong(name: str, why: str) -> ConfigError:
        return error_of(Audit, (f"{plugin}_{name}",), why)

    def value(name: str) -> float:
        number: float = getattr(chosen, f"{plugin}_{name}")
        return number

    mode = getattr(chosen, f"{plugin}_mode")
    if mode not in MODES:
        allowed = ",".join(MODES)
        return wrong("mode", f'invalid audit {plugin} mode {mode}, allowed modes are "{allowed}"')
    if mode != "batch":
        return None
    checks = [("batch_buffer_size", "buffer size"), ("batch_max_size", "max batch size")]
    if value("batch_throttle_enable"):
        checks += [
            ("batch_throttle_qps", "throttle QPS"),
            ("batch_throttle_burst", "throttle burst"),
        ]
    for name, words in checks:
        if value(name) <= 0:
            why = f"invalid audit batch {plugin} {words} {value(name):g}, must be a positive number"
            return wrong(name, why)
    return None


def _truncate(chosen: Audit, plugin: str) -> ConfigError | None:
    event = getattr(chosen, f"{plugin}_truncate_max_event_size")
    batch = getattr(chosen, f"{plugin}_truncate_max_batch_size")
    if event <= 0:
        why = f"invalid audit truncate {plugin} max event size {event}, must be a positive number"
        return error_of(Audit, (f"{plugin}_truncate_max_event_size",), why)
    if batch < event:
        why = (
            f"invalid audit truncate {plugin} max batch size {batch}, must be greater than "
            f"max event size ({event})"
        )
        return error_of(Audit, (f"{plugin}_truncate_max_batch_size",), why)
    return None


def _version(chosen: Audit, plugin: str) -> ConfigError | None:
    version = getattr(chosen, f"{plugin}_version")
    if version == VERSION:
        return None
    if version.count("/") > 1:
        why = f"unexpected GroupVersion string: {version}"
    else:
        why = f'invalid group version, allowed versions are ["{VERSION}"]'
    return error_of(Audit, (f"{plugin}_version",), why)


def _log(chosen: Audit) -> ConfigError | None:
    if not chosen.log_path:
        return None
    for check in (_batch, _truncate, _version):
        problem = check(chosen, "log")
        if problem is not None:
            return problem
    if chosen.log_format not in FORMATS:
        allowed = ",".join(FORMATS)
        why = f'invalid audit log format {chosen.log_format}, allowed formats are "{allowed}"'
        return error_of(Audit, ("log_format",), why)
    for name in ("log_maxage", "log_maxbackup", "log_maxsize"):
        number = getattr(chosen, name)
        if number < 0:
            why = f"--audit-{name.replace('_', '-')} {number} can't be a negative number"
            return error_of(Audit, (name,), why)
    return None


def _webhook(chosen: Audit) -> ConfigError | None:
    if chosen.webhook_config_file is None:
        return None
    checks = (_batch, _truncate, _version)
    return next((wrong for one in checks if (wrong := one(chosen, "webhook"))), None)


@section
class Audit(Section):
    """What is noted of requests, and where; see the reference of flags."""

    TITLE: ClassVar[str] = "audit"
    RULES: ClassVar[tuple[Rule, ...]] = (_log, _webhook)

    policy_file: Path | None = flag(
        "audit-policy-file", FILE, None, "which requests are noted, and how much of them",
        unset="nothing is noted", more=f"See [audit]({GUIDE}).",
    )  # fmt: skip
    log_path: str = flag(
        "audit-log-path", TEXT, "", "file that events are written to, - for the standard output"
    )
    log_format: str = flag("audit-log-format", TEXT, "json", "format of lines: json or legacy")
    log_maxage: int = flag(
        "audit-log-maxage", WHOLE, 366, "days for which old files are kept, 0 for ever"
    )
    log_maxbackup: int = flag(
        "audit-log-maxbackup", WHOLE, 100, "old files that are kept, 0 for all"
    )
    log_maxsize: int = flag(
        "audit-log-maxsize", WHOLE, 100,
        "megabytes of a file before it is moved aside, 0 for any size",
    )  # fmt: skip
    log_compress: bool = flag(
        "audit-log-compress", BOOLEAN, False, "compress files that were moved aside"
    )
    log_version: str = flag(
        "audit-log-version", TEXT, VERSION, "API version of events; there is one"
    )
    log_mode: str = flag(
        "audit-log-mode", TEXT, "blocking",
        "batch: events are written later; blocking: answers wait until they are written; "
        "blocking-strict: requests are refused whose beginning cannot be written",
    )  # fmt: skip
    log_batch_buffer_size: int = flag(
        "audit-log-batch-buffer-size", WHOLE, 10000,
        "events that may wait in mode batch; more are lost, and counted",
        more="Nor do they hold more than 64 MiB.",
    )  # fmt: skip
    log_batch_max_size: int = flag(
        "audit-log-batch-max-size", WHOLE, 1, "events of a batch in mode batch"
    )
    log_batch_max_wait_s: float = flag(
        "audit-log-batch-max-wait", DURATION, 0.0, "how long a batch waits until it is full"
    )
    log_batch_throttle_enable: bool = flag(
        "audit-log-batch-throttle-enable", BOOLEAN, False, "write batches at a limited rate"
    )
    log_batch_throttle_qps: float = flag(
        "audit-log-batch-throttle-qps", RATE, 0.0, "batches a second, if that is limited"
    )
    log_batch_throttle_burst: int = flag(
        "audit-log-batch-throttle-burst", WHOLE, 0, "batches at once, if there were fewer before"
    )
    log_truncate_enabled: bool = flag(
        "audit-log-truncate-enabled", BOOLEAN, False,
        "take objects out of events that are too large, and drop those that still are",
    )  # fmt: skip
    log_truncate_max_event_size: int = flag(
        "audit-log-truncate-max-event-size", WHOLE, 102400, "bytes of an event before that"
    )
    log_truncate_max_batch_size: int = flag(
        "audit-log-truncate-max-batch-size", WHOLE, 10485760,
        "not less than the size of an event; batches come one event at a time here",
    )  # fmt: skip
    webhook_config_file: Path | None = flag(
        "audit-webhook-config-file", FILE, None, "kubeconfig of a service that events are sent to"
    )
    webhook_initial_backoff_s: float = flag(
        "audit-webhook-initial-backoff", DURATION, 10.0,
        "time before a batch that was not taken is sent again; there are five attempts",
    )  # fmt: skip
    webhook_version: str = flag(
        "audit-webhook-version", TEXT, VERSION, "API version of events; there is one"
    )
    webhook_mode: str = flag(
        "audit-webhook-mode", TEXT, "batch", "as `--audit-log-mode`, of the webhook"
    )
    webhook_batch_buffer_size: int = flag(
        "audit-webhook-batch-buffer-size", WHOLE, 10000, "events that may wait in mode batch",
        more="Nor do they hold more than 64 MiB, with those that are being sent.",
    )  # fmt: skip
    webhook_batch_max_size: int = flag(
        "audit-webhook-batch-max-size", WHOLE, 400, "events of a batch"
    )
    webhook_batch_max_wait_s: float = flag(
        "audit-webhook-batch-max-wait", DURATION, 30.0, "how long a batch waits until it is full"
    )
    webhook_batch_throttle_enable: bool = flag(
        "audit-webhook-batch-throttle-enable", BOOLEAN, True, "send batches at a limited rate"
    )
    webhook_batch_throttle_qps: float = flag(
        "audit-webhook-batch-throttle-qps", RATE, 10.0, "batches a second, if that is limited"
    )
    webhook_batch_throttle_burst: int = flag(
        "audit-webhook-batch-throttle-burst", WHOLE, 15,
        "batches at once, if there were fewer before",
    )  # fmt: skip
    webhook_truncate_enabled: bool = flag(
        "audit-webhook-truncate-enabled", BOOLEAN, False, "as `--audit-log-truncate-enabled`"
    )
    webhook_truncate_max_event_size: int = flag(
        "audit-webhook-truncate-max-event-size", WHOLE, 102400, "bytes of an event before that"
    )
    webhook_truncate_max_batch_size: int = flag(
        "audit-webhook-truncate-max-batch-size", WHOLE, 10485760,
        "as `--audit-log-truncate-max-batch-size`",
    )  # fmt: skip
