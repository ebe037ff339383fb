"""Sources of volumes that pods and PersistentVolumes share, one table a source.

Names of members in causes are upstream's, which are not always those of the API.
Source: "Volumes" in the Kubernetes documentation and the API reference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kubetrio.kinds.common.checks import (
    Causes,
    Check,
    between,
    member,
    one_of,
    row,
    table,
)
from kubetrio.kinds.common.formats import LABEL, SUBDOMAIN, no_backsteps
from kubetrio.machinery.fielderrors import invalid, not_supported, required
from kubetrio.machinery.names_validation import byte_length

_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_ISCSI_NAMES = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)$"),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}$"),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}$"),
}
_ISCSI_PREFIX = "must be valid format starting with iqn, eui, or naa"
_ISCSI_LENGTH = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if "
    "iscsi.initiatorName is specified."
)
_MANAGED_DISK = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/"
    "{disk-id}"
)
_BLOB_DISK = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_PARTITION = between(0, 255, "must be between 1 and 255, inclusive")
_HOST_PORTS = "must be a host:port pair or multiple pairs separated by commas"
_RESERVED = "kubernetes.io and k8s.io namespaces are reserved"


def _needs(*names: str) -> Check:
    """A table of members that must not be empty."""
    return table(*(row(name, missing="") for name in names))


def local_secret(obj: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check that a reference to a Secret has a name.

    Args:
        obj: the object with ``secretRef``.
        path: its path.
        out: receives causes.
    """
    if obj.get("secretRef") is not None and not member(obj, "secretRef").get("name"):
        out.append(required(f"{path}.secretRef.name"))


def namespaced_secret(obj: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check that a reference to a Secret has a name and a namespace.

    Args:
        obj: the object with ``secretRef``.
        path: its path.
        out: receives causes.
    """
    local_secret(obj, path, out)
    if obj.get("secretRef") is not None and not member(obj, "secretRef").get("namespace"):
        out.append(required(f"{path}.secretRef.namespace"))


def _host_path_type(source: Mapping[str, Any], path: str, out: Causes) -> None:
    if source.get("path") and source.get("type") is not None:
        one_of(*_HOST_PATH_TYPES)(source["type"], f"{path}.type", out)


HOST_PATH = table(
    row("path", no_backsteps, missing=""),
    _host_path_type,
)


def disk(name: str) -> Check:
    """A check of a cloud's disk with an optional partition; its causes have no path of their own.

    Args:
        name: member that identifies the disk.
    """
    return table(row(name, missing=""), row("partition", _PARTITION))


def _absolute(value: str, path: str, out: Causes) -> None:
    if not value.startswith("/"):
        out.append(invalid(path, value, "must be an absolute path"))


NFS = table(
    row("server", missing=""),
    row("path", _absolute, missing="", zero=""),
)


def _iscsi_name(value: str, path: str, out: Causes, unknown: str) -> None:
    pattern = _ISCSI_NAMES.get(value[:3])
    if pattern is None:
        out.append(invalid(path, value, unknown))
    elif not pattern.search(value):
        out.append(invalid(path, value, "must be valid format"))


def iscsi(source: Mapping[str, Any], path: str, out: Causes, *, persistent: bool) -> None:
    """Check an iSCSI source.

    Args:
        source: the source.
        path: its path.
        out: receives causes.
        persistent: whether it is a PersistentVolume's.
    """
    unknown = "must be valid format" if persistent else _ISCSI_PREFIX
    if not source.get("targetPortal"):
        out.append(required(f"{path}.targetPortal"))
    if name := source.get("iqn"):
        _iscsi_name(name, f"{path}.iqn", out, unknown)
    else:
        out.append(required(f"{path}.iqn"))
    if not 0 <= (source.get("lun") or 0) <= 255:
        detail = "must be between 0 and 255, inclusive"
        out.append(invalid(f"{path}.lun", source["lun"], detail))
    chap = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if chap and source.get("secretRef") is None:
        out.append(required(f"{path}.secretRef"))
    if persistent:
        local_secret(source, path, out)
    if source.get("initiatorName") is not None:
        _iscsi_name(source["initiatorName"], f"{path}.initiatorname", out, unknown)


def iscsi_length(source: Mapping[str, Any], volume: str) -> str:
    """What is wrong with the length of an initiator's full name, empty when nothing is.

    Args:
        source: the iSCSI source.
        volume: name of the volume.
    """
    portal = source.get("targetPortal") or ""
    if source.get("initiatorName") is None or byte_length(f"{volume}:{portal}") <= 64:
        return ""
    return _ISCSI_LENGTH


def fibre_channel(source: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check a Fibre Channel source.

    Args:
        source: the source.
        path: its path.
        out: receives causes.
    """
    names, ids = source.get("targetWWNs") or [], source.get("wwids") or []
    where = f"{path}.targetWWNs"
    if not names and not ids:
        out.append(required(where, "must specify either targetWWNs or wwids, but not both"))
    if names and ids:
        detail = "targetWWNs and wwids can not be specified simultaneously"
        out.append(invalid(where, names, detail))
    if not names:
        return
    lun = source.get("lun")
    if lun is None:
        out.append(required(f"{path}.lun", "lun is required if targetWWNs is specified"))
    elif not 0 <= lun <= 255:
        out.append(invalid(f"{path}.lun", lun, "must be between 0 and 255, inclusive"))


def quobyte(source: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check a Quobyte source.

    Args:
        source: the source.
        path: its path.
        out: receives causes.
    """
    registry = source.get("registry") or ""
    if not registry:
        out.append(required(f"{path}.registry", _HOST_PORTS))
    elif byte_length(source.get("tenant") or "") >= 65:
        detail = "must be a UUID and may not exceed a length of 64 characters"
        out.append(required(f"{path}.tenant", detail))
    else:
        for pair in registry.split(","):
            if not _is_host_port(pair):
                out.append(invalid(f"{path}.registry", registry, _HOST_PORTS))
    if not source.get("volume"):
        out.append(required(f"{path}.volume"))


def _is_host_port(text: str) -> bool:
    host, colon, _ = text.rpartition(":")
    if not colon:
        return False
    if host.startswith("["):
        return host.endswith("]")
    return ":" not in host


def flocker(source: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check a Flocker source.

    Args:
        source: the source.
        path: its path.
        out: receives causes.
    """
    name, uuid = source.get("datasetName") or "", source.get("datasetUUID") or ""
    if not name and not uuid:
        out.append(required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        detail = "datasetName and datasetUUID can not be specified simultaneously"
        out.append(invalid(path, "resource", detail))
    if "/" in name:
        out.append(invalid(f"{path}.datasetName", name, "must not contain '/'"))


def flex(source: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check a FlexVolume source: its options are not Kubernetes'.

    Args:
        source: the source.
        path: its path.
        out: receives causes.
    """
    if not source.get("driver"):
        out.append(required(f"{path}.driver"))
    for key in source.get("options") or ():
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            out.append(invalid(f"{path}.options[{key}]", key, _RESERVED))


def azure_disk(source: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check an Azure disk: the form of its URI depends on its kind.

    Args:
        source: the source.
        path: its path.
        out: receives causes.
    """
    _AZURE_DISK(source, path, out)
    kind, uri = source.get("kind"), source.get("diskURI") or ""
    if kind is None:
        return
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        out.append(not_supported(f"{path}.diskURI", uri, (_MANAGED_DISK,), named=False))
    if kind != "Managed" and not uri.startswith("https://"):
        out.append(not_supported(f"{path}.diskURI", uri, (_BLOB_DISK,), named=False))


_AZURE_DISK = table(
    row("diskName", missing=""),
    row("diskURI", missing=""),
    row("cachingMode", one_of("None", "ReadOnly", "ReadWrite")),
    row("kind", one_of("Dedicated", "Managed", "Shared")),
)


RBD = _needs("monitors", "image")
GLUSTERFS = _needs("endpoints", "path")
VSPHERE = _needs("volumePath")
PHOTON = _needs("pdID")
PORTWORX = _needs("volumeID")
SCALE_IO = _needs("gateway", "system", "volumeName")
CEPHFS = _needs("monitors")
AZURE_FILE = _needs("secretName", "shareName")
LOCAL = table(row("path", no_backsteps, missing=""))
STORAGE_OS = table(row("volumeName", LABEL, missing=""), row("volumeNamespace", LABEL))
SECRET_REFERENCE = table(
    row("name", SUBDOMAIN, missing=""),
    row("namespace", LABEL, missing=""),
)


def at(name: str, check: Check) -> Check:
    """A check whose causes name another last path element than the member's.

    Args:
        name: the name wanted.
        check: the check.
    """

    def run(value: Any, path: str, out: Causes) -> None:
        check(value, f"{path.rpartition('.')[0]}.{name}", out)

    return run


MORE_THAN_ONE = "may not specify more than 1 volume type"
NO_VOLUME = "must specify a volume type"
