"""The audit log that a configuration asks for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kubetrio.audit.auditor import Auditor
from kubetrio.audit.backends import (
    Backend,
    BatchConfig,
    Buffered,
    Direct,
    Grouped,
    LogPlugin,
    Plugin,
    Post,
    PostError,
    Truncating,
    WebhookPlugin,
)
from kubetrio.audit.counting import Counting
from kubetrio.audit.policy import Policy, PolicyError, load
from kubetrio.audit.rotation import Limits, Plain, RotatingFile
from kubetrio.config.audit import Audit
from kubetrio.env import Env
from kubetrio.observe.logs import Log
from kubetrio.outgoing.client import CallError, Outgoing
from kubetrio.outgoing.target import Target, TargetError, from_kubeconfig

log = Log("kubetrio.audit")
CALL_S = 30.0
MOST_ANSWER_BYTES = 1024 * 1024
SHOWN_BYTES = 200


class AuditError(ValueError):
    """The audit log cannot be made; the text is one line."""


@dataclass(frozen=True, slots=True)
class AuditFiles:
    """What the files of the audit log say.

    Args:
        policy: what is noted; None without one.
        webhook: where events are sent; None without that, or without a policy.
    """

    policy: Policy | None
    webhook: Target | None


def load_audit(config: Audit) -> AuditFiles:
    """Read and check the files that the audit log is configured with.  Blocking.

    Raises:
        AuditError: one cannot be used.
    """
    policy, webhook = None, None
    if config.policy_file is not None:
        try:
            policy = load(config.policy_file)
        except PolicyError as error:
            raise AuditError(f"loading audit policy file: {error}") from error
    if config.webhook_config_file is not None and policy is not None:
        try:
            webhook = from_kubeconfig(config.webhook_config_file)
        except TargetError as error:
            raise AuditError(f"initializing audit webhook: {error}") from error
    return AuditFiles(policy, webhook)


def make_auditor(
    config: Audit, files: AuditFiles, env: Env, outgoing: Outgoing, counting: Counting
) -> Auditor | None:
    """The audit log, None if nothing is to be noted.

    Args:
        config: what is asked for.
        files: what its files say.
        env: clocks, randomness and threads.
        outgoing: calls the webhook.
        counting: what is counted, also without an audit log.

    Raises:
        AuditError: the file of the log cannot be written.
    """
    policy = files.policy
    backends: list[Backend] = []
    if config.log_path:
        file = _file(config, env)
        if policy is None:
            _says_nothing("log")
        else:
            plugin = LogPlugin(file, env, counting, legacy=config.log_format == "legacy")
            backends.append(_backend(config, "log", plugin, counting, Grouped))
    if config.webhook_config_file is not None:
        if files.webhook is None:
            _says_nothing("webhook")
        else:
            post = posting(outgoing, files.webhook)
            hook = WebhookPlugin(post, config.webhook_initial_backoff_s, env, counting)
            backends.append(_backend(config, "webhook", hook, counting, Direct))
    if policy is None or not backends:
        return None
    return Auditor(policy, backends, counting)


def _says_nothing(backend: str) -> None:
    log.verbose(
        2, f"No audit policy file provided, no events will be recorded for {backend} backend"
    )


def _file(config: Audit, env: Env) -> RotatingFile | Plain:
    if config.log_path == "-":
        return Plain(sys.stdout.fileno())
    limits = Limits(
        config.log_maxsize, config.log_maxage, config.log_maxbackup, config.log_compress
    )
    path = Path(config.log_path)
    file = RotatingFile(path, limits, env.now)
    try:
        file.prepare()
        if not limits.size_mb:
            return Plain(os.open(path, os.O_APPEND | os.O_WRONLY))
    except OSError as error:
        why = f"open {path}: {(error.strerror or str(error)).lower()}"
        raise AuditError(f"ensureLogFile: {why}") from error
    return file


def _backend(
    config: Audit,
    name: str,
    plugin: Plugin,
    counting: Counting,
    blocking: Callable[..., Grouped | Direct],
) -> Backend:
    """A plugin behind what a section of the configuration says of waiting and truncating."""

    def chosen(field: str) -> float:
        value: float = getattr(config, f"{name}_{field}")
        return value

    mode = getattr(config, f"{name}_mode")
    backend: Backend
    if mode == "batch":
        throttled = bool(chosen("batch_throttle_enable"))
        batches = BatchConfig(
            buffer_size=int(chosen("batch_buffer_size")),
            max_size=int(chosen("batch_max_size")),
            max_wait_s=chosen("batch_max_wait_s"),
            qps=chosen("batch_throttle_qps") if throttled else 0.0,
            burst=int(chosen("batch_throttle_burst")),
            at_a_time=1 if blocking is Grouped else float("inf"),
        )
        backend = Buffered(plugin, batches, counting)
    else:
        backend = blocking(plugin, strict=mode == "blocking-strict")
    if chosen("truncate_enabled"):
        return Truncating(backend, int(chosen("truncate_max_event_size")), counting)
    return backend


def posting(outgoing: Outgoing, target: Target) -> Post:
    """What sends events to a target.

    Args:
        outgoing: makes the calls.
        target: the webhook.
    """
    headers = (("Content-Type", "application/json"), ("Accept", "application/json, */*"))

    async def post(body: bytes) -> None:
        try:
            answer = await outgoing.call(
                target, body=body, headers=headers, timeout_s=CALL_S, most_bytes=MOST_ANSWER_BYTES
            )
        except CallError as error:
            raise PostError(str(error)) from error
        if not 200 <= answer.status < 300:
            text = answer.body[:SHOWN_BYTES].decode(errors="replace").strip() or "unknown"
            raise PostError(f"the server answered {answer.status} and took no events: {text!r}")

    return post
