"""A small Kubernetes source tree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

GVK = {"group": "apps", "version": "v1", "kind": "Deployment"}
FILES: dict[str, Any] = {
    "api/openapi-spec/v3/apis__apps__v1_openapi.json": {
        "components": {
            "schemas": {
                "io.k8s.api.apps.v1.Deployment": {
                    "description": "Words.",
                    "type": "object",
                    "x-kubernetes-group-version-kind": [GVK],
                }
            }
        },
        "paths": {
            "/apis/apps/v1/deployments": {
                "get": {"operationId": "listDeployment", "responses": {"200": {}}}
            }
        },
    },
    "api/openapi-spec/swagger.json": {
        "parameters": {"limit-1": {"name": "limit", "in": "query"}},
        "paths": {},
    },
    "api/discovery/api.json": {"kind": "APIVersions", "versions": ["v1"]},
    "api/discovery/api__v1.json": {
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [
            {"name": "pods", "kind": "Pod", "namespaced": True, "singularName": "pod",
             "verbs": ["list"]},
        ],
    },
    "api/discovery/aggregated_v2.json": {
        "items": [
            {
                "metadata": {"name": "apps"},
                "versions": [
                    {
                        "version": "v1",
                        "freshness": "Current",
                        "resources": [
                            {
                                "resource": "deployments",
                                "responseKind": GVK,
                                "scope": "Namespaced",
                                "singularResource": "deployment",
                                "verbs": ["list"],
                            }
                        ],
                    }
                ],
            }
        ]
    },
    "staging/src/k8s.io/api/apps/v1/generated.proto": (
        "package k8s.io.api.apps.v1;\nmessage Deployment {\n  optional string a = 1;\n}\n"
    ),
    "staging/src/k8s.io/api/apps/v1/register.go": (
        'const GroupName = "apps"\n\t\t&Deployment{},\n\t\t&metav1.WatchEvent{},\n'
    ),
    "staging/src/k8s.io/api/core/v1/types.go": (
        "type ResourceName string\n"
        "type ResourceList map[ResourceName]resource.Quantity\n"
        'type VolumeSource struct {\n\tPath *string `json:"path,omitempty"`\n}\n'
        "type Volume struct {\n"
        '\tVolumeSource `json:",inline" protobuf:"bytes,2,opt,name=volumeSource"`\n}\n'
        "type PodSpec struct {\n"
        '\tVolumes []Volume `json:"volumes,omitempty"`\n'
        '\tLimits ResourceList `json:"limits,omitempty"`\n'
        '\tGrace *int64 `json:"grace,omitempty"`\n}\n'
        'type Other struct {\n\tA string `json:"a"`\n}\n'
        "type PodTemplateSpec struct {\n"
        '\tmetav1.ObjectMeta `json:"metadata,omitempty"`\n'
        '\tSpec PodSpec `json:"spec,omitempty"`\n}\n'
    ),
    "staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/types.go": (
        'type ObjectMeta struct {\n\tName string `json:"name,omitempty"`\n'
        '\tCreationTimestamp Time `json:"creationTimestamp,omitempty"`\n}\n'
    ),
    "pkg/apis/apps/register.go": 'const GroupName = "apps"\n\t\t&Deployment{},\n\t\t&Old{},\n',
    "pkg/apis/apps/install/install.go": (
        'import (\n\t"k8s.io/kubernetes/pkg/apis/apps"\n\t"k8s.io/kubernetes/pkg/apis/apps/v1"\n)\n'
        "\tutil(apps.AddToScheme(scheme))\n\tutil(v1.AddToScheme(scheme))\n"
    ),
    "pkg/registry/apps/deployment/strategy.go": (
        "func (deploymentStrategy) AllowCreateOnUpdate() bool {\n\treturn false\n}\n"
        "func (deploymentStrategy) AllowUnconditionalUpdate() bool {\n\treturn true\n}\n"
        "func (deploymentStatusStrategy) AllowUnconditionalUpdate() bool {\n\treturn false\n}\n"
        "\tif !apiequality.Semantic.DeepEqual(oldOne.Spec, newOne.Spec) {\n"
        "\t\tnewOne.Generation = oldOne.Generation + 1\n\t}\n"
    ),
    "pkg/registry/networking/networkpolicy/strategy.go": (
        "\tif !reflect.DeepEqual(oldNetworkPolicy.Spec, newNetworkPolicy.Spec) {\n"
        "\t\tnewNetworkPolicy.Generation = oldNetworkPolicy.Generation + 1\n\t}\n"
    ),
    "test/instrumentation/documentation/documentation-list.yaml": (
        "- {name: total, subsystem: etcd, type: Counter, stabilityLevel: ALPHA}\n"
    ),
}  # fmt: skip


def plant(root: Path) -> Path:
    """Write the tree."""
    for name, content in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return root
