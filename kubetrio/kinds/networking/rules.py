"""What writes of networking.k8s.io do, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.common.addresses import canonical_ip_messages
from kubetrio.kinds.common.metadata import (
    CHANGE,
    CHANGE_FIRST,
    keep_metadata_of_stored,
)
from kubetrio.kinds.common.row import STATUS_ONLY, Row
from kubetrio.kinds.networking.validation import networks
from kubetrio.machinery.names_validation import NameCheck
from kubetrio.schema.rules import Json, MetadataChecks


def address_name(_: Json) -> NameCheck:
    """The check of names that are addresses."""
    return lambda name, _prefix: canonical_ip_messages(name)


RULES: Mapping[str, Row] = {
    "ingressclasses": Row(
        validation=networks.TABLES["ingressclasses"],
        metadata=CHANGE_FIRST,
    ),
    "ingresses": Row(
        validation=networks.TABLES["ingresses"],
        metadata=CHANGE_FIRST,
    ),
    "ipaddresses": Row(
        validation=networks.TABLES["ipaddresses"],
        metadata=MetadataChecks(name=address_name),
    ),
    "networkpolicies": Row(
        validation=networks.TABLES["networkpolicies"],
        metadata=CHANGE,
    ),
    "servicecidrs": Row(
        validation=networks.TABLES["servicecidrs"],
        metadata=CHANGE,
        undo_status_metadata=keep_metadata_of_stored,
        keep={"status": STATUS_ONLY},
    ),
}
"""By plural name."""
