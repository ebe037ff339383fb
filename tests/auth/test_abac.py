"""Policies in a file."""

from __future__ import annotations

import pytest

from kubetrio.auth.abac import LINE_MAX, PolicyError, read_policies
from kubetrio.machinery.identity import AUTHENTICATED, Attributes, Decision, UserInfo

ALICE = UserInfo("alice", groups=("devs", AUTHENTICATED))
BOB = UserInfo("bob", groups=("ops", AUTHENTICATED))
ANYBODY = UserInfo("system:anonymous", groups=("system:unauthenticated",))
NEW = '{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":%s}'


def asks(user: UserInfo, verb: str = "get", path: str = "", **more: str) -> Attributes:
    return Attributes(user=user, verb=verb, path=path, resource_request=not path, **more)  # type: ignore[arg-type]


def allows(line: str, attributes: Attributes) -> bool:
    policies, _ = read_policies(line.encode(), "f")
    verdict = policies.authorize(attributes)
    assert verdict.decision is Decision.ALLOW or verdict.reason == "No policy matched."
    return verdict.decision is Decision.ALLOW


PODS = {"resource": "pods", "namespace": "x"}


@pytest.mark.parametrize(
    ("line", "attributes", "allowed"),
    [
        ('{"user":"alice"}', asks(ALICE, "delete", **PODS), True),
        ('{"user":"alice"}', asks(BOB, **PODS), False),
        ('{"user":"alice","group":"devs"}', asks(ALICE, **PODS), True),
        ('{"user":"alice","group":"ops"}', asks(ALICE, **PODS), False),
        ('{"group":"devs","readonly":true}', asks(ALICE, "watch", **PODS), True),
        ('{"group":"devs","readonly":true}', asks(ALICE, "create", **PODS), False),
        ('{"user":"*"}', asks(BOB, **PODS), True),
        ('{"user":"*"}', asks(ANYBODY, **PODS), False),
        ("{}", asks(BOB, path="/x"), True),
        ("{}", asks(ANYBODY, path="/x"), False),
        ('{"user":"alice","resource":"pods"}', asks(ALICE, path="/x"), False),
        ('{"user":"alice","namespace":"y"}', asks(ALICE, **PODS), False),
        (NEW % '{"user":"alice"}', asks(ALICE, **PODS), False),
        (NEW % '{"user":"alice","namespace":"*","resource":"*","apiGroup":"*"}',
         asks(ALICE, **PODS), True),
        (NEW % '{"user":"alice","namespace":"x","resource":"pods","apiGroup":"apps"}',
         asks(ALICE, **PODS), False),
        (NEW % '{"group":"*","nonResourcePath":"/x/*"}', asks(BOB, path="/x/y"), True),
        (NEW % '{"group":"*","nonResourcePath":"/x/*"}', asks(ANYBODY, path="/x/y"), False),
        (NEW % '{"group":"*","nonResourcePath":"/x/*"}', asks(BOB, path="/xy"), False),
        (NEW % '{"user":"alice","nonResourcePath":"*"}', asks(ALICE, **PODS), False),
        (NEW % '{"nonResourcePath":"*"}', asks(ALICE, path="/x"), False),
        ('# {"user":"alice"}\n\n  \n', asks(ALICE, **PODS), False),
    ],
)  # fmt: skip
def test_policies(line: str, attributes: Attributes, *, allowed: bool) -> None:
    """What lines with and without a version allow."""
    assert allows(line, attributes) is allowed


_STRUCT = (
    'Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"user": 5}', "json: cannot unmarshal number into Go struct field Policy.user of type string"),  # noqa: E501
        ("{bad", ("couldn't get version/kind; json parse error: invalid character 'b' looking for "
         "beginning of object key string")),
        (NEW % '{"user":5}', ("json: cannot unmarshal number into Go struct field "
         "PolicySpec.spec.user of type string")),
        ('{"apiVersion":"abac.authorization.kubernetes.io/v2","kind":"Policy"}',
         ('no kind "Policy" is registered for version "abac.authorization.kubernetes.io/v2" in '
         'scheme "k8s.io/kubernetes/pkg/apis/abac/register.go:33"')),
        ("[]", f"couldn't get version/kind; json parse error: json: cannot unmarshal array into {_STRUCT}"),  # noqa: E501
        ('"a"', f"couldn't get version/kind; json parse error: json: cannot unmarshal string into {_STRUCT}"),  # noqa: E501
    ],
)  # fmt: skip
def test_bad_lines_are_told_with_file_and_number(line: str, why: str) -> None:
    """As kube-apiserver tells them at its start."""
    with pytest.raises(PolicyError) as caught:
        read_policies(f"# comment\n{line}\n".encode(), "/f")
    assert str(caught.value) == f"error reading policy file /f, line 2: {line}: {why}"


def test_long_lines_are_refused() -> None:
    """Whoever reads by lines has a bound."""
    with pytest.raises(PolicyError, match=r"/f: bufio.Scanner: token too long"):
        read_policies(b"#" * LINE_MAX, "/f")


def test_lines_without_a_version_are_told_of() -> None:
    """They are old."""
    assert read_policies(b'{"user":"a"}', "f")[1]
    assert not read_policies((NEW % "{}").encode(), "f")[1]


def test_rules() -> None:
    """Those of the user, in the namespace and in all."""
    lines = [
        NEW % '{"user":"alice","namespace":"x","resource":"pods","readonly":true}',
        NEW % '{"user":"alice","namespace":"*","nonResourcePath":"/a"}',
        NEW % '{"user":"alice","namespace":"y","resource":"nodes"}',
        NEW % '{"user":"bob","namespace":"*","resource":"*"}',
    ]
    rules = read_policies("\n".join(lines).encode(), "f")[0].rules_for(ALICE, "x")
    pods = {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["pods"]}
    assert list(rules.resources) == [pods]
    assert list(rules.paths) == [{"verbs": ["*"], "nonResourceURLs": ["/a"]}]
    assert not rules.incomplete
