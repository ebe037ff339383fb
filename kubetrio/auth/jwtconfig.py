"""The ``AuthenticationConfiguration`` of a file, as values.

Source: docs "Authenticating" (Authentication configuration from a file); the reference of
``apiserver.config.k8s.io/v1``; KEP-3331, KEP-4633.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kubetrio.auth.strictconfig import StrictError, Struct, decode

GROUP = "apiserver.config.k8s.io"
VERSIONS = ("v1", "v1beta1", "v1alpha1")
KIND = "AuthenticationConfiguration"
_SCHEME = "k8s.io/kubernetes/pkg/kubeapiserver/options/authentication.go:879"
_PREFIXED = Struct(
    "PrefixedClaimOrExpression", {"claim": "string", "prefix": "string", "expression": "string"}
)
_STRUCT = Struct(
    KIND,
    {
        "jwt": [
            Struct(
                "JWTAuthenticator",
                {
                    "issuer": Struct(
                        "Issuer",
                        {
                            "url": "string",
                            "discoveryURL": "string",
                            "certificateAuthority": "string",
                            "audiences": ["string"],
                            "audienceMatchPolicy": "string",
                            "egressSelectorType": "string",
                        },
                    ),
                    "claimValidationRules": [
                        Struct(
                            "ClaimValidationRule",
                            {
                                "claim": "string",
                                "requiredValue": "string",
                                "expression": "string",
                                "message": "string",
                            },
                        )
                    ],
                    "claimMappings": Struct(
                        "ClaimMappings",
                        {
                            "username": _PREFIXED,
                            "groups": _PREFIXED,
                            "uid": Struct(
                                "ClaimOrExpression", {"claim": "string", "expression": "string"}
                            ),
                            "extra": [
                                Struct(
                                    "ExtraMapping", {"key": "string", "valueExpression": "string"}
                                )
                            ],
                        },
                    ),
                    "userValidationRules": [
                        Struct("UserValidationRule", {"expression": "string", "message": "string"})
                    ],
                },
            )
        ],
        "anonymous": Struct(
            "AnonymousAuthConfig",
            {
                "enabled": "bool",
                "conditions": [Struct("AnonymousAuthCondition", {"path": "string"})],
            },
        ),
    },
)
_OTHERS = ("AuthorizationConfiguration", "AdmissionConfiguration", "TracingConfiguration")


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """Issuer of tokens, and their audiences.

    Args:
        url: the ``iss`` of tokens.
        discovery_url: where its document is, if not at the usual place below `url`.
        certificate_authority: PEM; that of the system when empty.
        audiences: at least one of them is in a token.
        audience_match_policy: ``MatchAny`` or nothing.
        egress_selector_type: a way out that is not there.
    """

    url: str = ""
    discovery_url: str = ""
    certificate_authority: str = ""
    audiences: tuple[str, ...] = ()
    audience_match_policy: str = ""
    egress_selector_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimSource:
    """Where a part of a user comes from.

    Args:
        claim: name of a claim.
        prefix: what is put before its value; None when nothing is said.
        expression: in place of a claim.
    """

    claim: str = ""
    prefix: str | None = None
    expression: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRule:
    """What a claim has to be.

    Args:
        claim: its name.
        required_value: its value.
        expression: in place of both.
        message: for who reads why it was refused.
    """

    claim: str = ""
    required_value: str = ""
    expression: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraMapping:
    """An extra attribute of a user."""

    key: str = ""
    expression: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRule:
    """What a user has to be."""

    expression: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtAuthenticator:
    """One issuer, and how its tokens become users."""

    issuer: Issuer = field(default_factory=Issuer)
    claim_rules: tuple[ClaimRule, ...] = ()
    username: ClaimSource = field(default_factory=ClaimSource)
    groups: ClaimSource = field(default_factory=ClaimSource)
    uid: ClaimSource = field(default_factory=ClaimSource)
    extra: tuple[ExtraMapping, ...] = ()
    user_rules: tuple[UserRule, ...] = ()

    @property
    def expressions(self) -> bool:
        """Whether anything of it is an expression."""
        return bool(
            self.extra
            or self.user_rules
            or any(one.expression for one in (self.username, self.groups, self.uid))
            or any(rule.expression for rule in self.claim_rules)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Anonymous:
    """Who is served without credentials.

    Args:
        enabled: whether there are anonymous users.
        paths: the only paths for which, if there are any.
    """

    enabled: bool = False
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationConfig:
    """What a file says.

    Args:
        jwt: issuers, in order.
        anonymous: about requests without credentials; None when nothing is said.
    """

    jwt: tuple[JwtAuthenticator, ...] = ()
    anonymous: Anonymous | None = None


def parse(data: bytes) -> AuthenticationConfig:
    """Read a file.

    Args:
        data: its content.

    Raises:
        StrictError: it is none; the text is kube-apiserver's.
    """
    kinds = {KIND: _STRUCT, **{name: Struct(name, {}) for name in _OTHERS}}
    try:
        value, kind = decode(data, kinds, GROUP, VERSIONS, _SCHEME)
    except StrictError:
        # Another kind is told as that, whatever is in it.
        other = _kind_of(data)
        if other is None:
            raise
        kind = other
    if kind != KIND:
        raise StrictError(f"expected {KIND}, got *apiserver.{kind}")
    anonymous = value.get("anonymous")
    return AuthenticationConfig(
        jwt=tuple(_authenticator(one or {}) for one in value.get("jwt") or ()),
        anonymous=None
        if anonymous is None
        else Anonymous(
            enabled=bool(anonymous.get("enabled")),
            paths=tuple((one or {}).get("path") or "" for one in anonymous.get("conditions") or ()),
        ),
    )


def _kind_of(data: bytes) -> str | None:
    """The kind of a file that is of another kind than ours."""
    from kubetrio.wire import yamlwire

    try:
        value = yamlwire.decode(data).value
    except yamlwire.YamlError:
        return None
    kind = value.get("kind") if isinstance(value, dict) else None
    version = value.get("apiVersion") if isinstance(value, dict) else None
    known = version in {f"{GROUP}/{one}" for one in VERSIONS}
    return kind if known and kind in _OTHERS else None


def _text(value: Mapping[str, Any], name: str) -> str:
    return value.get(name) or ""


def _mapping(value: Mapping[str, Any] | None) -> ClaimSource:
    value = value or {}
    return ClaimSource(
        claim=_text(value, "claim"),
        prefix=value.get("prefix"),
        expression=_text(value, "expression"),
    )


def _authenticator(value: Mapping[str, Any]) -> JwtAuthenticator:
    issuer, mappings = value.get("issuer") or {}, value.get("claimMappings") or {}
    return JwtAuthenticator(
        issuer=Issuer(
            url=_text(issuer, "url"),
            discovery_url=_text(issuer, "discoveryURL"),
            certificate_authority=_text(issuer, "certificateAuthority"),
            audiences=tuple(one or "" for one in issuer.get("audiences") or ()),
            audience_match_policy=_text(issuer, "audienceMatchPolicy"),
            egress_selector_type=_text(issuer, "egressSelectorType"),
        ),
        claim_rules=tuple(
            ClaimRule(
                claim=_text(one, "claim"),
                required_value=_text(one, "requiredValue"),
                expression=_text(one, "expression"),
                message=_text(one, "message"),
            )
            for one in _objects(value, "claimValidationRules")
        ),
        username=_mapping(mappings.get("username")),
        groups=_mapping(mappings.get("groups")),
        uid=_mapping(mappings.get("uid")),
        extra=tuple(
            ExtraMapping(key=_text(one, "key"), expression=_text(one, "valueExpression"))
            for one in _objects(mappings, "extra")
        ),
        user_rules=tuple(
            UserRule(expression=_text(one, "expression"), message=_text(one, "message"))
            for one in _objects(value, "userValidationRules")
        ),
    )


def _objects(value: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    return [one or {} for one in value.get(name) or ()]
