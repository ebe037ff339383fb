"""Which provider writes which resource."""

from pathlib import Path

import pytest
from configurations import HEAD, SECRET, made, prefix_of, rule

from kubetrio.encryption.aes import Gcm
from kubetrio.encryption.transformers import TransformError
from kubetrio.machinery.names import GroupResource


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
