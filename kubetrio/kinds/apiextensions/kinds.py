"""The kinds of apiextensions.k8s.io: all that is said of each by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubetrio.kinds.common.builtinkind import BuiltinKind, lazily
from kubetrio.kinds.common.writerules import STATUS_ONLY, WriteRules
from kubetrio.machinery.members import member
from kubetrio.machinery.names_validation import NameCheck, dns1123_subdomain
from kubetrio.schema.rules import Json, MetadataChecks

if TYPE_CHECKING:
    from kubetrio.kinds.apiextensions import defaults, preparation
    from kubetrio.kinds.apiextensions.validation import definitions as validation_definitions
else:
    defaults = lazily(f"{__package__}.defaults")
    preparation = lazily(f"{__package__}.preparation")
    validation_definitions = lazily(f"{__package__}.validation.definitions")


NAME_WANTED = 'must be spec.names.plural+"."+spec.group'


def definition_name(obj: Json) -> NameCheck:
    """The check of names of definitions: they follow from the spec."""
    spec = member(obj, "spec")
    expected = f"{member(spec, 'names').get('plural') or ''}.{spec.get('group') or ''}"

    def check(name: str, prefix: bool) -> list[str]:
        messages = dns1123_subdomain(name, prefix)
        return messages if name == expected else [*messages, NAME_WANTED]

    return check


KINDS: Mapping[str, BuiltinKind] = {
    "customresourcedefinitions": BuiltinKind(
        rules=WriteRules(
            validation=validation_definitions.CUSTOMRESOURCEDEFINITIONS,
            metadata=MetadataChecks(
                updated=(0, 1), standard_finalizers=False, name=definition_name
            ),
            create=preparation.create_definition,
            update=preparation.update_definition,
            marked=preparation.marked_definition,
            keep={"status": STATUS_ONLY},
        ),
        defaults={"v1": defaults.CUSTOMRESOURCEDEFINITIONS},
    ),
}
"""By plural name."""
