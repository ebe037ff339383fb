"""What writes of rbac.authorization.k8s.io do, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.common.row import Row
from kubetrio.kinds.rbac import validation

RULES: Mapping[str, Row] = {
    "clusterrolebindings": Row(
        validation=validation.TABLES["clusterrolebindings"],
    ),
    "clusterroles": Row(
        validation=validation.TABLES["clusterroles"],
    ),
    "rolebindings": Row(
        validation=validation.TABLES["rolebindings"],
    ),
    "roles": Row(
        validation=validation.TABLES["roles"],
    ),
}
"""By plural name."""
