"""Files of encryption configurations: what they mean, and what is refused in which words."""

import base64
import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.encryption.aes import Gcm
from kubetrio.encryption.configuration import (
    MAX_FILE_BYTES,
    EncryptionConfigError,
    Key,
    Kms,
    decode,
)
from kubetrio.encryption.kms import Envelope
from kubetrio.encryption.providers import Transforms, build, read
from kubetrio.encryption.transformers import TransformError, unreported
from kubetrio.machinery.names import GroupResource

SECRET = base64.b64encode(b"0" * 32).decode()
HEAD = "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\nresources:\n"
REFUSED = json.loads(Path(__file__).with_name("refused_by_kube_apiserver.json").read_text())


def nobody(kms: Kms) -> Envelope:
    raise AssertionError(f"no plugin is asked for: {kms.name}")


def made(path: Path, text: str) -> Transforms:
    """The transformers of a file."""
    path.write_text(text)
    return build(read(path, reload=False), nobody, lambda _: unreported)


def rule(resources: str, provider: str = "aesgcm", key: str = "a") -> str:
    """A rule with one key."""
    body = "{}" if provider == "identity" else f"{{keys: [{{name: {key}, secret: {SECRET}}}]}}"
    return f"- resources: [{resources}]\n  providers: [{{{provider}: {body}}}]\n"


def prefix_of(transforms: Transforms, resource: str, group: str = "") -> bytes:
    """How values of a resource begin; empty where nothing is said of it."""
    found = transforms.resolve(GroupResource(group, resource))
    if found is None:
        return b""
    return found.seal(b"/x", bytes(found.nonce_bytes), 1)(b"{")[:22]


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


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_by_kube_apiserver(tmp_path: Path, name: str) -> None:
    """The text is word for word what kube-apiserver 1.36 said of the same file."""
    path = tmp_path / "file"
    with pytest.raises(EncryptionConfigError) as caught:
        made(path, REFUSED[name]["file"])
    assert str(caught.value).replace(str(path), "FILE") == REFUSED[name]["error"]


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


@pytest.mark.parametrize(
    ("resource", "group", "key"),
    [
        ("secrets", "", "b"),
        ("configmaps", "", "c"),
        ("deployments", "apps", "d"),
        ("statefulsets", "apps", "e"),
        ("things", "example.com", "f"),
    ],
)
def test_the_most_particular_rule_counts(
    tmp_path: Path, resource: str, group: str, key: str
) -> None:
    """A resource by its name, then by its group, then any."""
    rules = [("secrets", "b"), ("'*.'", "c"), ("deployments.apps", "d"), ("'*.apps'", "e")]
    rules.append(("'*.*'", "f"))
    text = HEAD + "".join(rule(names, key=name) for names, name in rules)
    found = prefix_of(made(tmp_path / "file", text), resource, group)
    assert found.startswith(f"k8s:enc:aesgcm:v1:{key}:".encode())


def test_identity_exempts_from_a_wildcard(tmp_path: Path) -> None:
    """An earlier rule without encryption stands against a later one for all."""
    transforms = made(tmp_path / "file", HEAD + rule("events", "identity") + rule("'*.*'"))
    assert prefix_of(transforms, "events") == b"{"
    assert prefix_of(transforms, "secrets").startswith(b"k8s:enc:")


def test_resources_that_no_rule_names(tmp_path: Path) -> None:
    """They are stored as they are."""
    assert prefix_of(made(tmp_path / "file", HEAD + rule("secrets")), "configmaps") == b""


def test_a_resource_in_two_rules(tmp_path: Path) -> None:
    """Providers of the later one read; the first of the earlier one writes."""
    both = made(tmp_path / "file", HEAD + rule("secrets", key="a") + rule("secrets", "aescbc"))
    providers = both.resolve(GroupResource("", "secrets"))
    assert providers is not None
    old = b"k8s:enc:aescbc:v1:a:"
    with pytest.raises(TransformError, match="shorter than the required size"):
        providers.open(old, b"/x", {})
    assert prefix_of(both, "secrets").startswith(b"k8s:enc:aesgcm:v1:a:")


def test_several_keys_of_one_provider(tmp_path: Path) -> None:
    """The first writes; what another wrote is read, and is stale."""
    keys = f"{{name: new, secret: {SECRET}}}, {{name: old, secret: {SECRET}}}"
    text = f"- resources: [secrets]\n  providers: [{{aesgcm: {{keys: [{keys}]}}}}]\n"
    providers = made(tmp_path / "file", HEAD + text).resolve(GroupResource("", "secrets"))
    assert providers is not None
    stored = Gcm(b"0" * 32).seal(b"/x", bytes(12), 1)(b"value")
    assert providers.open(b"k8s:enc:aesgcm:v1:new:" + stored, b"/x", {}) == (b"value", False)
    assert providers.open(b"k8s:enc:aesgcm:v1:old:" + stored, b"/x", {}) == (b"value", True)
    with pytest.raises(TransformError, match="no matching key was found for the provided AES"):
        providers.open(b"k8s:enc:aesgcm:v1:gone:" + stored, b"/x", {})


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
