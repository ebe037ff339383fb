"""What kubelets may do with pods: their own mirrors of static pods, their status, their tokens.

Source: docs "Admission Control in Kubernetes" (NodeRestriction); KEP-4193 (bound tokens of nodes).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.lookup import Lookup
from kubetrio.gotext.text import aggregate
from kubetrio.machinery import identity
from kubetrio.machinery.asking import Authorize, allowed
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import not_found
from kubetrio.plugins.containers import containers

Object = dict[str, Any]
MIRROR = "kubernetes.io/config.mirror"
AUDIENCE = "request-serviceaccounts-token-audience"


class Lacking(Exception):
    """A node may not do what it asks for; the text says why."""


async def _pod(lookup: Lookup, namespace: str, name: str) -> Object:
    pod = await lookup.get(f"/registry/pods/{namespace}/{name}")
    if pod is None:
        raise not_found(GroupResource("", "pod"), name)
    return pod


def _node_name(pod: Object | None) -> str:
    return str(((pod or {}).get("spec") or {}).get("nodeName") or "")


class NodePods:
    """Pods of a node.

    Args:
        lookup: reads pods and nodes.
    """

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    async def check(self, node: str, attributes: Attributes) -> None:
        """Refuse what a node may not do with a pod.

        Raises:
            Lacking: it may not.
            ApiError: 404, there is no such pod or node.
        """
        operation = attributes.operation
        match attributes.subresource:
            case "":
                if operation is Operation.CREATE:
                    await self._create(node, attributes.obj or {})
                elif operation is Operation.DELETE:
                    pod = await _pod(self._lookup, attributes.namespace, attributes.name)
                    if _node_name(pod) != node:
                        why = "can only delete pods with spec.nodeName set to itself"
                        raise Lacking(f"node {quote(node)} {why}")
                else:
                    raise Lacking(
                        f"unexpected operation {quote(operation)}, node {quote(node)} "
                        "can only create and delete mirror pods"
                    )
            case "status":
                _status(node, attributes)
            case "eviction":
                await self._evict(node, attributes)
            case other:
                raise Lacking(
                    f"unexpected pod subresource {quote(other)}, "
                    "only 'status' and 'eviction' are allowed"
                )

    async def _create(self, node: str, pod: Object) -> None:
        me, meta = quote(node), pod["metadata"]
        if MIRROR not in (meta.get("annotations") or {}):
            raise Lacking(
                f"pod does not have {quote(MIRROR)} annotation, "
                f"node {me} can only create mirror pods"
            )
        if _node_name(pod) != node:
            raise Lacking(f"node {me} can only create pods with spec.nodeName set to itself")
        owners = meta.get("ownerReferences") or []
        only = f"node {me} can only create pods with"
        if len(owners) > 1:
            raise Lacking(f"{only} a single owner reference set to itself")
        owner = owners[0] if owners else {}
        if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
            raise Lacking(f"{only} an owner reference set to itself")
        if not owner.get("controller"):
            raise Lacking(f"{only} a controller owner reference set to itself")
        if owner.get("blockOwnerDeletion"):
            raise Lacking(f"node {me} must not set blockOwnerDeletion on an owner reference")
        node_object = await self._lookup.get(f"/registry/minions/{node}")
        if node_object is None:
            raise not_found(GroupResource("", "node"), node)
        uid = node_object["metadata"]["uid"]
        if owner.get("uid") != uid:
            raise Lacking(f"node {node} UID mismatch: expected {owner.get('uid')} got {uid}")
        if referred := reference(pod["spec"]):
            raise Lacking(f"node {me} can not create pods that reference {referred}")

    async def _evict(self, node: str, attributes: Attributes) -> None:
        if attributes.operation is not Operation.CREATE:
            raise Lacking(f"unexpected operation {attributes.operation}")
        name = attributes.name or ((attributes.obj or {}).get("metadata") or {}).get("name") or ""
        if not name:
            raise Lacking("could not determine pod from request data")
        pod = await _pod(self._lookup, attributes.namespace, name)
        if _node_name(pod) != node:
            raise Lacking(f"node {node} can only evict pods with spec.nodeName set to itself")


def _status(node: str, attributes: Attributes) -> None:
    if attributes.operation is not Operation.UPDATE:
        raise Lacking(f"unexpected operation {quote(attributes.operation)}")
    new, old, me = attributes.obj or {}, attributes.old or {}, quote(node)
    if _node_name(old) != node:
        raise Lacking(
            f"node {me} can only update pod status for pods with spec.nodeName set to itself"
        )
    if (new["metadata"].get("labels") or {}) != (old["metadata"].get("labels") or {}):
        raise Lacking(f"node {me} cannot update labels through pod status")
    status, was = new.get("status") or {}, old.get("status") or {}
    if (status.get("resourceClaimStatuses") or []) != (was.get("resourceClaimStatuses") or []):
        raise Lacking(f"node {me} cannot update resource claim statues")
    if status.get("extendedResourceClaimStatus") != was.get("extendedResourceClaimStatus"):
        raise Lacking(f"node {me} cannot update extended resource claim status")


# ---------------------------------------------------------------------- other objects


# Volumes with a reference to a Secret, and the member that has it.
_SECRETIVE = {
    "azureFile": "secretName",
    "cephfs": "secretRef",
    "cinder": "secretRef",
    "flexVolume": "secretRef",
    "rbd": "secretRef",
    "secret": "secretName",
    "scaleIO": "secretRef",
    "iscsi": "secretRef",
    "storageos": "secretRef",
    "csi": "nodePublishSecretRef",
}
_VOLUMES = {
    "configMap": "configmaps (via configmap volumes)",
    "secret": "secrets (via secret volumes)",
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}
_PROJECTED = {
    "configMap": "configmaps (via projected volumes)",
    "secret": "secrets (via projected volumes)",
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


def reference(spec: Object) -> str:
    """What other objects a pod refers to, in kube-apiserver's words; empty for none.

    Args:
        spec: of the pod.
    """
    if spec.get("serviceAccountName"):
        return "serviceaccounts"
    if any(_secrets(spec)):
        return "secrets"
    if any(_configmaps(spec)):
        return "configmaps"
    if spec.get("resourceClaims"):
        return "resourceclaims"
    for volume in spec.get("volumes") or ():
        for member, words in _VOLUMES.items():
            if volume.get(member) is not None:
                return words
        for source in _sources(volume):
            for member, words in _PROJECTED.items():
                if source.get(member) is not None:
                    return words
    return ""


def _sources(volume: Object) -> list[Object]:
    return (volume.get("projected") or {}).get("sources") or []


def _from_containers(spec: Object, whole: str, one: str) -> Iterator[str]:
    for _, container in containers(spec):
        for each in container.get("envFrom") or ():
            yield (each.get(whole) or {}).get("name") or ""
        for each in container.get("env") or ():
            yield ((each.get("valueFrom") or {}).get(one) or {}).get("name") or ""


def _secrets(spec: Object) -> Iterator[str]:
    for each in spec.get("imagePullSecrets") or ():
        yield each.get("name") or ""
    yield from _from_containers(spec, "secretRef", "secretKeyRef")
    for volume in spec.get("volumes") or ():
        for member, where in _SECRETIVE.items():
            named = (volume.get(member) or {}).get(where)
            yield (named.get("name") or "") if isinstance(named, dict) else named or ""
        for source in _sources(volume):
            yield (source.get("secret") or {}).get("name") or ""


def _configmaps(spec: Object) -> Iterator[str]:
    yield from _from_containers(spec, "configMapRef", "configMapKeyRef")
    for volume in spec.get("volumes") or ():
        yield (volume.get("configMap") or {}).get("name") or ""
        for source in _sources(volume):
            yield (source.get("configMap") or {}).get("name") or ""


# ---------------------------------------------------------------------- tokens


class NodeTokens:
    """Tokens that kubelets ask for, of the service accounts of their pods.

    Args:
        lookup: reads objects.
        authorize: the server's authorizers.
    """

    def __init__(self, lookup: Lookup, authorize: Authorize) -> None:
        self._lookup = lookup
        self._authorize = authorize

    async def check(self, node: str, attributes: Attributes) -> None:
        """Refuse tokens that are for no pod of the node, or for others than the pod's audiences.

        Raises:
            Lacking: it may not.
            ApiError: 404, there is no such pod.
        """
        if attributes.operation is not Operation.CREATE or attributes.subresource != "token":
            return
        spec = (attributes.obj or {}).get("spec") or {}
        ref = spec.get("boundObjectRef") or {}
        bound = (ref.get("apiVersion"), ref.get("kind")) == ("v1", "Pod") and ref.get("name")
        if not bound:
            raise Lacking("node requested token not bound to a pod")
        uid = ref.get("uid") or ""
        if not uid:
            raise Lacking("node requested token with a pod binding without a uid")
        pod = await _pod(self._lookup, attributes.namespace, ref["name"])
        if uid != pod["metadata"]["uid"]:
            raise Lacking(
                f"the UID in the bound object reference ({uid}) does not match the UID in record. "
                "The object might have been deleted and then recreated"
            )
        if _node_name(pod) != node:
            raise Lacking("node requested token bound to a pod scheduled on a different node")
        await self._check_audience(attributes, spec.get("audiences") or [], pod)

    async def _check_audience(
        self, attributes: Attributes, audiences: list[str], pod: Object
    ) -> None:
        if len(audiences) > 1:
            raise Lacking("node may only request 0 or 1 audiences")
        audience = audiences[0] if audiences else ""
        present, errors = False, []
        for volume in pod["spec"].get("volumes") or ():
            tokens = [source.get("serviceAccountToken") for source in _sources(volume)]
            if any(one is not None and (one.get("audience") or "") == audience for one in tokens):
                present = True
                break
            try:
                if await self._of_driver(await self._driver(pod, volume), audience):
                    present = True
                    break
            except Lacking as error:
                errors.append(str(error))
        if present:
            return
        if errors:
            told = aggregate(errors)
            raise Lacking(f"error validating audience {quote(audience)}: {told}")
        asked = identity.Attributes(
            user=attributes.user,
            verb=AUDIENCE,
            namespace=attributes.namespace,
            api_version="v1",
            resource=audience,
            name=attributes.name,
        )
        if not await allowed(self._authorize, asked):
            raise Lacking(
                f"audience {quote(audience)} not found in pod spec volume, "
                f"{attributes.user.name} is not authorized to request tokens for this audience"
            )

    async def _get(self, prefix: str, resource: str, name: str) -> Object:
        obj = await self._lookup.get(f"/registry/{prefix}{name}")
        if obj is None:
            shown = name.rpartition("/")[2]
            raise Lacking(f"{resource} {quote(shown)} not found")
        return obj

    async def _driver(self, pod: Object, volume: Object) -> str:
        """The CSI driver of a volume, empty if it has none."""
        name, namespace = "", pod["metadata"]["namespace"]
        if (volume.get("ephemeral") or {}).get("volumeClaimTemplate") is not None:
            name = f"{pod['metadata']['name']}-{volume['name']}"
        elif volume.get("persistentVolumeClaim") is not None:
            name = volume["persistentVolumeClaim"].get("claimName") or ""
        elif volume.get("csi") is not None:
            return str(volume["csi"].get("driver") or "")
        else:
            return _migrated(volume)
        claim = await self._get(
            "persistentvolumeclaims/", "persistentvolumeclaim", f"{namespace}/{name}"
        )
        bound = (claim.get("spec") or {}).get("volumeName") or ""
        spec = (await self._get("persistentvolumes/", "persistentvolume", bound)).get("spec") or {}
        return str((spec.get("csi") or {}).get("driver") or "") or _migrated(spec)

    async def _of_driver(self, name: str, audience: str) -> bool:
        if not name:
            return False
        driver = await self._get("csidrivers/", "csidriver.storage.k8s.io", name)
        requests = (driver.get("spec") or {}).get("tokenRequests") or ()
        return any((one.get("audience") or "") == audience for one in requests)


# Volumes of old, and the drivers that serve them.
_MIGRATED = {
    "awsElasticBlockStore": "ebs.csi.aws.com",
    "azureDisk": "disk.csi.azure.com",
    "azureFile": "file.csi.azure.com",
    "cinder": "cinder.csi.openstack.org",
    "gcePersistentDisk": "pd.csi.storage.gke.io",
    "portworxVolume": "pxd.portworx.com",
    "vsphereVolume": "csi.vsphere.vmware.com",
}


def _migrated(source: Object) -> str:
    return next((name for kind, name in _MIGRATED.items() if source.get(kind) is not None), "")
