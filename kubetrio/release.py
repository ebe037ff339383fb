"""Release of Kubernetes that the server is; every other module takes it from here."""

from __future__ import annotations

from typing import Final

KUBERNETES_VERSION: Final = "1.36.2"
MAJOR, MINOR, _ = map(int, KUBERNETES_VERSION.split("."))
MINOR_VERSION: Final = f"{MAJOR}.{MINOR}"
EARLIER_MINOR: Final = MINOR - 1
"""Minor version of the oldest release that the server is compatible with."""
