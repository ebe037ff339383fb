"""Texts that are no AuthorizationConfiguration."""

from __future__ import annotations

import pytest

from kubetrio.auth.settings.decoding import ConfigurationError
from kubetrio.auth.settings.validation import configured

HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\n"


LOAD = "failed to load AuthorizationConfiguration from file: "


def said(text: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        configured(text.encode())
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{HEAD}authorizers: []",
         "authorizers: Required value: at least one authorization mode must be defined"),
        ("", "authorizers: Required value: at least one authorization mode must be defined"),
        (f"{HEAD}foo: 1\nauthorizers:\n- {{type: Node, name: node, bar: 1}}",
         LOAD + 'strict decoding error: unknown field "authorizers[0].bar", unknown field "foo"'),
        ("apiVersion: apiserver.config.k8s.io/v2\nkind: AuthorizationConfiguration",
         LOAD + 'no kind "AuthorizationConfiguration" is registered for version '
         '"apiserver.config.k8s.io/v2" in scheme "k8s.io/apiserver/pkg/apis/apiserver/load/load.go:32"'),  # noqa: E501
        ("kind: AuthorizationConfiguration",
         LOAD + "Object 'apiVersion' is missing in 'kind: AuthorizationConfiguration'"),
        ("a: b: c", LOAD + "yaml: mapping values are not allowed in this context"),
        (f"{HEAD}authorizers: 5",
         LOAD + "json: cannot unmarshal number into Go struct field "
         "AuthorizationConfiguration.authorizers of type []v1.AuthorizerConfiguration"),
        (f"{HEAD}authorizers: [{{type: Webhook, name: w, webhook: {{timeout: xx}}}}]",
         LOAD + 'time: invalid duration "xx"'),
        (f"{HEAD}authorizers: [{{type: RBAC, name: true}}]",
         LOAD + "json: cannot unmarshal bool into Go struct field "
         "AuthorizerConfiguration.authorizers.name of type string"),
        ("apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration",
         LOAD + "expected AuthorizationConfiguration, got *apiserver.AuthenticationConfiguration"),
        (f"{HEAD}kind: AuthorizationConfiguration\nauthorizers: []",
         LOAD + "strict decoding error: yaml: unmarshal errors:\n"
         '  line 3: key "kind" already set in map'),
        (f"{HEAD}authorizers: [{{type: Node, name: a}}]",
         "expected name node for authorizer Node instead of a"),
    ],
)  # fmt: skip
def test_what_is_no_configuration(text: str, message: str) -> None:
    """Strictly: also unknown and repeated members."""
    assert said(text) == message
