"""The kinds of apps: all that is said of each by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubetrio.kinds.common.builtinkind import BuiltinKind, lazily
from kubetrio.kinds.common.metadata import (
    CHANGE,
    CHANGE_FIRST,
)
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.common.writerules import METADATA, SPEC, WriteRules
from kubetrio.machinery.ownership import excluding

if TYPE_CHECKING:
    from kubetrio.kinds.apps import defaults, preparation, printers, validation
else:
    defaults = lazily(f"{__package__}.defaults")
    preparation = lazily(f"{__package__}.preparation")
    printers = lazily(f"{__package__}.printers")
    validation = lazily(f"{__package__}.validation")

KINDS: Mapping[str, BuiltinKind] = {
    "controllerrevisions": BuiltinKind(
        rules=WriteRules(
            validation=validation.CONTROLLERREVISIONS,
            metadata=CHANGE_FIRST,
        ),
        printer=PrinterRow(printers.controller_revision),
    ),
    "daemonsets": BuiltinKind(
        rules=WriteRules(
            validation=validation.DAEMONSETS,
            metadata=CHANGE,
            create=preparation.create_daemon_set,
            update=preparation.update_daemon_set,
            pod_spec="spec.template.spec",
        ),
        defaults={"v1": defaults.DAEMONSETS},
        printer=PrinterRow(printers.daemon_set),
    ),
    "deployments": BuiltinKind(
        rules=WriteRules(
            validation=validation.DEPLOYMENTS,
            metadata=CHANGE,
            update=preparation.update_deployment,
            pod_spec="spec.template.spec",
            keep={"status": excluding(SPEC, (*METADATA, "f:labels"))},
        ),
        defaults={"v1": defaults.DEPLOYMENTS},
        printer=PrinterRow(printers.deployment),
    ),
    "replicasets": BuiltinKind(
        rules=WriteRules(
            validation=validation.REPLICASETS,
            metadata=CHANGE,
            pod_spec="spec.template.spec",
        ),
        defaults={"v1": defaults.REPLICASETS},
        printer=PrinterRow(printers.replica_set),
    ),
    "statefulsets": BuiltinKind(
        rules=WriteRules(
            validation=validation.STATEFULSETS,
            metadata=CHANGE,
            pod_spec="spec.template.spec",
            off=(
                ("spec.updateStrategy.rollingUpdate.maxUnavailable",),  # MaxUnavailableStatefulSet
            ),
        ),
        defaults={"v1": defaults.STATEFULSETS},
        printer=PrinterRow(printers.stateful_set),
    ),
}
"""By plural name."""
