"""The kinds of rbac.authorization.k8s.io: all that is said of each by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubetrio.kinds.common.builtinkind import BuiltinKind, lazily
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.common.writerules import WriteRules

if TYPE_CHECKING:
    from kubetrio.kinds.rbac import defaults, printers, validation
else:
    defaults = lazily(f"{__package__}.defaults")
    printers = lazily(f"{__package__}.printers")
    validation = lazily(f"{__package__}.validation")

KINDS: Mapping[str, BuiltinKind] = {
    "clusterrolebindings": BuiltinKind(
        rules=WriteRules(
            validation=validation.CLUSTERROLEBINDINGS,
        ),
        defaults={"v1": defaults.CLUSTERROLEBINDINGS},
        printer=PrinterRow(printers.role_binding),
    ),
    "clusterroles": BuiltinKind(
        rules=WriteRules(
            validation=validation.CLUSTERROLES,
        ),
    ),
    "rolebindings": BuiltinKind(
        rules=WriteRules(
            validation=validation.ROLEBINDINGS,
        ),
        defaults={"v1": defaults.ROLEBINDINGS},
        printer=PrinterRow(printers.role_binding),
    ),
    "roles": BuiltinKind(
        rules=WriteRules(
            validation=validation.ROLES,
        ),
    ),
}
"""By plural name."""
