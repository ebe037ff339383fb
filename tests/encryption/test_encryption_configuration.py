"""EncryptionConfiguration: files that are read and refused."""

import contextlib
import json
from pathlib import Path

import pytest
from configurations import HEAD, SECRET, made, prefix_of, rule
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.encryption.configuration import (
    MAX_FILE_BYTES,
    EncryptionConfigError,
    Key,
    decode,
)
from kubetrio.encryption.providers import read


def test_without_pynacl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The configuration is refused with the command that installs the library."""
    monkeypatch.setattr("kubetrio.encryption.secretbox.available", lambda: False)
    text = HEAD + rule("secrets", "secretbox")
    with pytest.raises(
        EncryptionConfigError,
        match=r"needs PyNaCl: install it in a checkout with pip install '\.\[secretbox\]'$",
    ):
        made(tmp_path / "file", text)
    made(tmp_path / "file", HEAD + rule("secrets", "aesgcm"))


def test_a_missing_file(tmp_path: Path) -> None:
    """The text names it."""
    path = tmp_path / "none"
    with pytest.raises(EncryptionConfigError) as caught:
        read(path, reload=False)
    assert str(caught.value) == (
        "error while parsing file: error while loading file: error reading encryption provider "
        f'configuration file "{path}": open {path}: no such file or directory'
    )


def test_a_file_without_end(tmp_path: Path) -> None:
    """A file is not read beyond a bound."""
    path = tmp_path / "large"
    path.write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    with pytest.raises(EncryptionConfigError, match="it is larger than"):
        read(path, reload=False)


def test_repeated_members(tmp_path: Path) -> None:
    """They are errors, with their line."""
    with pytest.raises(EncryptionConfigError, match=r'line 4: key "resources" already set in map$'):
        made(tmp_path / "file", HEAD + "resources: []\n")


def test_two_providers_in_one_element(tmp_path: Path) -> None:
    """The text is kube-apiserver's but for the keys, which it prints."""
    text = HEAD + rule("secrets").replace("}]}}]", "}]}, identity: {}}]")
    with pytest.raises(EncryptionConfigError) as caught:
        made(tmp_path / "file", text)
    assert "more than one provider specified in a single element" in str(caught.value)
    assert '"AESGCM":{"Keys":[{"Name":"a","Secret":"REDACTED"}]}' in str(caught.value)
    assert SECRET not in str(caught.value)


def test_keys_are_not_shown() -> None:
    """What is printed of a key in a log is its name."""
    assert "secret" not in repr(Key("a", "c2VjcmV0")).lower().replace("key", "")


def test_the_name_of_old_documentation(tmp_path: Path) -> None:
    """`v1` `EncryptionConfig` is read too."""
    text = HEAD.replace("EncryptionConfiguration", "EncryptionConfig")
    text = text.replace("apiserver.config.k8s.io/v1", "v1") + rule("secrets")
    assert prefix_of(made(tmp_path / "file", text), "secrets")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["resources", "providers", "aescbc", "kms", "keys", "name", "secret",
                             "timeout", "identity", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@given(value=JSON)
def test_no_file_breaks_the_reader(value: object) -> None:
    """Whatever a file says, it is read or refused with a text."""
    body = {"kind": "EncryptionConfiguration", "apiVersion": "apiserver.config.k8s.io/v1"}
    text = json.dumps({**body, "resources": value}).encode()
    with contextlib.suppress(EncryptionConfigError):
        decode(text)
