"""Plugins that are off by default, and those that ask the authorizers: what they answer.

`plugin_answers.json` is a script of requests with the answers that a kube-apiserver 1.36 gave to it
with the same plugins and configuration; its users had the same roles by RBAC.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from kubetrio.auth.issuing import TokenIssuer
from kubetrio.config import Admission, Config, Serving
from kubetrio.machinery.identity import MASTERS, UserInfo
from kubetrio.testing.client import Client
from kubetrio.testing.server import open_api
from kubetrio.tls.pki import Pki

Object = dict[str, Any]
SCRIPT: list[Object] = json.loads(
    (Path(__file__).parent / "plugin_answers.json").read_text(encoding="utf-8")
)
USERS = {
    "admin": UserInfo("admin", groups=(MASTERS,)),
    "alice": UserInfo("alice", groups=("devs",)),
    "bob": UserInfo("bob", groups=("devs",)),
    "node1": UserInfo("system:node:n1", groups=("system:nodes",)),
    "node2": UserInfo("system:node:n2", groups=("system:nodes",)),
    "noname": UserInfo("system:node:", groups=("system:nodes",)),
}
PLUGINS = (
    "AlwaysAdmit",
    "NamespaceAutoProvision",
    "NamespaceExists",
    "LimitPodHardAntiAffinityTopology",
    "NodeRestriction",
    "AlwaysPullImages",
    "PodNodeSelector",
    "PodTolerationRestriction",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "OwnerReferencesPermissionEnforcement",
    "DenyServiceExternalIPs",
)
LIMITS = """\
apiVersion: eventratelimit.admission.k8s.io/v1alpha1
kind: Configuration
limits:
- {type: Server, qps: 1, burst: 2}
- {type: Namespace, qps: 1, burst: 1, cacheSize: 100}
"""
CONFIGURATION = """\
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults:
      enforce: baseline
      warn: restricted
    exemptions:
      usernames: [alice]
      namespaces: [exempt, kube-system]
      runtimeClasses: [free]
- name: ResourceQuota
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: ResourceQuotaConfiguration
    limitedResources:
    - resource: persistentvolumeclaims
      matchContains: [".storageclass.storage.k8s.io/requests.storage"]
    - resource: pods
      matchScopes:
      - {scopeName: PriorityClass, operator: In, values: [cluster-services]}
- name: EventRateLimit
  path: limits.yaml
- name: PodTolerationRestriction
  configuration:
    apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1
    kind: Configuration
    default: []
- name: PodNodeSelector
  configuration:
    podNodeSelectorPluginConfig:
      clusterDefaultNodeSelector: "region=west"
      sel: "env=prod,region=east"
"""


@pytest.fixture
async def clients(tmp_path: Path, certificates: Pki) -> AsyncIterator[dict[str, Client]]:
    """A connection of each user to a server with the plugins."""
    (tmp_path / "limits.yaml").write_text(LIMITS, encoding="utf-8")
    file = tmp_path / "admission.yaml"
    file.write_text(CONFIGURATION, encoding="utf-8")
    config = Config(
        data_dir=tmp_path / "data",
        serving=Serving(secure_port=6443),
        admission=Admission(
            enable_plugins=PLUGINS,
            disable_plugins=("ServiceAccount",),
            plugin_config_file=file,
            allow_privileged=True,
        ),
    )
    async with AsyncExitStack() as stack:
        issuer = TokenIssuer(certificates.sa_key)
        server = await stack.enter_async_context(open_api(config=config, issuer=issuer))
        yield {
            name: await stack.enter_async_context(server.connect(certificate=user))
            for name, user in USERS.items()
        }


def filled(value: object, uids: dict[str, str]) -> Any:
    """A value with the uids of this run."""
    text = json.dumps(value)
    for name, uid in uids.items():
        text = text.replace(f"{{{name}}}", uid)
    return json.loads(text)


async def test_every_answer_is_kube_apiservers(clients: dict[str, Client]) -> None:
    """Status, reason, message, warnings, and what plugins make of pods."""
    uids: dict[str, str] = {}
    wrong: list[Object] = []
    for row in SCRIPT:
        answer = await clients[row["who"]].request(
            row["method"],
            row["path"],
            headers={"Content-Type": row.get("type", "application/json")},
            json=filled(row.get("body"), uids),
        )
        value = answer.json()
        if "uid" in row and answer.status < 300:
            uids[row["uid"]] = value["metadata"]["uid"]
        told = {"status": answer.status}
        if "message" in row:
            told |= {"message": value.get("message"), "reason": value.get("reason", "")}
        if "spec" in row:
            told["spec"] = {name: value.get("spec", {}).get(name) for name in row["spec"]}
        if "warnings" in row:
            header = answer.head.get(b"warning").decode()
            found = re.findall(r'299 - "((?:[^"\\]|\\.)*)"', header)
            told["warnings"] = [text.replace('\\"', '"') for text in found]
        expected = filled({name: row[name] for name in told}, uids)
        begins = filled(row.get("begins", ""), uids)
        if told != expected or not value.get("message", begins).startswith(begins):
            wrong.append({"asked": row, "told": told, "expected": expected})
    assert wrong == []
