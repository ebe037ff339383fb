"""Values that requests choose from: media types, options of queries, bodies of subresources."""

from __future__ import annotations

from fuzz.corpus import Object, Schema

JSON = "application/json"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
STRATEGIC = "application/strategic-merge-patch+json"
PATCH = "application/json-patch+json"
ACCEPTS = (
    JSON,
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/cbor",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "*/*",
    "text/html",
    "a/b;;",
)
MANAGERS = ("one", "two", "kubectl", "", "m" * 129, "é", "a\u0007")
QUERIES: dict[str, tuple[str, ...]] = {
    "limit": ("0", "1", "2", "-1", "x", "9" * 30),
    "continue": ("x", "", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ==", "e30="),
    "resourceVersion": ("0", "1", "x", "-1", "9" * 30, "999999"),
    "resourceVersionMatch": ("Exact", "NotOlderThan", "x", ""),
    "labelSelector": (
        "a=b",
        "a in (b",
        "!a",
        "a>1",
        ",",
        "é=1",
        "a=" + "x" * 70,
        "a notin (b,c),d",
    ),
    "fieldSelector": (
        "metadata.name=a",
        "a=b",
        "metadata.name!=a,",
        "spec.x=1",
        "status.phase=x",
        "==",
        "\\",
    ),
    "timeoutSeconds": ("1", "0", "-1", "x"),
    "allowWatchBookmarks": ("true", "false", "x"),
    "sendInitialEvents": ("true", "false", "x"),
    "pretty": ("true", "false", "x"),
    "includeObject": ("None", "Object", "Metadata", "x"),
    "dryRun": ("All", "", "x"),
    "fieldValidation": ("Strict", "Warn", "Ignore", "x"),
    "fieldManager": MANAGERS,
    "force": ("true", "false", "x"),
    "propagationPolicy": ("Orphan", "Background", "Foreground", "x"),
    "gracePeriodSeconds": ("0", "-1", "30", "x"),
    "orphanDependents": ("true", "false", "x"),
    "timeout": ("1s", "0", "x", "-1s"),
    "shardSelector": ("x",),
    "x": ("y",),
}
DELETE_OPTIONS: Schema = {"$ref": "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"}
BODIES: dict[str, Object] = {
    "scale": {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 2}},
    "eviction": {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "deleteOptions": {"dryRun": ["All"]},
    },
    "binding": {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "n"}},
    "token": {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": ["a"], "expirationSeconds": 600},
    },
}
TYPES = {
    "scale": "io.k8s.api.autoscaling.v1.Scale",
    "eviction": "io.k8s.api.policy.v1.Eviction",
    "binding": "io.k8s.api.core.v1.Binding",
    "token": "io.k8s.api.authentication.v1.TokenRequest",
}
STREAMED = frozenset({"attach", "exec", "portforward", "proxy", "log"})
OWN = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")
