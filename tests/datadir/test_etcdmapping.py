"""The mapping of objects to etcd."""

from __future__ import annotations

import pytest
from etcdworld import obj

from kubetrio.datadir.etcdmapping import object_mapping
from kubetrio.resources.objects import restamp
from kubetrio.store.cipher import NoCipher
from kubetrio.store.etcd.mapping import Translation

PROTOBUF = "application/vnd.kubernetes.protobuf"


@pytest.mark.parametrize(
    ("media_type", "begin"), [(PROTOBUF, b"k8s\0"), ("application/json", b'{"kind":"ConfigMap"')]
)
async def test_objects_are_what_kube_apiserver_writes(media_type: str, begin: bytes) -> None:
    """Keys are under the prefix, values in the encoding that is asked for."""
    translation = Translation(object_mapping("/mine", media_type, NoCipher()))
    row = obj("ConfigMap", "a", 5)
    name, data = await translation.to_etcd(row.key, restamp(row.value))
    assert name == b"/mine/configmaps/default/a"
    assert data.startswith(begin)


def test_settings_that_cannot_be_used() -> None:
    """They are refused at once."""
    with pytest.raises(ValueError, match="--etcd-prefix: it is empty"):
        object_mapping("/", PROTOBUF, NoCipher())
    with pytest.raises(ValueError, match="text/plain"):
        object_mapping("/registry", "text/plain", NoCipher())
