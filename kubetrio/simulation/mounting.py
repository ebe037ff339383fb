"""What the volumes of a pod need before a kubelet can mount them: Secrets, ConfigMaps, claims.

Source: k8s.io/kubernetes/pkg/volume (secret, configmap, projected: what is missing, and the words),
pkg/kubelet/volumemanager (claims), pkg/util/goroutinemap/exponentialbackoff (waits).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kubetrio.simulation.containers import CONFIG_ERROR
from kubetrio.simulation.plans import LISTS, Role

Object = dict[str, Any]

FAILED = "FailedMount"
SECRET, CONFIG_MAP, CLAIM = "secret", "configmap", "persistentvolumeclaim"
"""Kinds, in a kubelet's words."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 122.0
CLAIM_WAIT_S = 10.0
"""How long a kubelet waits before it looks at a pod again whose claim is missing."""
OF_EVERY_NAMESPACE = "kube-root-ca.crt"
"""A ConfigMap that the server adds to pods: a controller makes it, which may be off here."""


class Source(NamedTuple):
    """An object that a volume takes files from, or environment variables their text.

    Args:
        kind: `SECRET`, `CONFIG_MAP` or `CLAIM`.
        name: of the object.
    """

    kind: str
    name: str


class Part(NamedTuple):
    """What a volume or an environment variable takes from an object.

    Args:
        source: the object.
        keys: those that have to be there.
        optional: whether the object and the keys may be missing.
    """

    source: Source
    keys: tuple[str, ...] = ()
    optional: bool = False


class Wait(NamedTuple):
    """How long a pod waits whose volumes could not be mounted.

    Args:
        uid: of the pod.
        delay_s: how long it waits.
        until: wall clock, in seconds.
    """

    uid: str
    delay_s: float
    until: float


def begun(pod: Object) -> bool:
    """Whether a kubelet has tried to create a container of a pod: its volumes are mounted then."""
    status: Object = pod.get("status") or {}
    return any(
        _tried(one.get("state") or {"waiting": {}}) or bool(one.get("lastState"))
        for member in (Role.INIT.statuses, Role.REGULAR.statuses)
        for one in status.get(member) or ()
    )


def _tried(state: Object) -> bool:
    return "waiting" not in state or (state["waiting"] or {}).get("reason") == CONFIG_ERROR


def needs_of(pod: Object) -> list[tuple[str, list[Part]]]:
    """The volumes that containers of a pod mount, and what each needs that may be missing."""
    spec = pod["spec"]
    used = {
        mount["name"]
        for path in LISTS
        for container in spec.get(path) or ()
        for member in ("volumeMounts", "volumeDevices")
        for mount in container.get(member) or ()
    }
    volumes = [(one["name"], [*_parts(one)]) for one in spec.get("volumes") or ()]
    return [(name, parts) for name, parts in volumes if parts and name in used]


def _parts(volume: Object) -> Iterator[Part]:
    if secret := volume.get("secret"):
        yield _part(SECRET, secret.get("secretName"), secret)
    elif config := volume.get("configMap"):
        yield _part(CONFIG_MAP, config.get("name"), config)
    elif claim := volume.get("persistentVolumeClaim"):
        yield Part(Source(CLAIM, claim.get("claimName") or ""))
    for source in (volume.get("projected") or {}).get("sources") or ():
        for member, kind in (("secret", SECRET), ("configMap", CONFIG_MAP)):
            volume_source = source.get(member)
            if volume_source and volume_source.get("name") != OF_EVERY_NAMESPACE:
                yield _part(kind, volume_source.get("name"), volume_source)


def _part(kind: str, name: str | None, volume_source: Object) -> Part:
    keys = tuple(one["key"] for one in volume_source.get("items") or ())
    return Part(Source(kind, name or ""), keys, bool(volume_source.get("optional")))


def problems_of(
    namespace: str,
    needs: Sequence[tuple[str, Sequence[Part]]],
    objects: Mapping[Source, Object | None],
) -> list[str]:
    """Why volumes cannot be mounted, in a kubelet's words; none where all can be.

    Args:
        namespace: of the pod.
        needs: its volumes, see `needs_of`.
        objects: the objects that they need, None for those that are missing.
    """
    messages, unclaimed, errors = [], [], []
    for volume, parts in needs:
        told = [text for part in parts if (text := _missing(part, objects[part.source]))]
        if told and parts[0].source.kind == CLAIM:
            unclaimed.append(volume)
            errors.append(f"error processing PVC {namespace}/{parts[0].source.name}: {told[0]}")
        elif told:
            text = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
            messages.append(f'MountVolume.SetUp failed for volume "{volume}" : {text}')
    if unclaimed:
        names = f"[{' '.join(sorted(unclaimed))}]"
        messages.append(
            f"Unable to attach or mount volumes: unmounted volumes={names}, "
            f"unattached volumes=[], failed to process volumes={names}: {'; '.join(errors)}"
        )
    return messages


def _missing(part: Part, obj: Object | None) -> str:
    """What is missing of an object; empty for nothing."""
    kind, name = part.source
    if part.optional:
        return ""
    if obj is None:
        if kind == CLAIM:
            return f'failed to fetch PVC from API server: {kind}s "{name}" not found'
        return f'{kind} "{name}" not found'
    there = {*(obj.get("data") or ()), *(obj.get("binaryData") or ())}
    key = next((one for one in part.keys if one not in there), None)
    if key is None:
        return ""
    if kind == SECRET:
        return f"references non-existent secret key: {key}"
    return f"configmap references non-existent config key: {key}"


def next_wait(uid: str, old: Wait | None, now: float, *, only_claims: bool) -> Wait:
    """How long a pod waits after another failure.

    Args:
        uid: of the pod.
        old: how long it waited before, None at the first failure.
        now: wall clock, in seconds.
        only_claims: whether nothing but claims is missing.
    """
    if only_claims:
        delay_s = CLAIM_WAIT_S
    elif old is None or old.uid != uid:
        delay_s = FIRST_WAIT_S
    else:
        delay_s = min(2 * old.delay_s, LONGEST_WAIT_S)
    return Wait(uid, delay_s, now + delay_s)
