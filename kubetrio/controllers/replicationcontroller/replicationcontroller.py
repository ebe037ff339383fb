"""Gives ReplicationControllers their pods.

Source: docs "ReplicationController"; k8s.io/kubernetes/pkg/controller/replication.
"""

from __future__ import annotations

from typing import Any

from kubetrio.controllers.replicaset.replicaset import ReplicaController
from kubetrio.machinery.labels import Selector, from_label_selector


class ReplicationController(ReplicaController):
    """The controller of ReplicationControllers."""

    name = "replicationcontroller-controller"
    group = ""
    resource = "replicationcontrollers"
    account = "replication-controller"
    status_type = "io.k8s.api.core.v1.ReplicationControllerStatus"
    tells_terminating = False

    def selector(self, owner: dict[str, Any]) -> Selector:
        """Which pods an owner selects.

        Raises:
            ValueError: its selector is none.
        """
        return from_label_selector({"matchLabels": owner["spec"].get("selector") or {}})
