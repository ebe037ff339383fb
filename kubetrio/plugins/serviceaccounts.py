"""ServiceAccount: pods run as an account that is there, and get its token.

Source: docs "Managing Service Accounts" (ServiceAccount admission controller), "Configure Service
Accounts for Pods"; KEP-1205 (the projected volume).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import trio

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.objectcache import ObjectCache
from kubetrio.admission.plugin import POD_SPEC, Base, denied, put
from kubetrio.env import Env
from kubetrio.kinds.core.validation.podannotations import MIRROR
from kubetrio.machinery import objectmeta
from kubetrio.schema.wellknown import POD_RESOURCE as PODS

Object = dict[str, Any]

ACCOUNT_KEYS = "/registry/serviceaccounts/"
DEFAULT = "default"
ENFORCE = "kubernetes.io/enforce-mountable-secrets"
VOLUME = "kube-api-access-"
MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
TOKEN_LIFE_S = 3607
"""By it the server knows tokens that were not asked for by hand; see `auth.issuing`."""
TRIES, SHORTEST_S, LONGEST_S = 10, 0.1, 0.2
"""How often the default account is looked for, and how long is waited between."""
CONTAINER = "io.k8s.api.core.v1.Container"
EPHEMERAL = "ephemeralcontainers"
TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})

# Where kinds of volumes name a Secret: members on the way to the name.
SECRETS_OF: Mapping[str, tuple[str, ...]] = {
    "azureFile": ("secretName",),
    "cephfs": ("secretRef", "name"),
    "cinder": ("secretRef", "name"),
    "csi": ("nodePublishSecretRef", "name"),
    "flexVolume": ("secretRef", "name"),
    "iscsi": ("secretRef", "name"),
    "rbd": ("secretRef", "name"),
    "scaleIO": ("secretRef", "name"),
    "secret": ("secretName",),
    "storageos": ("secretRef", "name"),
}


def token_volume(name: str) -> Object:
    """The volume through which a pod gets the token of its account.

    Args:
        name: of the volume.
    """
    root = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": TOKEN_LIFE_S, "path": "token"}},
        {"configMap": root},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": 0o644}}


def wants_token(account: Object, spec: Object) -> bool:
    """Whether a pod gets a token: it may say so itself, else its account."""
    for one in (spec, account):
        choice = one.get("automountServiceAccountToken")
        if choice is not None:
            return bool(choice)
    return True


def with_token(spec: Object, generated: str) -> Object:
    """Members of a pod's spec that differ when it gets a token.

    Args:
        spec: as it is; not changed.
        generated: a name for the volume, if there is none.
    """
    volumes = spec.get("volumes") or []
    there = next((one["name"] for one in volumes if one["name"].startswith(VOLUME)), "")
    name = there or generated
    mount = {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}
    changed: Object = {}
    for member in ("initContainers", "containers"):
        containers: list[Object] = []
        for one in spec.get(member) or ():
            mounts = one.get("volumeMounts") or []
            # A container that mounts something else there has no need of it.
            if all(each.get("mountPath") != MOUNT_PATH for each in mounts):
                holder = {"of": one}
                put(holder, "of", CONTAINER, volumeMounts=[*mounts, dict(mount)])
                one = holder["of"]
                changed[member] = containers
            containers.append(one)
    if changed and not there:
        changed["volumes"] = [*volumes, token_volume(name)]
    return changed


# ---------------------------------------------------------------------- secrets


def _environment(containers: list[Object] | None) -> Iterator[tuple[Object, str, str]]:
    """The Secrets that containers get variables from: container, variable, name of the Secret.

    There is no variable where all of a Secret is taken.
    """
    for one in containers or ():
        for variable in one.get("env") or ():
            ref = (variable.get("valueFrom") or {}).get("secretKeyRef")
            if ref is not None:
                yield one, variable.get("name") or "", ref.get("name") or ""
        for source in one.get("envFrom") or ():
            ref = source.get("secretRef")
            if ref is not None:
                yield one, "", ref.get("name") or ""


def secret_names(spec: Object) -> Iterator[str]:
    """All Secrets that a pod names, wherever.

    Args:
        spec: of the pod.
    """
    for ref in spec.get("imagePullSecrets") or ():
        yield ref.get("name") or ""
    for member in ("initContainers", "containers", "ephemeralContainers"):
        for _, _, name in _environment(spec.get(member)):
            yield name
    for volume in spec.get("volumes") or ():
        for kind, way in SECRETS_OF.items():
            reference: Any = volume.get(kind)
            for member in way:
                reference = (reference or {}).get(member)
            yield reference or ""
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield (source.get("secret") or {}).get("name") or ""


def _foreign_variable(
    spec: Object, members: Mapping[str, str], known: set[str], account: str
) -> str:
    because = f"is not allowed because service account {account} does not reference that secret"
    for member, word in members.items():
        for container, variable, name in _environment(spec.get(member)):
            if name not in known:
                where = f"envVar {variable}" if variable else "envFrom"
                return (
                    f"{word} {container.get('name') or ''} with {where} referencing "
                    f'secret.secretName="{name}" {because}'
                )
    return ""


def foreign_secret(account: Object, spec: Object) -> str:
    """Why a pod may not name a Secret; empty when its account names all of them too.

    Args:
        account: that the pod runs as.
        spec: of the pod.
    """
    name = account["metadata"]["name"]
    known = {ref.get("name") or "" for ref in account.get("secrets") or ()}
    for volume in spec.get("volumes") or ():
        if volume.get("secret") is not None:
            secret = volume["secret"].get("secretName") or ""
            if secret not in known:
                return (
                    f'volume with secret.secretName="{secret}" is not allowed because service '
                    f"account {name} does not reference that secret"
                )
    containers = {"initContainers": "init container", "containers": "container"}
    why = _foreign_variable(spec, containers, known, name)
    if why:
        return why
    pulls = {ref.get("name") or "" for ref in account.get("imagePullSecrets") or ()}
    for index, ref in enumerate(spec.get("imagePullSecrets") or ()):
        if (ref.get("name") or "") not in pulls:
            return (
                f'imagePullSecrets[{index}].name="{ref.get("name") or ""}" is not allowed because '
                f"service account {name} does not reference that imagePullSecret"
            )
    return ""


def enforces(account: Object) -> bool:
    """Whether pods of an account may name no other Secrets than the account does."""
    return (account["metadata"].get("annotations") or {}).get(ENFORCE) in TRUE


# ---------------------------------------------------------------------- the plugin


class ServiceAccount(Base):
    """The plugin.

    Args:
        objects: reads accounts.
        env: randomness, for names of volumes and how long is waited.
    """

    name = "ServiceAccount"
    resources = frozenset({PODS})
    operations = frozenset({Operation.CREATE, Operation.UPDATE})

    def __init__(self, objects: ObjectCache, env: Env) -> None:
        self._objects = objects
        self._rng = env.rng

    async def mutate(self, attributes: Attributes) -> None:
        """Give a new pod an account, its token and its Secrets for pulling images.

        Raises:
            ApiError: 403, see `validate`.
        """
        pod = attributes.obj
        if pod is None or attributes.subresource or attributes.operation is not Operation.CREATE:
            return
        spec: Object = pod["spec"]
        if _is_mirror(pod):
            await self.validate(attributes)
            return
        if not spec.get("serviceAccountName"):
            put(pod, "spec", POD_SPEC, serviceAccountName=DEFAULT, serviceAccount=DEFAULT)
            spec = pod["spec"]
        account = await self._account(attributes, spec["serviceAccountName"])
        if wants_token(account, spec):
            put(pod, "spec", POD_SPEC, **with_token(spec, VOLUME + self._suffix()))
        pulls = [{"name": ref.get("name") or ""} for ref in account.get("imagePullSecrets") or ()]
        if pulls and not spec.get("imagePullSecrets"):
            put(pod, "spec", POD_SPEC, imagePullSecrets=pulls)
        await self.validate(attributes)

    def _suffix(self) -> str:
        alphabet = objectmeta.GENERATE_NAME_ALPHABET
        size = objectmeta.GENERATE_NAME_SUFFIX
        return "".join(alphabet[self._rng.randrange(len(alphabet))] for _ in range(size))

    async def validate(self, attributes: Attributes) -> None:
        """Refuse pods whose account is not there, or does not name what they name.

        Raises:
            ApiError: 403.
        """
        pod = attributes.obj
        if pod is None:
            return
        spec: Object = pod.get("spec") or {}
        if attributes.operation is Operation.UPDATE and attributes.subresource == EPHEMERAL:
            account = await self._named(attributes, pod)
            if enforces(account):
                known = {ref.get("name") or "" for ref in account.get("secrets") or ()}
                word = {"ephemeralContainers": "ephemeral container"}
                why = _foreign_variable(spec, word, known, account["metadata"]["name"])
                if why:
                    raise denied(attributes, why)
            return
        if attributes.operation is not Operation.CREATE or attributes.subresource:
            return
        if _is_mirror(pod):
            why = _wrong_mirror(spec)
            if why:
                raise denied(attributes, why)
            return
        account = await self._named(attributes, pod)
        if enforces(account):
            why = foreign_secret(account, spec)
            if why:
                raise denied(attributes, why)

    async def _named(self, attributes: Attributes, pod: Object) -> Object:
        """The account that a pod names."""
        name = (pod.get("spec") or {}).get("serviceAccountName")
        if not name:
            where = f"{attributes.namespace}/{pod['metadata'].get('name') or ''}"
            raise denied(attributes, f"no service account specified for pod {where}")
        return await self._account(attributes, name)

    async def _account(self, attributes: Attributes, name: str) -> Object:
        """An account; the default one may just be on its way, as it is made for each namespace."""
        key = f"{ACCOUNT_KEYS}{attributes.namespace}/{name}"
        account = await self._objects.get(key)
        if account is None and name == DEFAULT:
            pause_s = self._rng.uniform(SHORTEST_S, LONGEST_S)
            for _ in range(TRIES - 1):
                await trio.sleep(pause_s)
                account = await self._objects.get(key)
                if account is not None:
                    break
        if account is None:
            raise denied(
                attributes,
                f"error looking up service account {attributes.namespace}/{name}: "
                f'serviceaccount "{name}" not found',
            )
        return account


def _is_mirror(pod: Object) -> bool:
    return MIRROR in ((pod.get("metadata") or {}).get("annotations") or ())


def _wrong_mirror(spec: Object) -> str:
    """What the image of a static pod may not have: the kubelet has started it already."""
    if spec.get("serviceAccountName"):
        return "a mirror pod may not reference service accounts"
    if any(secret_names(spec)):
        return "a mirror pod may not reference secrets"
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if source.get("serviceAccountToken") is not None:
                return "a mirror pod may not use ServiceAccountToken volume projections"
    return ""
