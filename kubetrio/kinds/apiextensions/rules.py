"""What writes of apiextensions.k8s.io do, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.apiextensions import preparation
from kubetrio.kinds.apiextensions.validation import definitions
from kubetrio.kinds.common.row import STATUS_ONLY, Row
from kubetrio.machinery.members import member
from kubetrio.machinery.names_validation import NameCheck, dns1123_subdomain
from kubetrio.schema.rules import Json, MetadataChecks

NAME_WANTED = 'must be spec.names.plural+"."+spec.group'


def definition_name(obj: Json) -> NameCheck:
    """The check of names of definitions: they follow from the spec."""
    spec = member(obj, "spec")
    wanted = f"{member(spec, 'names').get('plural') or ''}.{spec.get('group') or ''}"

    def check(name: str, prefix: bool) -> list[str]:
        messages = dns1123_subdomain(name, prefix)
        return messages if name == wanted else [*messages, NAME_WANTED]

    return check


RULES: Mapping[str, Row] = {
    "customresourcedefinitions": Row(
        validation=definitions.TABLES["customresourcedefinitions"],
        metadata=MetadataChecks(updated=(0, 1), standard_finalizers=False, name=definition_name),
        create=preparation.create_definition,
        update=preparation.update_definition,
        marked=preparation.marked_definition,
        keep={"status": STATUS_ONLY},
    ),
}
"""By plural name."""
