"""Warnings about pods and templates of them: what is deprecated or surely not meant.

Source: the deprecation notes of the API reference and of "Well-Known Labels, Annotations and
Taints" in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubetrio.kinds.common.addresses import ip_warnings
from kubetrio.kinds.common.checks import Json
from kubetrio.kinds.common.quantities import amount_of
from kubetrio.kinds.core.validation.claims import claim_spec_warnings
from kubetrio.kinds.core.validation.nodelabels import DEPRECATED_LABELS
from kubetrio.kinds.core.validation.podannotations import (
    APP_ARMOR,
    SECCOMP_CONTAINER,
    SECCOMP_POD,
    app_armor_profile,
)
from kubetrio.kinds.core.validation.security import every_container
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.names_validation import dns1123_label, label_value

DEPRECATED_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
"""Volume sources that no node has any more."""
_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
    "security.alpha.kubernetes.io/unsafe-sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
}
_NULL_SELECTOR = "a null labelSelector results in matching no pod"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_FIELD_INSTEAD = 'non-functional in v1.27+; use the "seccompProfile" field instead'


def node_selector_term_warnings(
    term: Mapping[str, Any], path: str, *, values: bool = False
) -> Iterator[str]:
    """Warnings about a term of a node selector.

    Args:
        term: the term.
        path: its path.
        values: whether to warn of values that no label can have.
    """
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        where = f"{path}.matchExpressions[{index}]"
        key = expression.get("key") or ""
        if key in DEPRECATED_LABELS:
            yield f"{where}.key: {key} is {DEPRECATED_LABELS[key]}"
        for number, value in enumerate(expression.get("values") or ()) if values else ():
            for message in label_value(value):
                yield f"{where}.values[{number}]: {value} is invalid, {message}"


def _scheduling(spec: Json, path: str) -> Iterator[str]:
    for key in spec.get("nodeSelector") or ():
        if key in DEPRECATED_LABELS:
            yield f"{path}.nodeSelector[{key}]: {DEPRECATED_LABELS[key]}"
    node = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    where = f"{path}.affinity.nodeAffinity"
    for index, term in enumerate((node.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        at = f"{where}.{_REQUIRED}.nodeSelectorTerms[{index}]"
        yield from node_selector_term_warnings(term, at)
    for index, term in enumerate(node.get(_PREFERRED) or ()):
        at = f"{where}.{_PREFERRED}[{index}].preference"
        yield from node_selector_term_warnings(term.get("preference") or {}, at, values=True)
    for index, item in enumerate(spec.get("topologySpreadConstraints") or ()):
        at = f"{path}.topologySpreadConstraints[{index}]"
        key = item.get("topologyKey") or ""
        if key in DEPRECATED_LABELS:
            yield f"{at}.topologyKey: {key} is {DEPRECATED_LABELS[key]}"
        if item.get("labelSelector") is None:
            yield f"{at}.labelSelector: {_NULL_SELECTOR}"


def _volumes(volumes: Sequence[Json], path: str) -> Iterator[str]:
    for index, volume in enumerate(volumes):
        where = f"{path}[{index}]"
        for name, text in DEPRECATED_VOLUMES.items():
            if volume.get(name) is not None:
                shown = "storageOS" if name == "storageos" else name
                yield f"{where}.{shown}: {text}"
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
        if template:
            at = f"{where}.ephemeral.volumeClaimTemplate.spec"
            yield from claim_spec_warnings(template.get("spec") or {}, at)
    yield from _overlapping_files(volumes)


_File = tuple[str, str]
"""A path below a volume, and what puts it there (empty where the volume has one source)."""


def _shown_file(file: _File) -> str:
    path, source = file
    return f"{quote(path)} ({source})" if source else quote(path)


def _collisions(files: Sequence[_File]) -> Iterator[str]:
    """Pairs of files of which one hides the other, or is a directory of its path."""
    before: list[_File] = []
    for path, source in files:
        file = (path.rstrip("/"), source)
        for other in before:
            mine, theirs = f"{file[0]}/", f"{other[0]}/"
            if file[0] and other[0] and (mine.startswith(theirs) or theirs.startswith(mine)):
                yield f"overlapping paths: {_shown_file(file)} with {_shown_file(other)}"
        before.append(file)


def _files(source: Mapping[str, Any] | None, label: str = "") -> list[_File]:
    return [(item.get("path") or "", label) for item in (source or {}).get("items") or ()]


def _projected_files(source: Json) -> list[_File]:
    """Files of a source, of which only the first member counts."""
    for name, kind in (("configMap", "ConfigMap"), ("secret", "Secret")):
        held = source.get(name) or {}
        if held.get("items"):
            return _files(held, f"{kind} {quote(held.get('name') or '')}")
    if (held := source.get("downwardAPI") or {}).get("items"):
        return _files(held, "DownwardAPI")
    if (token := source.get("serviceAccountToken")) is not None:
        return [(token.get("path") or "", "ServiceAccountToken")]
    if (bundle := source.get("clusterTrustBundle")) is not None:
        name = bundle.get("name", bundle.get("signerName") or "")
        return [(bundle.get("path") or "", f"ClusterTrustBundle {quote(name)}")]
    return []


def _overlapping_files(volumes: Sequence[Json]) -> Iterator[str]:
    """Files of one volume that hide each other."""
    for volume in volumes:
        named = f"volume {quote(volume.get('name') or '')}"
        for member, kind, key in (
            ("configMap", "ConfigMap", "name"),
            ("secret", "Secret", "secretName"),
            ("downwardAPI", "DownwardAPI", ""),
        ):
            if held := volume.get(member):
                shown = f"{kind} {quote(held.get(key) or '')}" if key else kind
                for text in _collisions(_files(held)):
                    yield f"{named} ({shown}): {text}"
        projected = volume.get("projected")
        if projected is None:
            continue
        sources = projected.get("sources") or ()
        for source in sources:
            if not source:
                yield f"{named} (Projected) has no sources provided"
        for text in _collisions([file for source in sources for file in _projected_files(source)]):
            yield f"{named} (Projected): {text}"


def _lists(spec: Json, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        address = alias.get("ip") or ""
        where = f"{path}.hostAliases[{index}].ip"
        if address in seen:
            yield f"{where}: duplicate ip {quote(address)}"
        seen.add(address)
    names: set[str] = set()
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        name = secret.get("name") or ""
        where = f"{path}.imagePullSecrets[{index}].name"
        if name in names:
            yield f"{where}: duplicate name {quote(name)}"
        if not name:
            yield f'{where}: invalid empty name ""'
        names.add(name)


def _addresses(spec: Json, path: str) -> Iterator[str]:
    servers = (spec.get("dnsConfig") or {}).get("nameservers") or ()
    for index, server in enumerate(servers):
        yield from ip_warnings(server, f"{path}.dnsConfig.nameservers[{index}]")
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        yield from ip_warnings(alias.get("ip") or "", f"{path}.hostAliases[{index}].ip")


def _fractions(holder: Mapping[str, Any], path: str, *sides: str) -> Iterator[str]:
    for name in ("memory", "ephemeral-storage"):
        for side in sides:
            value = (holder.get(side) or {}).get(name)
            if value is not None and amount_of(value).milli_value() % 1000:
                yield (
                    f'{path}.{side}[{name}]: fractional byte value "{value}" is invalid, '
                    "must be an integer"
                )


def _env(items: Sequence[Json], path: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, item in enumerate(items):
        name, value = item.get("name") or "", item.get("value") or ""
        reference = f"$({name})"
        hides = item.get("valueFrom") is not None or value == reference or reference not in value
        if name in seen and hides:
            yield (
                f"{path}[{index}]: hides previous definition of {quote(name)}, which may be "
                "dropped when using apply"
            )
        seen.add(name)


def _matches(context: Json, note: str | None) -> bool:
    """Whether the AppArmor profile of a pod is the one that an annotation of a container names."""
    profile = context.get("appArmorProfile")
    return profile is not None and profile == app_armor_profile(note or "")


def _containers(
    spec: Json,
    containers: Sequence[tuple[Json, str]],
    notes: Mapping[str, str],
    path: str,
    notes_path: str,
) -> Iterator[str]:
    own = spec.get("securityContext") or {}
    if SECCOMP_POD in notes and own.get("seccompProfile") is None:
        yield f"{notes_path}[{SECCOMP_POD}]: {_FIELD_INSTEAD}"
    is_template = path != "spec"
    for container, where in containers:
        context = container.get("securityContext") or {}
        name = container.get("name") or ""
        if notes:
            key = SECCOMP_CONTAINER + name
            if key in notes and context.get("seccompProfile") is None:
                yield f"{notes_path}[{key}]: {_FIELD_INSTEAD}"
            key = APP_ARMOR + name
            profile = context.get("appArmorProfile") or _matches(own, notes.get(key))
            if is_template and key in notes and not profile:
                yield (
                    f"{notes_path}[{key}]: deprecated since v1.30; "
                    'use the "appArmorProfile" field instead'
                )
        if resources := container.get("resources"):
            yield from _fractions(resources, f"{where}.resources", "limits", "requests")
        env = container.get("env") or ()
        if len(env) > 1:
            yield from _env(env, f"{where}.env")


def _ports(containers: Sequence[tuple[Json, str]]) -> Iterator[str]:
    seen: dict[tuple[int, str], list[tuple[str, str, int]]] = {}
    for container, at in containers:
        for index, port in enumerate(container.get("ports") or ()):
            where = f"{at}.ports[{index}]"
            address, host = port.get("hostIP") or "", port.get("hostPort") or 0
            number, protocol = port.get("containerPort") or 0, port.get("protocol") or ""
            if address and not host:
                shown = f"{{Name:{port.get('name') or ''} HostPort:0 ContainerPort:{number} "
                shown += f"Protocol:{protocol} HostIP:{address}}}"
                yield f"{where}: hostIP set without hostPort: {shown}"
            others = seen.setdefault((number, protocol), [])
            for other, their_address, their_host in others:
                if (address, host) == (their_address, their_host):
                    yield f"{where}: duplicate port definition with {other}"
                elif not host or not their_host:
                    yield f"{where}: overlapping port definition with {other}"
                elif host == their_host and bool(address) != bool(their_address):
                    yield f"{where}: dangerously ambiguous port definition with {other}"
            others.append((where, address, host))


def _port_names(containers: Sequence[tuple[Json, str]]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for container, at in containers:
        for index, port in enumerate(container.get("ports") or ()):
            name = port.get("name")
            if not name:
                continue
            where = f"{at}.ports[{index}]"
            first = seen.setdefault(name, where)
            if first != where:
                yield (
                    f"{where}: duplicate port name {quote(name)} with {first}, services and probes "
                    f"that select ports by name will use {first}"
                )


def _affinity_terms(spec: Json, path: str) -> Iterator[str]:
    for kind in ("podAffinity", "podAntiAffinity"):
        value = (spec.get("affinity") or {}).get(kind) or {}
        for index, term in enumerate(value.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                where = f"{path}.affinity.{kind}.{_REQUIRED}[{index}]"
                yield f"{where}.labelSelector: {_NULL_SELECTOR}"
        for index, term in enumerate(value.get(_PREFERRED) or ()):
            if (term.get("podAffinityTerm") or {}).get("labelSelector") is None:
                where = f"{path}.affinity.{kind}.{_PREFERRED}[{index}].podAffinityTerm"
                yield f"{where}.labelSelector: {_NULL_SELECTOR}"


def template_warnings(template: Mapping[str, Any], path: str = "") -> list[str]:
    """Warnings about a pod or a template of pods.

    Args:
        template: with ``metadata`` and ``spec``.
        path: its path, empty for a pod.
    """
    spec: Json = template.get("spec") or {}
    prefix = f"{path}." if path else ""
    where, notes_path = f"{prefix}spec", f"{prefix}metadata.annotations"
    notes = (template.get("metadata") or {}).get("annotations") or {}
    warnings = [*_scheduling(spec, where)]
    warnings += [
        f"{notes_path}[{key}]: {text}" for key, text in _ANNOTATIONS.items() if key in notes
    ]
    if volumes := spec.get("volumes"):
        warnings += _volumes(volumes, f"{where}.volumes")
    warnings += _lists(spec, where)
    warnings += _fractions(spec, where, "overhead")
    containers = every_container(spec, where)
    warnings += _containers(spec, containers, notes, where, notes_path)
    warnings += _ports(containers)
    warnings += _port_names(containers)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        warnings.append(
            f"{where}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid "
            "and will be treated as 1"
        )
    warnings += _affinity_terms(spec, where)
    warnings += _addresses(spec, where)
    return warnings


def hostname_warnings(obj: Json, *, owner: bool) -> list[str]:
    """Warnings about a name that is no DNS label and becomes part of a host's name.

    Args:
        obj: a pod or an owner of pods.
        owner: whether it is an owner.
    """
    messages = dns1123_label((obj.get("metadata") or {}).get("name") or "")
    if not messages:
        return []
    use = "in Pod names and hostnames" if owner else "in the Pod's hostname"
    return [
        (
            f"metadata.name: this is used {use}, which can result in surprising behavior; a DNS "
            f"label is recommended: [{' '.join(messages)}]"
        )
    ]


def same_generation(new: Json, old: Json | None) -> bool:
    """Whether an update changed nothing that warnings are about.

    Args:
        new: the object as it would be stored.
        old: the object as it is stored; None for a create.
    """
    if old is None:
        return False
    return bool(new["metadata"].get("generation") == old["metadata"].get("generation"))


def owner_warnings(new: Json, old: Json | None) -> list[str]:
    """Warnings about an owner of pods whose name becomes part of theirs.

    Args:
        new: the owner as it would be stored.
        old: the owner as it is stored; None for a create.
    """
    if old is not None and same_generation(new, old):
        return []
    names = hostname_warnings(new, owner=True) if old is None else []
    template = (new.get("spec") or {}).get("template") or {}
    return names + template_warnings(template, "spec.template")


def controller_warnings(new: Json, old: Json | None) -> list[str]:
    """Warnings about a ReplicationController: on a change kube-apiserver looks at the old template.

    Args:
        new: the controller as it would be stored.
        old: the controller as it is stored; None for a create.
    """
    if old is None or same_generation(new, old):
        return owner_warnings(new, old)
    return template_warnings((old.get("spec") or {}).get("template") or {}, "spec.template")
