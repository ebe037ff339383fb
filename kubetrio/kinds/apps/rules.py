"""What writes of apps do, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.apps import preparation, validation
from kubetrio.kinds.common.metadata import (
    CHANGE,
    CHANGE_FIRST,
)
from kubetrio.kinds.common.row import METADATA, SPEC, Row
from kubetrio.machinery.ownership import excluding

RULES: Mapping[str, Row] = {
    "controllerrevisions": Row(
        validation=validation.TABLES["controllerrevisions"],
        metadata=CHANGE_FIRST,
    ),
    "daemonsets": Row(
        validation=validation.TABLES["daemonsets"],
        metadata=CHANGE,
        create=preparation.create_daemon_set,
        update=preparation.update_daemon_set,
        pod_spec="spec.template.spec",
    ),
    "deployments": Row(
        validation=validation.TABLES["deployments"],
        metadata=CHANGE,
        update=preparation.update_deployment,
        pod_spec="spec.template.spec",
        keep={"status": excluding(SPEC, (*METADATA, "f:labels"))},
    ),
    "replicasets": Row(
        validation=validation.TABLES["replicasets"],
        metadata=CHANGE,
        pod_spec="spec.template.spec",
    ),
    "statefulsets": Row(
        validation=validation.TABLES["statefulsets"],
        metadata=CHANGE,
        pod_spec="spec.template.spec",
        off=(
            ("spec.updateStrategy.rollingUpdate.maxUnavailable",),  # MaxUnavailableStatefulSet
        ),
    ),
}
"""By plural name."""
