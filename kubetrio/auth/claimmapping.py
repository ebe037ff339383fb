"""From the claims of a token to a user.

Source: docs "Authenticating" (OpenID Connect tokens, authentication configuration).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kubetrio.auth.certificates import CREDENTIAL_ID
from kubetrio.auth.claimexpressions import Expression, ExpressionError, inputs_of, texts_of
from kubetrio.auth.jwtconfig import JwtAuthenticator
from kubetrio.gotext.text import quote
from kubetrio.machinery.identity import UserInfo
from kubetrio.wire.gojson import type_word

if TYPE_CHECKING:
    from kubetrio.cel.programs import Inputs

Claims = Mapping[str, Any]


class ClaimError(ValueError):
    """Claims make no user; the text is kube-apiserver's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """The expressions of an authenticator.

    Args:
        username, groups, uid: what these are made with, None without an expression.
        extra: keys and what their values are made with.
        claim_rules: what has to be true of claims, and the message otherwise.
        user_rules: the same of the user.
    """

    username: Expression | None = None
    groups: Expression | None = None
    uid: Expression | None = None
    extra: tuple[tuple[str, Expression], ...] = ()
    claim_rules: tuple[tuple[Expression, str], ...] = ()
    user_rules: tuple[tuple[Expression, str], ...] = ()

    @property
    def about_claims(self) -> bool:
        """Whether any of them looks at claims."""
        return bool(self.username or self.groups or self.uid or self.extra or self.claim_rules)


class Mapper:
    """Makes users of claims.

    Args:
        config: what is said of an issuer.
        compiled: its expressions.
    """

    def __init__(self, config: JwtAuthenticator, compiled: Compiled) -> None:
        self._config = config
        self._compiled = compiled

    def user(self, claims: Claims) -> UserInfo:
        """The user that claims are about.

        Args:
            claims: of a token that was verified.

        Raises:
            ClaimError: there is none.
        """
        compiled = self._compiled
        inputs = inputs_of("claims", claims) if compiled.about_claims else None
        user = UserInfo(
            self._name(claims, inputs),
            groups=self._groups(claims, inputs),
            uid=self._uid(claims, inputs),
            extra=self._extra(claims, inputs),
        )
        self._require(claims)
        _hold(compiled.claim_rules, inputs, "claim validation expression")
        if compiled.user_rules:
            shown = {
                "username": user.name,
                "uid": user.uid,
                "groups": list(user.groups),
                "extra": {key: list(texts) for key, texts in user.extra.items()},
            }
            seen = inputs_of("user", shown)
            _hold(compiled.user_rules, seen, "user info validation rule")
        return user

    def _name(self, claims: Claims, inputs: Inputs | None) -> str:
        if self._compiled.username is not None:
            name = _evaluated(self._compiled.username, inputs, "username claim expression")
            if not isinstance(name, str):
                raise ClaimError(
                    "oidc: error evaluating username claim expression: "
                    "username claim expression must return a string"
                )
            if not name:
                raise ClaimError("oidc: empty username via CEL expression is not allowed")
            return name
        source = self._config.username
        name = _text(claims, source.claim, f"oidc: parse username claims {quote(source.claim)}")
        if source.claim == "email" and "email_verified" in claims:
            # OpenID Connect Core 1.0, 5.1: an address that is not verified names no user.
            verified = claims["email_verified"]
            if verified is not None and not isinstance(verified, bool):
                raise ClaimError(
                    "oidc: parse 'email_verified' claim: json: cannot unmarshal "
                    f"{type_word(verified)} into Go value of type bool"
                )
            if not verified:
                raise ClaimError("oidc: email not verified")
        return (source.prefix or "") + name

    def _groups(self, claims: Claims, inputs: Inputs | None) -> tuple[str, ...]:
        source = self._config.groups
        if source.claim and source.claim in claims:
            value = claims[source.claim]
            groups = value if isinstance(value, list) else [] if value is None else [value]
            if not all(isinstance(one, str) or one is None for one in groups):
                what = next(one for one in groups if not isinstance(one, str) and one is not None)
                word = "array" if isinstance(value, list) else type_word(what)
                raise ClaimError(
                    f"oidc: parse groups claim {quote(source.claim)}: json: cannot unmarshal "
                    f"{word} into Go value of type string"
                )
            return tuple((source.prefix or "") + (one or "") for one in groups)
        if self._compiled.groups is None:
            return ()
        try:
            return texts_of(_evaluated(self._compiled.groups, inputs, "group claim expression"))
        except ExpressionError as error:
            raise ClaimError(f"oidc: error evaluating group claim expression: {error}") from None

    def _uid(self, claims: Claims, inputs: Inputs | None) -> str:
        claim = self._config.uid.claim
        if claim:
            return _text(claims, claim, f"oidc: parse uid claim {quote(claim)}")
        if self._compiled.uid is None:
            return ""
        uid = _evaluated(self._compiled.uid, inputs, "uid claim expression")
        if not isinstance(uid, str):
            raise ClaimError(
                "oidc: error evaluating uid claim expression: uid claim expression must return "
                "a string"
            )
        return uid

    def _extra(self, claims: Claims, inputs: Inputs | None) -> dict[str, tuple[str, ...]]:
        extra: dict[str, tuple[str, ...]] = {}
        token_id = claims.get("jti")
        if isinstance(token_id, str) and token_id:
            extra[CREDENTIAL_ID] = (f"JTI={token_id}",)
        for key, expression in self._compiled.extra:
            try:
                values = texts_of(expression.evaluate(_there(inputs)))
            except ExpressionError as error:
                text = str(error)
                if text.startswith("expression '"):
                    raise ClaimError(text) from None
                raise ClaimError(
                    f"oidc: error evaluating extra claim expression: {expression.source}: {text}"
                ) from None
            if values:
                extra[key] = values
        return extra

    def _require(self, claims: Claims) -> None:
        for rule in self._config.claim_rules:
            if not rule.claim:
                continue
            if rule.claim not in claims:
                raise ClaimError(f"oidc: required claim {rule.claim} not present in ID token")
            text = _text(claims, rule.claim, f"oidc: parse claim {rule.claim}")
            if text != rule.required_value:
                raise ClaimError(
                    f"oidc: required claim {rule.claim} value does not match. "
                    f"Got = {text}, want = {rule.required_value}"
                )


def _there(inputs: Inputs | None) -> Inputs:
    if inputs is None:
        raise AssertionError("there are expressions")
    return inputs


def _evaluated(expression: Expression, inputs: Inputs | None, what: str) -> Any:
    try:
        return expression.evaluate(_there(inputs))
    except ExpressionError as error:
        raise ClaimError(f"oidc: error evaluating {what}: {error}") from None


def _hold(rules: tuple[tuple[Expression, str], ...], inputs: Inputs | None, what: str) -> None:
    """Raise ClaimError unless all rules are true."""
    # As upstream: all of them are evaluated before the first that is false is told.
    results = [(rule, message, _evaluated(rule, inputs, what)) for rule, message in rules]
    for rule, message, value in results:
        if not isinstance(value, bool):
            raise ClaimError(
                f"oidc: error evaluating {what}: validation expression must return a boolean"
            )
        if not value:
            raise ClaimError(
                f"oidc: error evaluating {what}: "
                f"validation expression '{rule.source}' failed: {message}"
            )


def _text(claims: Claims, name: str, what: str) -> str:
    """The text that a claim is; of null an empty one, as Go reads it."""
    if name not in claims:
        raise ClaimError(f"{what}: claim not present")
    value = claims[name]
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ClaimError(
            f"{what}: json: cannot unmarshal {type_word(value)} into Go value of type string"
        )
    return value
