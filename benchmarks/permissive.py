"""`kubetrio serve` where some users may do everything, as roles and bindings would let them.

`python -m benchmarks.permissive USER,... serve ...`; `*` is every user.

`system:masters` is exempt from flow control, and without roles no other user may do much.
To measure what flow control does to ordinary users, their requests have to get through.
"""

from __future__ import annotations

import sys
from collections.abc import Collection

from kubetrio import cli
from kubetrio.auth import authorize
from kubetrio.machinery.identity import Attributes, Verdict
from kubetrio.server.parts import Parts

EVERYBODY = "*"


class Allowed:
    """Some users may do everything.

    Args:
        users: their names, or `EVERYBODY`.
    """

    def __init__(self, users: Collection[str]) -> None:
        self._users = users
        self._everybody = EVERYBODY in users

    def authorize(self, attributes: Attributes) -> Verdict:
        """Allow it to those users."""
        if self._everybody or attributes.user.name in self._users:
            return authorize.ALLOWED
        return authorize.NO_OPINION


def main() -> int:
    """Serve with another authorizer before the server's own."""
    allowed = Allowed(frozenset(sys.argv.pop(1).split(",")))
    return cli.main(parts=Parts(authorizers=[allowed]))


if __name__ == "__main__":
    sys.exit(main())
