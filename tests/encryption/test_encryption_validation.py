"""EncryptionConfiguration: what is refused, in kube-apiserver's words."""

import json
from pathlib import Path

import pytest
from configurations import made

from kubetrio.encryption.configuration import (
    EncryptionConfigError,
)

REFUSED = json.loads(Path(__file__).with_name("refused_by_kube_apiserver.json").read_text())


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_by_kube_apiserver(tmp_path: Path, name: str) -> None:
    """The text is word for word what kube-apiserver 1.36 said of the same file."""
    path = tmp_path / "file"
    with pytest.raises(EncryptionConfigError) as caught:
        made(path, REFUSED[name]["file"])
    assert str(caught.value).replace(str(path), "FILE") == REFUSED[name]["error"]
