"""What updates and deletions do, as a server was seen to do it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from facts.documents import load
from kubetrio.schema import builtin

if TYPE_CHECKING:
    from conftest import Asked

pytestmark = pytest.mark.e2e


def comparable(rows: dict[str, Any]) -> dict[str, Any]:
    """Rows without whether a protected object is still there: here a controller lets it go."""
    if any("protection" in name for name in rows.get("deleteForeground", [0, "", None])[2] or ()):
        return rows | {"delete": rows["delete"][:2]}
    return rows


def test_behaviours_are_the_facts(asked: Asked) -> None:
    """Updates without version, generations, deletions with each policy."""
    found, known = (
        {path: comparable(rows) for path, rows in facts.items()}
        for facts in (load(asked.inputs, "behaviours"), builtin.load("behaviours"))
    )
    wrong = {path for path in {*found, *known} if found.get(path) != known.get(path)}
    # Whether the availability of a new one is told before it is looked at is a matter of time.
    assert wrong <= {"/apis/apiregistration.k8s.io/v1/apiservices"}


def test_what_acts_on_the_server_is_not_stored(asked: Asked) -> None:
    """A webhook would be asked about what follows."""
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    assert load(asked.inputs, "behaviours")[path] == {"putMissing": 404}
