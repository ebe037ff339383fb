"""Storage resources beyond the recorded samples."""

import pytest

from kubetrio.kinds.core.printers import storage as core_storage
from kubetrio.kinds.storage import printers as storage

NOW = 1_000.0


def test_bound_claim():
    """A claim with a volume shows what it got, modes in a fixed order, each once."""
    modes = ["ReadWriteMany", "ReadWriteOnce", "ReadWriteOnce"]
    claim = {
        "metadata": {"deletionTimestamp": "1970-01-01T00:00:00Z"},
        "spec": {"volumeName": "v", "storageClassName": "c", "volumeAttributesClassName": "a"},
        "status": {"phase": "Bound", "capacity": {"storage": "2Gi"}, "accessModes": modes},
    }
    printed = core_storage.persistent_volume_claim(claim, NOW)[1:7]
    assert printed == ["Terminating", "v", "2Gi", "RWO,RWX", "c", "a"]


def test_class_annotation_wins():
    """The annotation of old names the class even if the field does too."""
    volume = {
        "metadata": {"annotations": {core_storage.CLASS_ANNOTATION: "old"}},
        "spec": {"storageClassName": "new"},
    }
    assert core_storage.persistent_volume(volume, NOW)[6] == "old"


@pytest.mark.parametrize("annotation", storage.DEFAULT_STORAGE_CLASS)
def test_default_class(annotation):
    """The default class is marked."""
    metadata = {"name": "c", "annotations": {annotation: "true"}}
    assert storage.storage_class({"metadata": metadata}, NOW)[0] == "c (default)"


def test_default_attributes_class():
    """So is the default attributes class."""
    metadata = {"name": "c", "annotations": {storage.DEFAULT_ATTRIBUTES_CLASS[0]: "true"}}
    assert storage.volume_attributes_class({"metadata": metadata}, NOW)[0] == "c (default)"


def test_csi_driver():
    """Audiences and modes are lists; switches that are not set have a default."""
    spec = {
        "attachRequired": False,
        "tokenRequests": [{"audience": "a"}, {"audience": "b"}],
        "volumeLifecycleModes": ["Persistent", "Ephemeral"],
    }
    assert storage.csi_driver({"spec": spec}, NOW)[1:7] == [
        False,
        False,
        False,
        "a,b",
        False,
        "Persistent,Ephemeral",
    ]
