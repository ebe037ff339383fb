"""Absent flags of security: authentication, authorization, admission, audit, encryption.

Each asks for a check, a record or a protection.  A server that started without it would be taken
for one that has it, so all but a few end the command.
"""

from __future__ import annotations

from kubetrio.flags.absence import Absent, Refused

OTHER_WAYS = "give users client certificates or --token-auth-file, and leave the flag out"
OWN_KEY = "leave the flag out, and find the keys as sa.key and sa.pub in --cert-dir"

NO_AUDIT = "there is no audit log"
AUDIT = tuple(
    Refused(name, NO_AUDIT)
    for name in (
        "audit-log-batch-buffer-size",
        "audit-log-batch-max-size",
        "audit-log-batch-max-wait",
        "audit-log-batch-throttle-burst",
        "audit-log-batch-throttle-qps",
        "audit-log-format",
        "audit-log-maxage",
        "audit-log-maxbackup",
        "audit-log-maxsize",
        "audit-log-mode",
        "audit-log-path",
        "audit-log-truncate-max-batch-size",
        "audit-log-truncate-max-event-size",
        "audit-log-version",
        "audit-policy-file",
        "audit-webhook-batch-buffer-size",
        "audit-webhook-batch-max-size",
        "audit-webhook-batch-max-wait",
        "audit-webhook-batch-throttle-burst",
        "audit-webhook-batch-throttle-qps",
        "audit-webhook-config-file",
        "audit-webhook-initial-backoff",
        "audit-webhook-mode",
        "audit-webhook-truncate-max-batch-size",
        "audit-webhook-truncate-max-event-size",
        "audit-webhook-version",
    )
) + tuple(
    Refused(name, NO_AUDIT, fine=("false",), switch=True)
    for name in (
        "audit-log-batch-throttle-enable",
        "audit-log-compress",
        "audit-log-truncate-enabled",
        "audit-webhook-batch-throttle-enable",
        "audit-webhook-truncate-enabled",
    )
)

AUTHENTICATION: tuple[Absent, ...] = (
    Refused("service-account-signing-endpoint", "nothing else signs tokens", OWN_KEY),
)


PROTECTION = (
    Refused(
        "max-connection-bytes-per-sec", "the speed of connections is not bounded", fine=("", "0")
    ),
    Refused(
        "egress-selector-config-file",
        "connections to nodes, pods and services go there directly",
    ),
)

ROWS: tuple[Absent, ...] = (
    *AUTHENTICATION,
    *AUDIT,
    *PROTECTION,
)
