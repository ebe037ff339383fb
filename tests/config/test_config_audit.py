"""Flags of the audit log: what may not be, in kube-apiserver's words, and only where it counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubetrio.config import ConfigError
from kubetrio.config.audit import Audit

LOG = {"log_path": "x"}
HOOK = {"webhook_config_file": Path("x")}
BAD: list[tuple[dict[str, Any], str, str]] = [
    (LOG | {"log_mode": "x"}, "--audit-log-mode",
     'invalid audit log mode x, allowed modes are "batch,blocking,blocking-strict"'),
    (LOG | {"log_format": "x"}, "--audit-log-format",
     'invalid audit log format x, allowed formats are "legacy,json"'),
    (LOG | {"log_maxage": -1}, "--audit-log-maxage",
     "--audit-log-maxage -1 can't be a negative number"),
    (LOG | {"log_version": "audit.k8s.io/v1beta1"}, "--audit-log-version",
     'invalid group version, allowed versions are ["audit.k8s.io/v1"]'),
    (LOG | {"log_mode": "batch", "log_batch_buffer_size": 0}, "--audit-log-batch-buffer-size",
     "invalid audit batch log buffer size 0, must be a positive number"),
    (HOOK | {"webhook_batch_throttle_qps": 0.0}, "--audit-webhook-batch-throttle-qps",
     "invalid audit batch webhook throttle QPS 0, must be a positive number"),
    (HOOK | {"webhook_truncate_max_event_size": 0}, "--audit-webhook-truncate-max-event-size",
     "invalid audit truncate webhook max event size 0, must be a positive number"),
    (LOG | {"log_truncate_max_batch_size": 5}, "--audit-log-truncate-max-batch-size",
     "invalid audit truncate log max batch size 5, must be greater than max event size (102400)"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "flag", "words"), BAD)
def test_what_may_not_be(given: dict[str, Any], flag: str, words: str) -> None:
    """It is refused by the name of the flag."""
    with pytest.raises(ConfigError) as refused:
        Audit(**given)
    assert refused.value.by_flag() == f"{flag}: {words}"


@pytest.mark.parametrize(("given", "flag", "words"), BAD)
def test_nothing_is_wrong_without_a_backend(given: dict[str, Any], flag: str, words: str) -> None:
    """Flags of a backend that is not there are not looked at, as in kube-apiserver."""
    rest = {k: v for k, v in given.items() if k not in ("log_path", "webhook_config_file")}
    Audit(**rest)
