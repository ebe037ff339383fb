"""AuthorizationConfiguration: what is refused, in kube-apiserver's words."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubetrio.auth.settings.decoding import ConfigurationError
from kubetrio.auth.settings.validation import configured
from kubetrio.cel.engine import available

HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\n"


GOOD = (
    "timeout: 1s, subjectAccessReviewVersion: v1, failurePolicy: Deny, "
    "connectionInfo: {type: InClusterConfig}"
)


def said(text: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        configured(text.encode())
    return str(caught.value)


@pytest.mark.skipif(not available(), reason="needs the extra cel")
def test_everything_that_is_wrong_is_told_at_once() -> None:
    """In the order of the file, as kube-apiserver does."""
    text = (
        HEAD
        + """authorizers:
- {type: Node, name: a}
- {type: What, name: rbac}
- {type: "", name: rbac}
- {type: RBAC, name: rbac, webhook: {}}
- {type: RBAC, name: rbac}
- {type: Webhook, name: "A B"}
- {type: ABAC, name: ""}
- type: Webhook
  name: w
  webhook: {timeout: 31s, authorizedTTL: -1s, subjectAccessReviewVersion: v2, failurePolicy: X,
   connectionInfo: {type: Foo}, matchConditionSubjectAccessReviewVersion: v3,
   matchConditions: [{expression: ""}, {expression: "1"}, {expression: "request.foo"}]}
- type: Webhook
  name: w
  webhook: {connectionInfo: {type: KubeConfigFile, kubeConfigFile: rel},
   matchConditions: [{expression: "true"},{expression: "true"}]}
- type: Webhook
  name: w3
  webhook: {connectionInfo: {type: InClusterConfig, kubeConfigFile: rel}}
- type: Webhook
  name: w4
  webhook: {timeout: 1s, subjectAccessReviewVersion: v1, failurePolicy: Deny,
   connectionInfo: {type: KubeConfigFile, kubeConfigFile: /nonexistent}}
- type: Webhook
  name: w5
  webhook: {timeout: 1s, subjectAccessReviewVersion: v1, failurePolicy: Deny,
   connectionInfo: {type: KubeConfigFile, kubeConfigFile: /}}
"""
    )
    subdomain = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' "
        "or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex "
        "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    )
    expected = [
        (
            'authorizers[1].type: Unsupported value: "What": supported values: "ABAC", "AlwaysAllow", '  # noqa: E501
            '"AlwaysDeny", "Node", "RBAC", "Webhook"'
        ),
        "authorizers[2].type: Required value",
        'authorizers[3].webhook: Invalid value: "non-null": may only be specified when type=Webhook',  # noqa: E501
        'authorizers[4].type: Duplicate value: "RBAC"',
        f'authorizers[5].name: Invalid value: "A B": authorizer name is invalid: {subdomain}',
        "authorizers[5].webhook: Required value: required when type=Webhook",
        "authorizers[6].name: Required value",
        'authorizers[7].timeout: Invalid value: "31s": must be > 0s and <= 30s',
        'authorizers[7].authorizedTTL: Invalid value: "-1s": must be > 0s',
        (
            'authorizers[7].subjectAccessReviewVersion: Unsupported value: "v2": supported values: '
            '"v1", "v1beta1"'
        ),
        (
            "authorizers[7].matchConditionSubjectAccessReviewVersion: Unsupported value: "
            '"v3": supported values: "v1"'
        ),
        (
            'authorizers[7].failurePolicy: Unsupported value: "X": supported values: "NoOpinion", '
            '"Deny"'
        ),
        (
            'authorizers[7].connectionInfo.type: Unsupported value: {"Type":"Foo","KubeConfigFile":null}'  # noqa: E501
            ': supported values: "InClusterConfig", "KubeConfigFile"'
        ),
        "authorizers[7].matchConditions[0].expression: Required value",
        (
            'authorizers[7].matchConditions[1].expression: Invalid value: "1": must evaluate to bool '  # noqa: E501
            "but got int"
        ),
        (
            'authorizers[7].matchConditions[2].expression: Invalid value: "request.foo": compilation '  # noqa: E501
            "failed: ERROR: <input>:1:8: undefined field 'foo'\n | request.foo\n | .......^"
        ),
        'authorizers[8].name: Duplicate value: "w"',
        "authorizers[8].timeout: Required value",
        "authorizers[8].subjectAccessReviewVersion: Required value",
        (
            "authorizers[8].matchConditionSubjectAccessReviewVersion: Required value: required if "
            "match conditions are specified"
        ),
        "authorizers[8].failurePolicy: Required value",
        (
            'authorizers[8].connectionInfo.kubeConfigFile: Invalid value: "rel": must be an absolute '  # noqa: E501
            "path"
        ),
        'authorizers[8].matchConditions[1].expression: Duplicate value: "true"',
        "authorizers[9].timeout: Required value",
        "authorizers[9].subjectAccessReviewVersion: Required value",
        "authorizers[9].failurePolicy: Required value",
        (
            'authorizers[9].connectionInfo.kubeConfigFile: Invalid value: "rel": can only be set when '  # noqa: E501
            "type=KubeConfigFile"
        ),
        (
            'authorizers[10].connectionInfo.kubeConfigFile: Invalid value: "/nonexistent": error '
            "loading file: stat /nonexistent: no such file or directory"
        ),
        'authorizers[11].connectionInfo.kubeConfigFile: Invalid value: "/": must be a regular file',
    ]
    assert said(text) == f"[{', '.join(expected)}]"


def test_what_was_there_at_the_start_stays() -> None:
    """A changed file may leave webhooks out, and nothing else."""
    text = f"{HEAD}authorizers: [{{type: RBAC, name: rbac}}]"
    with pytest.raises(ConfigurationError, match=r"missing required types: \[ABAC Node\]"):
        configured(text.encode(), frozenset({"RBAC", "Node", "ABAC"}))


def test_files_are_looked_for(tmp_path: Path) -> None:
    """A kubeconfig that is there is taken."""
    file = tmp_path / "k"
    file.touch()
    info = f"{{type: KubeConfigFile, kubeConfigFile: {file}}}"
    webhook = GOOD.replace("{type: InClusterConfig}", info)
    text = f"{HEAD}authorizers: [{{type: Webhook, name: w, webhook: {{{webhook}}}}}]"
    [one] = configured(text.encode())
    assert one.webhook is not None
    assert one.webhook.kubeconfig == file
