"""CustomResourceDefinitions between the version that is served and the one in etcd."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubetrio.storagevalues.definitions import to_v1, to_v1beta1

SCHEMA = {"openAPIV3Schema": {"type": "object"}}
COLUMN = {"name": "Size", "type": "string", "jsonPath": ".spec.size"}


def definition(versions: list[dict[str, Any]], **spec: Any) -> dict[str, Any]:
    """A definition of v1 as it is stored."""
    return {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "widgets", "kind": "Widget"},
            "scope": "Namespaced",
            "versions": versions,
            "conversion": {"strategy": "None"},
            **spec,
        },
    }


def version(name: str, **more: Any) -> dict[str, Any]:
    """A version."""
    return {"name": name, "served": True, "storage": name == "v1", **more}


def test_what_versions_share_is_said_once() -> None:
    """Schema and columns in the spec; what differs stays."""
    status: dict[str, Any] = {"status": {}}
    obj = definition([
        version("v1", schema=SCHEMA, subresources=status, additionalPrinterColumns=[COLUMN]),
        version("v2", schema=SCHEMA, additionalPrinterColumns=[COLUMN]),
    ])  # fmt: skip
    spec = to_v1beta1(obj)["spec"]
    assert spec == {
        "group": "example.com",
        "version": "v1",
        "names": {"plural": "widgets", "kind": "Widget"},
        "scope": "Namespaced",
        "validation": SCHEMA,
        "versions": [version("v1", subresources=status), version("v2")],
        "additionalPrinterColumns": [{"name": "Size", "type": "string", "JSONPath": ".spec.size"}],
        "conversion": {"strategy": "None"},
        "preserveUnknownFields": False,
    }
    assert list(spec)[:5] == ["group", "version", "names", "scope", "validation"]


def test_webhooks_lie_flat() -> None:
    """And have a place of their own in v1."""
    webhook = {"clientConfig": {"url": "https://a"}, "conversionReviewVersions": ["v1"]}
    obj = definition([version("v1")], conversion={"strategy": "Webhook", "webhook": webhook})
    old = to_v1beta1(obj)
    assert old["spec"]["conversion"] == {
        "strategy": "Webhook",
        "webhookClientConfig": {"url": "https://a"},
        "conversionReviewVersions": ["v1"],
    }
    assert to_v1(old) == obj


def test_defaults_of_v1beta1() -> None:
    """What an old release stored without saying it."""
    old = {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "version": "v1",
            "names": {"plural": "widgets", "kind": "Widget"},
            "validation": SCHEMA,
        },
    }
    assert to_v1(old)["spec"] == {
        "group": "example.com",
        "names": {"plural": "widgets", "kind": "Widget"},
        "scope": "Namespaced",
        "versions": [version("v1", schema=SCHEMA)],
        "conversion": {"strategy": "None"},
        "preserveUnknownFields": True,
    }


parts = st.fixed_dictionaries(
    {},
    optional={
        "schema": st.sampled_from([SCHEMA, {"openAPIV3Schema": {"type": "string"}}]),
        "subresources": st.sampled_from([{"status": {}}, {}]),
        "additionalPrinterColumns": st.lists(st.just(COLUMN), min_size=1, max_size=2),
        "selectableFields": st.just([{"jsonPath": ".spec.a"}]),
    },
)


@given(st.lists(parts, min_size=1, max_size=3), st.booleans())
def test_there_and_back(versions: list[dict[str, Any]], preserve: bool) -> None:
    """A definition of v1 is the same afterwards, and is not changed on the way."""
    more = {"preserveUnknownFields": True} if preserve else {}
    obj = definition([version(f"v{i + 1}", **each) for i, each in enumerate(versions)], **more)
    before = repr(obj)
    assert to_v1(to_v1beta1(obj)) == obj
    assert repr(obj) == before
