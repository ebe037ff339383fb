"""Absent flags of security: authentication, authorization, admission, audit, encryption.

Each asks for a check, a record or a protection.  A server that started without it would be taken
for one that has it, so all but a few end the command.
"""

from __future__ import annotations

from kubetrio.flags.absence import Absent, RefusedFlag

OTHER_WAYS = "give users client certificates or --token-auth-file, and leave the flag out"
OWN_KEY = "leave the flag out, and find the keys as sa.key and sa.pub in --cert-dir"

AUTHENTICATION: tuple[Absent, ...] = (
    RefusedFlag("service-account-signing-endpoint", "nothing else signs tokens", OWN_KEY),
)


PROTECTION = (
    RefusedFlag(
        "max-connection-bytes-per-sec", "the speed of connections is not bounded", fine=("", "0")
    ),
    RefusedFlag(
        "egress-selector-config-file",
        "connections to nodes, pods and services go there directly",
    ),
)

ROWS: tuple[Absent, ...] = (
    *AUTHENTICATION,
    *PROTECTION,
)
