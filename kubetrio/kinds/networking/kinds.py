"""The kinds of networking.k8s.io: all that is said of each by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubetrio.kinds.common.addresses import canonical_ip_messages
from kubetrio.kinds.common.builtinkind import BuiltinKind, lazily
from kubetrio.kinds.common.metadata import (
    CHANGE,
    CHANGE_FIRST,
    keep_metadata_of_stored,
)
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.common.writerules import STATUS_ONLY, WriteRules
from kubetrio.machinery.names_validation import NameCheck
from kubetrio.schema.rules import Json, MetadataChecks

if TYPE_CHECKING:
    from kubetrio.kinds.networking import defaults, printers
    from kubetrio.kinds.networking.validation import ingresses as validation_ingresses
    from kubetrio.kinds.networking.validation import networks as validation_networks
else:
    defaults = lazily(f"{__package__}.defaults")
    printers = lazily(f"{__package__}.printers")
    validation_ingresses = lazily(f"{__package__}.validation.ingresses")
    validation_networks = lazily(f"{__package__}.validation.networks")


def address_name(_: Json) -> NameCheck:
    """The check of names that are addresses."""
    return lambda name, _prefix: canonical_ip_messages(name)


KINDS: Mapping[str, BuiltinKind] = {
    "ingressclasses": BuiltinKind(
        rules=WriteRules(
            validation=validation_networks.INGRESSCLASSES,
            metadata=CHANGE_FIRST,
        ),
        defaults={"v1": defaults.INGRESSCLASSES},
        printer=PrinterRow(printers.ingress_class),
    ),
    "ingresses": BuiltinKind(
        rules=WriteRules(
            validation=validation_ingresses.INGRESSES,
            metadata=CHANGE_FIRST,
        ),
        printer=PrinterRow(printers.ingress),
    ),
    "ipaddresses": BuiltinKind(
        rules=WriteRules(
            validation=validation_networks.IPADDRESSES,
            metadata=MetadataChecks(name=address_name),
        ),
        printer=PrinterRow(printers.ip_address),
    ),
    "networkpolicies": BuiltinKind(
        rules=WriteRules(
            validation=validation_networks.NETWORKPOLICIES,
            metadata=CHANGE,
        ),
        defaults={"v1": defaults.NETWORKPOLICIES},
        printer=PrinterRow(printers.network_policy),
    ),
    "servicecidrs": BuiltinKind(
        rules=WriteRules(
            validation=validation_networks.SERVICECIDRS,
            metadata=CHANGE,
            undo_status_metadata=keep_metadata_of_stored,
            keep={"status": STATUS_ONLY},
        ),
        printer=PrinterRow(printers.service_cidr),
    ),
}
"""By plural name."""
