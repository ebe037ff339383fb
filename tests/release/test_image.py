"""An image layout is what the OCI specification says: each descriptor's blob is there."""

import gzip
import hashlib
import io
import json
import platform
import sys
import tarfile
from pathlib import Path

import pytest
from release_samples import bundle

from release import image

FACTS = image.Facts(version="0.1.0", epoch=1000, revision="abc")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux"
    or platform.machine() not in image.LOADERS
    or not Path(f"/lib/{platform.machine()}-linux-gnu/libc.so.6").exists()
    or not Path("/", image.AUTHORITIES).exists(),
    reason="needs Debian's C library and authorities",
)


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """The files of the layout."""
    data = image.layout(bundle(), {"licences.txt": "texts"}, FACTS)
    assert data == image.layout(bundle(), {"licences.txt": "texts"}, FACTS)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {
            info.name: file.read()
            for info in archive.getmembers()
            if (file := archive.extractfile(info))
        }


def blob(files: dict[str, bytes], row: dict[str, object]) -> bytes:
    """The blob of a descriptor, which has its digest and size."""
    algorithm, _, name = str(row["digest"]).partition(":")
    content = files[f"blobs/{algorithm}/{name}"]
    assert (hashlib.sha256(content).hexdigest(), len(content)) == (name, row["size"])
    return content


def test_every_blob_is_there(files: dict[str, bytes]) -> None:
    """From the index down to the layers, whose digests before compression the configuration has."""
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (row,) = json.loads(files["index.json"])["manifests"]
    assert row["annotations"] == {"org.opencontainers.image.ref.name": "0.1.0"}
    manifest = json.loads(blob(files, row))
    config = json.loads(blob(files, manifest["config"]))
    layers = [gzip.decompress(blob(files, layer)) for layer in manifest["layers"]]
    assert config["rootfs"]["diff_ids"] == [image.digest(layer) for layer in layers]
    assert manifest["annotations"]["org.opencontainers.image.revision"] == "abc"
    assert sum(name.startswith("blobs/") for name in files) == 2 + len(layers)


def test_the_server_runs_as_its_user_on_its_volume(files: dict[str, bytes]) -> None:
    """The program and the loader are there; the data belong to the user."""
    (row,) = json.loads(files["index.json"])["manifests"]
    manifest = json.loads(blob(files, row))
    config = json.loads(blob(files, manifest["config"]))["config"]
    found = {}
    for layer in manifest["layers"]:
        with tarfile.open(fileobj=io.BytesIO(blob(files, layer))) as archive:
            found |= {f"/{info.name}": info for info in archive.getmembers()}
    assert found[config["Entrypoint"][0]].mode == 0o755
    assert f"/{image.LOADERS[platform.machine()]}" in found
    (volume,) = config["Volumes"]
    assert (found[volume].uid, found[volume].mode) == (image.USER, 0o700)
