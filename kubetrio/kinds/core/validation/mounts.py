"""Mounts and block devices of containers.

Source: "Volumes" and "Raw Block Volume Support" in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubetrio.kinds.common.checks import Causes, Json
from kubetrio.kinds.common.formats import descending
from kubetrio.machinery.fielderrors import (
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")


def mounts(container: Json, path: str, out: Causes, volumes: Mapping[str, Json]) -> None:
    """Check the mounts and devices of a container.

    Args:
        container: the container.
        path: its path.
        out: receives causes.
        volumes: good volumes of the pod by name.
    """
    mounted = container.get("volumeMounts") or ()
    devices = container.get("volumeDevices") or ()
    if mounted:
        used = {device.get("name") or "": device.get("devicePath") or "" for device in devices}
        _mounts(container, mounted, f"{path}.volumeMounts", out, (used, volumes))
    if devices:
        used = {mount.get("name") or "": mount.get("mountPath") or "" for mount in mounted}
        _devices(devices, f"{path}.volumeDevices", out, (used, volumes))


_Used = tuple[Mapping[str, str], Mapping[str, Json]]
"""What the other list uses (name to path), and the volumes."""


def _mounts(container: Json, items: Sequence[Json], path: str, out: Causes, used: _Used) -> None:
    devices, volumes = used
    paths: set[str] = set()
    for index, mount in enumerate(items):
        where = f"{path}[{index}]"
        name, target = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            out.append(required(f"{where}.name"))
        if name not in volumes:
            out.append(not_found(f"{where}.name", name))
        if not target:
            out.append(required(f"{where}.mountPath"))
        if target in paths:
            out.append(invalid(f"{where}.mountPath", target, "must be unique"))
        paths.add(target)
        if name in devices:
            out.append(invalid(f"{where}.name", name, "must not already exist in volumeDevices"))
        if devices and target in devices.values():
            detail = "must not already exist as a path in volumeDevices"
            out.append(invalid(f"{where}.mountPath", target, detail))
        _sub_paths(mount, (where, path), out)
        # upstream leaves the index out of these paths
        if mount.get("mountPropagation") is not None:
            _propagation(mount, container, f"{path}.mountPropagation", out)
        if mount.get("recursiveReadOnly") is not None:
            _recursive_read_only(mount, f"{path}.recursiveReadOnly", out)


def _sub_paths(mount: Json, paths: tuple[str, str], out: Causes) -> None:
    where, path = paths
    sub, expression = mount.get("subPath") or "", mount.get("subPathExpr") or ""
    if sub:
        descending(sub, f"{path}.subPath", out)
    if expression:
        if sub:
            detail = "subPathExpr and subPath are mutually exclusive"
            out.append(invalid(f"{where}.subPathExpr", expression, detail))
        descending(expression, f"{path}.subPathExpr", out)


def _propagation(mount: Json, container: Json, path: str, out: Causes) -> None:
    mode = mount["mountPropagation"]
    if mode not in _PROPAGATIONS:
        out.append(not_supported(path, mode, _PROPAGATIONS))
    context = container.get("securityContext") or {}
    if mode == "Bidirectional" and not context.get("privileged"):
        detail = "Bidirectional mount propagation is available only to privileged containers"
        out.append(forbidden(path, detail))


def _recursive_read_only(mount: Json, path: str, out: Causes) -> None:
    mode = mount["recursiveReadOnly"]
    if mode not in _RECURSIVE:
        out.append(not_supported(path, mode, _RECURSIVE))
        return
    if mode == "Disabled":
        return
    if not mount.get("readOnly"):
        out.append(forbidden(path, "may only be specified when readOnly is true"))
    if mount.get("mountPropagation", "None") != "None":
        detail = "may only be specified when mountPropagation is None or not specified"
        out.append(forbidden(path, detail))


def _devices(items: Sequence[Json], path: str, out: Causes, used: _Used) -> None:
    mounted, volumes = used
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(items):
        where = f"{path}[{index}]"
        name, target = device.get("name") or "", device.get("devicePath") or ""
        volume = volumes.get(name)
        if not name:
            out.append(required(f"{where}.name"))
        if name in names:
            out.append(invalid(f"{where}.name", name, "must be unique"))
        if volume is None:
            out.append(not_found(f"{where}.name", name))
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            detail = (
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for "
                "block mode"
            )
            out.append(invalid(f"{where}.name", name, detail))
        if not target:
            out.append(required(f"{where}.devicePath"))
        if target in paths:
            out.append(invalid(f"{where}.devicePath", target, "must be unique"))
        if ".." in target.split("/"):
            detail = "can not contain backsteps ('..')"
            out.append(invalid(f"{where}.devicePath", target, detail))
        else:
            paths.add(target)
        if name in mounted:
            out.append(invalid(f"{where}.name", name, "must not already exist in volumeMounts"))
        if target in mounted.values():
            detail = "must not already exist as a path in volumeMounts"
            out.append(invalid(f"{where}.devicePath", target, detail))
        if name:
            names.add(name)
