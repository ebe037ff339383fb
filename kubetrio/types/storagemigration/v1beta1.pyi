"""Types of storagemigration/v1beta1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import Condition, GroupResource, ObjectMeta

class StorageVersionMigration(TypedDict):
    """Asks for all objects of a resource to be stored anew in the current version."""

    apiVersion: Literal["storagemigration.k8s.io/v1beta1"]
    kind: Literal["StorageVersionMigration"]
    metadata: NotRequired[ObjectMeta]
    spec: StorageVersionMigrationSpec
    status: NotRequired[StorageVersionMigrationStatus]

class StorageVersionMigrationSpec(TypedDict):
    """Describes what to migrate."""

    resource: GroupResource

class StorageVersionMigrationStatus(TypedDict):
    """How far a migration is."""

    conditions: NotRequired[list[Condition]]
    resourceVersion: NotRequired[str]
