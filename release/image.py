"""An image of containers, made without a daemon: an OCI image layout in one tar archive.

Source: OCI image specification 1.1, "Image Layout", "Image Manifest" and "Image Configuration".

Two layers: the C library of the machine that builds, with certificate authorities, and the server.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from release.archives import Entry, gzipped, tar, with_parents
from release.bundle import Bundle

USER = 65532
HOME = "usr/lib/kubetrio"
DOCUMENTS = "usr/share/doc/kubetrio"
LIBRARIES = (
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "libutil.so.1",
    "libresolv.so.2",
)
"""Of glibc, as in ``singlefile/Dockerfile``."""
LOADERS = {"x86_64": "lib64/ld-linux-x86-64.so.2", "aarch64": "lib/ld-linux-aarch64.so.1"}
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
AUTHORITIES = "etc/ssl/certs/ca-certificates.crt"
PASSWD = f"root:x:0:0::/:/sbin/nologin\nkubetrio:x:{USER}:{USER}::/data:/sbin/nologin\n"
GROUP = f"root:x:0:\nkubetrio:x:{USER}:\n"
NOTICES = ("usr/share/doc/libc6/copyright", "usr/share/doc/ca-certificates/copyright")
MEDIA = "application/vnd.oci.image"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What an image says of itself.

    Attributes:
        version: of the release.
        epoch: seconds since 1970, of everything in it.
        revision: commit that it is made of; empty where there is none.
    """

    version: str
    epoch: int
    revision: str = ""

    @property
    def created(self) -> str:
        """Time of the release, RFC 3339."""
        return datetime.fromtimestamp(self.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def annotations(self) -> dict[str, str]:
        """Annotations of the manifest, which are labels of the configuration too."""
        prefix = "org.opencontainers.image"
        told = {
            f"{prefix}.title": "kubetrio",
            f"{prefix}.description": "A Kubernetes API server in one process",
            f"{prefix}.version": self.version,
            f"{prefix}.created": self.created,
            f"{prefix}.licenses": "Apache-2.0",
            f"{prefix}.documentation": "https://kubetrio.readthedocs.io/",
        }
        return told | ({f"{prefix}.revision": self.revision} if self.revision else {})


def base_entries(root: Path = Path("/")) -> Iterator[Entry]:
    """Yield the C library and what else a server expects of a system.

    Raises:
        OSError: the machine lacks one of the files.
    """
    machine = platform.machine()
    folder = f"lib/{machine}-linux-gnu"
    for path in (*(f"{folder}/{name}" for name in LIBRARIES), LOADERS[machine]):
        yield Entry(path=path, content=(root / path).read_bytes())
    for path in (AUTHORITIES, *NOTICES):
        if path == AUTHORITIES or (root / path).exists():
            yield Entry(path=path, content=(root / path).read_bytes(), mode=0o644)
    yield Entry(path="etc/passwd", content=PASSWD.encode(), mode=0o644)
    yield Entry(path="etc/group", content=GROUP.encode(), mode=0o644)
    yield Entry(path="tmp", mode=0o1777)
    yield Entry(path="data", mode=0o700, owner=USER)


def server_entries(bundle: Bundle, documents: Mapping[str, str]) -> Iterator[Entry]:
    """Yield the server, and its documents by file name."""
    for member in bundle.members:
        path = f"{HOME}/{member.path}"
        if member.link:
            yield Entry(path=path, link=member.content.decode(), mode=0o777)
        else:
            yield Entry(path=path, content=member.content, mode=member.mode)
    for name, text in documents.items():
        yield Entry(path=f"{DOCUMENTS}/{name}", content=text.encode(), mode=0o644)


def configuration(facts: Facts, layers: list[bytes]) -> dict[str, Any]:
    """Return the configuration of an image whose layers, not compressed, are given."""
    return {
        "created": facts.created,
        "architecture": ARCHITECTURES[platform.machine()],
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "ExposedPorts": {"6443/tcp": {}},
            "Env": ["PATH=/usr/lib/kubetrio", f"LD_LIBRARY_PATH=/{HOME}/_internal"],
            "Entrypoint": [f"/{HOME}/kubetrio"],
            "Cmd": ["serve", "--data-dir", "/data", "--bind-address", "0.0.0.0"],
            "Volumes": {"/data": {}},
            "WorkingDir": "/data",
            "Labels": facts.annotations,
            "StopSignal": "SIGTERM",
        },
        "rootfs": {"type": "layers", "diff_ids": [digest(layer) for layer in layers]},
        "history": [
            {"created": facts.created, "created_by": "C library and authorities"},
            {"created": facts.created, "created_by": f"kubetrio {facts.version}"},
        ],
    }


def layout(bundle: Bundle, documents: Mapping[str, str], facts: Facts) -> bytes:
    """Return the tar archive of an image layout.

    Args:
        bundle: the server.
        documents: texts for ``/usr/share/doc/kubetrio``, by file name.
        facts: of the release.
    """
    layers = [
        tar(with_parents(entries), facts.epoch)
        for entries in (base_entries(), server_entries(bundle, documents))
    ]
    blobs: dict[str, bytes] = {}

    def add(content: bytes, media_type: str) -> dict[str, Any]:
        blobs[digest(content)] = content
        return {"mediaType": media_type, "digest": digest(content), "size": len(content)}

    config = add(_json(configuration(facts, layers)), f"{MEDIA}.config.v1+json")
    rows = [add(gzipped(layer), f"{MEDIA}.layer.v1.tar+gzip") for layer in layers]
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{MEDIA}.manifest.v1+json",
        "config": config,
        "layers": rows,
        "annotations": facts.annotations,
    }
    row = add(_json(manifest), f"{MEDIA}.manifest.v1+json")
    row["platform"] = {"architecture": ARCHITECTURES[platform.machine()], "os": "linux"}
    row["annotations"] = {"org.opencontainers.image.ref.name": facts.version}
    index = {"schemaVersion": 2, "mediaType": f"{MEDIA}.index.v1+json", "manifests": [row]}
    entries = [
        Entry(path="oci-layout", content=_json({"imageLayoutVersion": "1.0.0"}), mode=0o644),
        Entry(path="index.json", content=_json(index), mode=0o644),
    ]
    for name, content in blobs.items():
        path = f"blobs/sha256/{name.removeprefix('sha256:')}"
        entries.append(Entry(path=path, content=content, mode=0o644))
    return tar(with_parents(entries), facts.epoch)


def digest(content: bytes) -> str:
    """Return the digest of a blob, as descriptors have it."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode()
