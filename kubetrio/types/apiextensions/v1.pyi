"""Types of apiextensions/v1; made by python -m facts stubs."""

from typing import Any, Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import ObjectMeta

class CustomResourceColumnDefinition(TypedDict):
    """A column of the table that kubectl get shows."""

    description: NotRequired[str]
    format: NotRequired[str]
    jsonPath: str
    name: str
    priority: NotRequired[int]
    type: str

class CustomResourceConversion(TypedDict):
    """How objects are converted between the versions of a resource."""

    strategy: str
    webhook: NotRequired[WebhookConversion]

class CustomResourceDefinition(TypedDict):
    """Adds a resource to the API; its name must be <plural>.<group>."""

    apiVersion: Literal["apiextensions.k8s.io/v1"]
    kind: Literal["CustomResourceDefinition"]
    metadata: ObjectMeta
    spec: CustomResourceDefinitionSpec
    status: NotRequired[CustomResourceDefinitionStatus]

class CustomResourceDefinitionCondition(TypedDict):
    """One aspect of a definition's state, such as Established or NamesAccepted."""

    lastTransitionTime: NotRequired[str]
    message: NotRequired[str]
    observedGeneration: NotRequired[int]
    reason: NotRequired[str]
    status: str
    type: str

class CustomResourceDefinitionNames(TypedDict):
    """The names under which a resource can be used."""

    categories: NotRequired[list[str]]
    kind: str
    listKind: NotRequired[str]
    plural: str
    shortNames: NotRequired[list[str]]
    singular: NotRequired[str]

class CustomResourceDefinitionSpec(TypedDict):
    """Describes a new resource."""

    conversion: NotRequired[CustomResourceConversion]
    group: str
    names: CustomResourceDefinitionNames
    preserveUnknownFields: NotRequired[bool]
    scope: str
    versions: list[CustomResourceDefinitionVersion]

class CustomResourceDefinitionStatus(TypedDict):
    """What was observed of a definition."""

    acceptedNames: NotRequired[CustomResourceDefinitionNames]
    conditions: NotRequired[list[CustomResourceDefinitionCondition]]
    observedGeneration: NotRequired[int]
    storedVersions: NotRequired[list[str]]

class CustomResourceDefinitionVersion(TypedDict):
    """One version of a resource."""

    additionalPrinterColumns: NotRequired[list[CustomResourceColumnDefinition]]
    deprecated: NotRequired[bool]
    deprecationWarning: NotRequired[str]
    name: str
    schema: NotRequired[CustomResourceValidation]
    selectableFields: NotRequired[list[SelectableField]]
    served: bool
    storage: bool
    subresources: NotRequired[CustomResourceSubresources]

class CustomResourceSubresourceScale(TypedDict):
    """Adds /scale, which speaks of replicas in autoscaling/v1."""

    labelSelectorPath: NotRequired[str]
    specReplicasPath: str
    statusReplicasPath: str

class CustomResourceSubresources(TypedDict):
    """Subresources of custom objects."""

    scale: NotRequired[CustomResourceSubresourceScale]
    status: NotRequired[dict[str, Any]]

class CustomResourceValidation(TypedDict):
    """The schema of one version of a resource."""

    openAPIV3Schema: NotRequired[JSONSchemaProps]

class ExternalDocumentation(TypedDict):
    """Points to documentation elsewhere."""

    description: NotRequired[str]
    url: NotRequired[str]

JSONSchemaProps = TypedDict(
    "JSONSchemaProps",
    {
        "$ref": NotRequired[str],
        "$schema": NotRequired[str],
        "additionalItems": NotRequired[Any],
        "additionalProperties": NotRequired[Any],
        "allOf": NotRequired[list[JSONSchemaProps]],
        "anyOf": NotRequired[list[JSONSchemaProps]],
        "default": NotRequired[Any],
        "definitions": NotRequired[dict[str, JSONSchemaProps]],
        "dependencies": NotRequired[dict[str, Any]],
        "description": NotRequired[str],
        "enum": NotRequired[list[Any]],
        "example": NotRequired[Any],
        "exclusiveMaximum": NotRequired[bool],
        "exclusiveMinimum": NotRequired[bool],
        "externalDocs": NotRequired[ExternalDocumentation],
        "format": NotRequired[str],
        "id": NotRequired[str],
        "items": NotRequired[Any],
        "maxItems": NotRequired[int],
        "maxLength": NotRequired[int],
        "maxProperties": NotRequired[int],
        "maximum": NotRequired[float],
        "minItems": NotRequired[int],
        "minLength": NotRequired[int],
        "minProperties": NotRequired[int],
        "minimum": NotRequired[float],
        "multipleOf": NotRequired[float],
        "not": NotRequired[JSONSchemaProps],
        "nullable": NotRequired[bool],
        "oneOf": NotRequired[list[JSONSchemaProps]],
        "pattern": NotRequired[str],
        "patternProperties": NotRequired[dict[str, JSONSchemaProps]],
        "properties": NotRequired[dict[str, JSONSchemaProps]],
        "required": NotRequired[list[str]],
        "title": NotRequired[str],
        "type": NotRequired[str],
        "uniqueItems": NotRequired[bool],
        "x-kubernetes-embedded-resource": NotRequired[bool],
        "x-kubernetes-int-or-string": NotRequired[bool],
        "x-kubernetes-list-map-keys": NotRequired[list[str]],
        "x-kubernetes-list-type": NotRequired[str],
        "x-kubernetes-map-type": NotRequired[str],
        "x-kubernetes-preserve-unknown-fields": NotRequired[bool],
        "x-kubernetes-validations": NotRequired[list[ValidationRule]],
    },
)

class SelectableField(TypedDict):
    """A field that field selectors may name."""

    jsonPath: str

class ServiceReference(TypedDict):
    """Points to the Service of a webhook."""

    name: str
    namespace: str
    path: NotRequired[str]
    port: NotRequired[int]

class ValidationRule(TypedDict):
    """A rule in CEL that a value must obey."""

    fieldPath: NotRequired[str]
    message: NotRequired[str]
    messageExpression: NotRequired[str]
    optionalOldSelf: NotRequired[bool]
    reason: NotRequired[Literal["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"]]
    rule: str

class WebhookClientConfig(TypedDict):
    """How a webhook is reached; exactly one of url and service is given."""

    caBundle: NotRequired[str]
    service: NotRequired[ServiceReference]
    url: NotRequired[str]

class WebhookConversion(TypedDict):
    """A webhook that converts objects between versions."""

    clientConfig: NotRequired[WebhookClientConfig]
    conversionReviewVersions: list[str]
