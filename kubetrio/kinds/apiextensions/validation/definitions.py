"""CustomResourceDefinitions.

Causes name the members of the internal version: what all versions have in common stands beside
them, such as ``spec.validation``.  Rules compile elsewhere: :func:`rules` takes the compiler.
Source: "CustomResourceDefinition versioning" and "Extend the Kubernetes API with
CustomResourceDefinitions" in the Kubernetes documentation.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubetrio.kinds.apiextensions.validation.approval import check_approval
from kubetrio.kinds.apiextensions.validation.parts import (
    columns,
    selectable_fields,
    subresources,
)
from kubetrio.kinds.apiextensions.validation.schemarules import compile_rules
from kubetrio.kinds.apiextensions.validation.schemas import (
    CompileRules,
    definition_schema,
    no_rules,
)
from kubetrio.kinds.apiextensions.validation.structuralschemas import unsupported
from kubetrio.kinds.common.checks import (
    IMMUTABLE,
    Causes,
    Json,
    Validation,
    each,
    is_missing,
    member,
    row,
    same,
    table,
    unless_empty,
    walk,
)
from kubetrio.kinds.common.gostructs import go_structs_of
from kubetrio.kinds.common.shared_checks import joined, webhook_client
from kubetrio.kinds.common.webhooks import review_versions
from kubetrio.machinery.fielderrors import (
    forbidden,
    invalid,
    invalid_pointer,
    not_supported,
    required,
)
from kubetrio.machinery.names_validation import byte_length, dns1035_label, dns1123_subdomain
from kubetrio.structural.formats import format_warnings, parts
from kubetrio.tls.certificates import authorities

_VERSION_TYPE = (
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionVersion"
)
_SHARED = (
    ("schema", "validation"),
    ("subresources", "subresources"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
)
_WARNING_MAX = 256
_KIND_INTRO = "may have mixed case, but should otherwise match: "
_NOT_SELECTABLE = {
    "schema": "may only be set when `version.schema.openAPIV3Schema` is not included",
    "validation": "may only be set when validations.schema is included",
}
"""Why fields cannot be selected without a schema, by the member that it would be in."""
_NOT_WEBHOOK = "should not be set when strategy is not set to Webhook"
_PRESERVE = (
    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
    "spec.versions[*].schema instead"
)


@dataclass(frozen=True, slots=True)
class _Compiling:
    """How a schema is checked.

    Args:
        compiler: of its rules.
        status: whether ``status`` is on.
        stored: the schema that its version had before, None for none.
    """

    compiler: CompileRules
    status: bool
    stored: Json | None = None

    def is_stored(self, validation: Mapping[str, Any]) -> bool:
        """Whether the schema is as it was."""
        return self.stored is not None and same(validation, self.stored)


def internal_spec(spec: Mapping[str, Any]) -> Json:
    """The spec as the internal version has it.

    Args:
        spec: the spec of v1.
    """
    versions = [dict(version) for version in spec.get("versions") or ()]
    out = {**spec, "versions": versions}
    for name, shared in _SHARED:
        values = [version.get(name) for version in versions]
        if not values or is_missing(values[0]) or any(not same(values[0], it) for it in values):
            continue
        out[shared] = values[0]
        for version in versions:
            del version[name]
    return out


# --- names ---

_LABEL = joined(dns1035_label)


def _kind_name(value: str, path: str, out: Causes) -> None:
    if messages := dns1035_label(value.lower()):
        out.append(invalid(path, value, _KIND_INTRO + ",".join(messages)))


def _kinds_differ(names: Mapping[str, Any], path: str, out: Causes) -> None:
    kind = names.get("kind")
    if kind and kind == names.get("listKind"):
        detail = "kind and listKind may not be the same"
        out.append(invalid(f"{path}.listKind", kind, detail))


_NAMES = table(
    row("plural", unless_empty(_LABEL)),
    row("singular", unless_empty(_LABEL)),
    row("kind", unless_empty(_kind_name)),
    row("listKind", unless_empty(_kind_name)),
    row("shortNames", each(_LABEL)),
    _kinds_differ,
    row("categories", each(_LABEL)),
)


# --- versions ---


def _deprecation(version: Mapping[str, Any], path: str, out: Causes) -> None:
    text = version.get("deprecationWarning")
    if text is None:
        return
    where = f"{path}.deprecationWarning"
    if not version.get("deprecated"):
        out.append(invalid_pointer(where, text, "can only be set for deprecated versions"))
        return
    if byte_length(text) > _WARNING_MAX:
        out.append(invalid_pointer(where, text, f"must be <= {_WARNING_MAX} characters long"))
    if not text:
        out.append(invalid_pointer(where, text, "must not be an empty string"))
    for index, char in enumerate(text):
        if not char.isprintable():
            detail = (
                "must only contain printable UTF-8 characters; non-printable character found at "
                f"index {byte_length(text[:index])}"
            )
            out.append(invalid_pointer(where, text, detail))
            break


def _status_on(part: Mapping[str, Any]) -> bool:
    return member(part, "subresources").get("status") is not None


def _part(
    part: Mapping[str, Any], schema: str, path: str, out: Causes, compile_: _Compiling
) -> None:
    """Check what a version has of its own, or all of them have in common."""
    validation = part.get(schema)
    if validation is not None:
        definition_schema(
            validation,
            f"{path}.{schema}",
            out,
            status=compile_.status,
            compiler=compile_.compiler,
            stored=compile_.is_stored(validation),
        )
    parts = part.get("subresources")
    if parts is not None:
        subresources(parts, f"{path}.subresources", out)
    columns(part.get("additionalPrinterColumns") or (), f"{path}.additionalPrinterColumns", out)
    if fields := part.get("selectableFields"):
        where = f"{path}.selectableFields"
        schema_part = member(part, schema).get("openAPIV3Schema")
        if validation is None or (schema_part is None and schema == "schema"):
            out.append(invalid(where, "", _NOT_SELECTABLE[schema]))
        else:
            if schema_part is not None and (refused := unsupported(schema_part)):
                out.append(invalid(f"{path}.schema.openAPIV3Schema", "", refused))
            selectable_fields(fields, schema_part, where, out)


def _versions(
    spec: Mapping[str, Any],
    out: Causes,
    compiler: CompileRules,
    stored: Mapping[str, Json],
    *,
    given: bool,
) -> None:
    versions = spec["versions"]
    names: list[str] = []
    for index, version in enumerate(versions):
        path, name = f"spec.versions[{index}]", version.get("name") or ""
        names.append(name)
        if messages := dns1035_label(name):
            out.append(invalid(f"{path}.name", name, ",".join(messages)))
        _deprecation(version, path, out)
        # of versions with one name, which are refused, the first one says what there is
        first = versions[names.index(name)]
        status = _status_on(spec) or _status_on(first)
        _part(version, "schema", path, out, _Compiling(compiler, status, stored.get(name)))
    shown = go_structs_of(_VERSION_TYPE, versions)
    if len(set(names)) != len(names):
        out.append(invalid("spec.versions", shown, "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        out.append(invalid("spec.versions", shown if given else None, detail))


def _first_version(versions: Sequence[Json], out: Causes) -> None:
    # the internal version repeats the name of the first version, and checks it again
    name = (versions[0].get("name") or "") if versions else ""
    if name and (messages := dns1035_label(name)):
        out.append(invalid("spec.version", name, ",".join(messages)))


def _schemas_of(spec: Mapping[str, Any]) -> Iterator[Json]:
    for version in spec.get("versions") or ():
        schema = member(version, "schema").get("openAPIV3Schema")
        if schema is not None:
            yield schema


def _schemas_by_version(spec: Mapping[str, Any]) -> dict[str, Json]:
    schemas = {}
    for version in spec.get("versions") or ():
        schema = version.get("schema")
        if schema is not None:
            schemas[version.get("name") or ""] = schema
    return schemas


def _has_defaults(schema: Mapping[str, Any]) -> bool:
    return schema.get("default") is not None or any(map(_has_defaults, parts(schema)))


# --- conversion ---


def valid_bundle(bundle: str) -> bool:
    """Whether a bundle of certificates, in base64, can be read."""
    try:
        authorities(base64.b64decode(bundle))
    except ValueError:
        return False
    return True


def _conversion(
    value: Mapping[str, Any], out: Causes, *, recognized: bool, any_bundle: bool
) -> None:
    path = "spec.conversion"
    strategy, webhook = value.get("strategy") or "", member(value, "webhook")
    client = webhook.get("clientConfig")
    versions = webhook.get("conversionReviewVersions") or []
    if not strategy:
        out.append(required(f"{path}.strategy"))
    elif strategy not in ("None", "Webhook"):
        out.append(not_supported(f"{path}.strategy", strategy, ("None", "Webhook"), named=False))
    where, reviews = f"{path}.webhookClientConfig", f"{path}.conversionReviewVersions"
    if strategy != "Webhook":
        if client is not None:
            out.append(forbidden(where, _NOT_WEBHOOK))
        if versions:
            out.append(forbidden(reviews, _NOT_WEBHOOK))
        return
    if client is None:
        out.append(required(where, "required when strategy is set to Webhook"))
    else:
        webhook_client(client, where, out)
        bundle = client.get("caBundle")
        if bundle and not any_bundle and not valid_bundle(bundle):
            detail = "unable to load root certificates: unable to parse bytes as PEM block"
            out.append(invalid(f"{where}.caBundle", bundle, detail))
    if versions:
        review_versions(versions, reviews, out, recognized)
    else:
        out.append(required(reviews))


# --- the whole ---


def _group(group: str, out: Causes) -> None:
    path = "spec.group"
    if not group:
        out.append(required(path))
    elif messages := dns1123_subdomain(group):
        out.append(invalid(path, group, ",".join(messages)))
    elif "." not in group:
        out.append(invalid(path, group, "should be a domain with at least one dot"))


def _spec(
    spec: Mapping[str, Any],
    out: Causes,
    compiler: CompileRules,
    stored: Mapping[str, Json],
    *,
    recognized: bool = True,
    any_bundle: bool = True,
) -> None:
    _group(spec.get("group") or "", out)
    scope = spec.get("scope") or ""
    if not scope:
        out.append(required("spec.scope"))
    elif scope not in ("Cluster", "Namespaced"):
        out.append(not_supported("spec.scope", scope, ("Cluster", "Namespaced"), named=False))
    inside = internal_spec(spec)
    if member(inside, "validation").get("openAPIV3Schema") is None:
        for index, version in enumerate(inside["versions"]):
            if member(version, "schema").get("openAPIV3Schema") is None:
                where = f"spec.versions[{index}].schema.openAPIV3Schema"
                out.append(required(where))
    preserve = bool(spec.get("preserveUnknownFields"))
    if preserve and any(_has_defaults(schema) for schema in _schemas_of(spec)):
        detail = "must be false in order to use defaults in the schema"
        out.append(invalid("spec.preserveUnknownFields", True, detail))
    _versions(inside, out, compiler, stored, given=spec.get("versions") is not None)
    _first_version(inside["versions"], out)
    names = member(spec, "names")
    for name in ("plural", "singular", "kind", "listKind"):
        if not names.get(name):
            out.append(required(f"spec.names.{name}"))
    _NAMES(names, "spec.names", out)
    any_status = any(map(_status_on, (inside, *inside["versions"])))
    first = (inside["versions"][0].get("name") or "") if inside["versions"] else ""
    shared = _Compiling(compiler, any_status, stored.get(first))
    _part(inside, "validation", "spec", out, shared)
    conversion = spec.get("conversion")
    if conversion is not None:
        strategy = conversion.get("strategy") or ""
        if preserve and strategy != "None":
            detail = "must be None if spec.preserveUnknownFields is true"
            out.append(invalid("spec.conversion.strategy", strategy, detail))
        _conversion(conversion, out, recognized=recognized, any_bundle=any_bundle)


def _stored_versions(obj: Mapping[str, Any], out: Causes) -> None:
    path = "status.storedVersions"
    stored: list[str] = list(member(obj, "status").get("storedVersions") or ())
    if not stored:
        out.append(invalid(path, None, "must have at least one stored version"))
        return
    versions = member(obj, "spec").get("versions") or ()
    for version in versions:
        name = version.get("name") or ""
        if version.get("storage") and name not in stored:
            out.append(invalid(path, stored, f"must have the storage version {name}"))
    known = {version.get("name") for version in versions}
    for index, name in enumerate(stored):
        if name not in known:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must "
                f"remain in spec.versions until a storage migration ensures no data remains "
                f"persisted in {name} and removes {name} from status.storedVersions"
            )
            out.append(invalid(f"{path}[{index}]", name, detail))


def _established(obj: Mapping[str, Any]) -> bool:
    items = member(obj, "status").get("conditions") or ()
    return any(it.get("type") == "Established" and it.get("status") == "True" for it in items)


def _accepted_names(obj: Mapping[str, Any], out: Causes) -> None:
    accepted = member(member(obj, "status"), "acceptedNames")
    _NAMES(accepted, "status.acceptedNames", out)


def _fixed(new: Json, old: Json, out: Causes) -> None:
    paths = [["spec", "group"], ["spec", "names", "plural"]]
    if _established(old):
        paths = [["spec", "scope"], ["spec", "names", "kind"], *paths]
    for path in paths:
        value = walk(new, path)
        if not same(value, walk(old, path)):
            out.append(invalid(".".join(path), value or "", IMMUTABLE))


def _preserve(new: Mapping[str, Any], old: Mapping[str, Any], out: Causes) -> None:
    if member(old, "spec").get("preserveUnknownFields"):
        return
    if member(new, "spec").get("preserveUnknownFields"):
        out.append(invalid("spec.preserveUnknownFields", True, _PRESERVE))


def _same_schemas(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    def schemas(obj: Mapping[str, Any]) -> list[Any]:
        spec = member(obj, "spec")
        versions = spec.get("versions") or ()
        return [spec.get("validation"), *(version.get("schema") for version in versions)]

    return same(schemas(new), schemas(old))


def rules(compiler: CompileRules) -> Mapping[str, Validation]:
    """The rules of the group with a compiler of validation rules.

    Args:
        compiler: compiles the rules of a schema, see ``definitionschemas``.
    """

    def create(obj: Mapping[str, Any], _: str, out: Causes) -> None:
        _spec(member(obj, "spec"), out, compiler, {})
        _accepted_names(obj, out)
        _stored_versions(obj, out)
        check_approval(obj, None, out)
        _preserve(obj, {}, out)

    def update(new: Json, old: Json, out: Causes) -> None:
        webhook = member(member(member(old, "spec"), "conversion"), "webhook")
        versions = set(webhook.get("conversionReviewVersions") or ())
        bundle = member(webhook, "clientConfig").get("caBundle")
        _spec(
            member(new, "spec"),
            out,
            # what is stored was compiled before
            no_rules if _same_schemas(new, old) else compiler,
            _schemas_by_version(member(old, "spec")),
            recognized=not versions or bool(versions & {"v1", "v1beta1"}),
            any_bundle=not _established(old) or bool(bundle and not valid_bundle(bundle)),
        )
        _fixed(new, old, out)
        _accepted_names(new, out)
        _stored_versions(new, out)
        check_approval(new, old, out)
        _preserve(new, old, out)

    return {
        "customresourcedefinitions": Validation(
            create=create,
            update=update,
            revalidate=False,
            subresources={"status": lambda new, _, out: _accepted_names(new, out)},
            warnings=format_warnings,
        )
    }


_CHECKS = rules(compile_rules)
CUSTOMRESOURCEDEFINITIONS = _CHECKS["customresourcedefinitions"]
