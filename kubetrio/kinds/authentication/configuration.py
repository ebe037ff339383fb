"""What an ``AuthenticationConfiguration`` may say, and its expressions made ready to run.

Source: the reference of ``apiserver.config.k8s.io/v1``; what a kube-apiserver answers.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubetrio.auth.claimexpressions import EngineMissing, Expression, ExpressionError
from kubetrio.auth.claimmapping import Compiled
from kubetrio.auth.jwtconfig import AuthenticationConfig, ClaimSource, Issuer, JwtAuthenticator
from kubetrio.gotext.text import aggregate, quote
from kubetrio.gotext.urls import GoURLError, parse_url
from kubetrio.kinds.common.formats import domain_prefixed_path
from kubetrio.machinery.fielderrors import duplicate, invalid, required, too_many
from kubetrio.machinery.status import Cause
from kubetrio.tls.certificates import NO_CERTIFICATES, read_certificate
from kubetrio.tls.pem import certificates

MOST_ISSUERS = 64
INVALID = "invalid authentication configuration: "
MATCH_ANY = "MatchAny"
EGRESS = ("controlplane", "cluster")
_RESERVED = ("kubernetes.io", "k8s.io")
VERIFIED = (
    "claims.email_verified must be used in claimMappings.username.expression or "
    "claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when "
    "claims.email is used in claimMappings.username.expression"
)

Causes = list[Cause]


class ConfigurationError(ValueError):
    """A configuration may not be so; the text is kube-apiserver's."""


def compiled(
    config: AuthenticationConfig, own_issuers: Sequence[str]
) -> tuple[tuple[JwtAuthenticator, Compiled], ...]:
    """The issuers of a configuration with their expressions.

    Args:
        config: what a file or flags say.
        own_issuers: those of this server's own tokens, which no other issuer may be.

    Raises:
        ConfigurationError: it may not be so.
    """
    out: Causes = []
    compiled_issuers: list[tuple[JwtAuthenticator, Compiled]] = []
    if len(config.jwt) > MOST_ISSUERS:
        many = too_many("jwt", len(config.jwt), MOST_ISSUERS)
        raise ConfigurationError(f"{INVALID}{many}")
    urls: set[str] = set()
    discovery: set[str] = set()
    for at, one in enumerate(config.jwt):
        path = f"jwt[{at}]"
        compiled_issuers.append((one, _compile(one, path, out)))
        if one.issuer.url in urls:
            out.append(duplicate(f"{path}.issuer.url", one.issuer.url))
        urls.add(one.issuer.url)
        where = one.issuer.discovery_url
        if where and where in discovery:
            out.append(duplicate(f"{path}.issuer.discoveryURL", where))
        discovery.add(where)
    anonymous = config.anonymous
    if anonymous is not None and not anonymous.enabled and anonymous.paths:
        shown = [{"Path": path} for path in anonymous.paths]
        detail = "enabled should be set to true when conditions are defined"
        out.append(invalid("anonymous.conditions", shown, detail))
    if out:
        raise ConfigurationError(f"{INVALID}{aggregate(map(str, out))}")
    for one in config.jwt:
        if one.issuer.url in own_issuers:
            listed = " ".join(sorted(own_issuers))
            detail = f"URL must not overlap with disallowed issuers: [{listed}]"
            raise ConfigurationError(str(invalid("issuer.url", one.issuer.url, detail)))
        if one.issuer.egress_selector_type:
            kind = quote(one.issuer.egress_selector_type)
            raise ConfigurationError(
                f"oidc: egress lookup required with egress selector type {kind}"
            )
    return tuple(compiled_issuers)


def _compile(config: JwtAuthenticator, path: str, out: Causes) -> Compiled:
    _issuer(config.issuer, f"{path}.issuer", out)
    rules = _claim_rules(config, f"{path}.claimValidationRules", out)
    mappings = f"{path}.claimMappings"
    username = _source(config.username, f"{mappings}.username", out, needed=True)
    groups = _source(config.groups, f"{mappings}.groups", out)
    uid = _uid(config.uid, f"{mappings}.uid", out)
    extra = _extra(config, mappings, out)
    if username is not None and username.selects("email"):
        told = [username, *(one for _, one in extra), *(one for one, _ in rules)]
        if not any(one.selects("email_verified") for one in told):
            out.append(invalid(f"{mappings}.username.expression", username.source, VERIFIED))
    return Compiled(
        username=username,
        groups=groups,
        uid=uid,
        extra=tuple(extra),
        claim_rules=tuple(rules),
        user_rules=tuple(_user_rules(config, f"{path}.userValidationRules", out)),
    )


def _expression(
    source: str, about: str, path: str, out: Causes, *, boolean: bool = False
) -> Expression | None:
    try:
        return Expression(source, about, boolean=boolean)
    except (ExpressionError, EngineMissing) as error:
        out.append(invalid(path, source, str(error)))
        return None


# ---------------------------------------------------------------------- issuers


def _issuer(issuer: Issuer, path: str, out: Causes) -> None:
    if issuer.url:
        _url(issuer.url, f"{path}.url", out)
    else:
        out.append(required(f"{path}.url"))
    where = issuer.discovery_url
    if where:
        if issuer.url and issuer.url.rstrip("/") == where.rstrip("/"):
            detail = "discoveryURL must be different from URL"
            out.append(invalid(f"{path}.discoveryURL", where, detail))
        _url(where, f"{path}.discoveryURL", out)
    _audiences(issuer, path, out)
    if issuer.certificate_authority:
        wrong = authority_problem(issuer.certificate_authority)
        if wrong:
            out.append(invalid(f"{path}.certificateAuthority", "<omitted>", wrong))
    kind = issuer.egress_selector_type
    if kind and kind not in EGRESS:
        detail = "egress selector must be either controlplane or cluster"
        out.append(invalid(f"{path}.egressSelectorType", kind, detail))


def _url(url: str, path: str, out: Causes) -> None:
    try:
        parsed = parse_url(url)
    except GoURLError as error:
        out.append(invalid(path, url, str(error)))
        return
    for wrong, detail in (
        (parsed.scheme != "https", "URL scheme must be https"),
        (parsed.user is not None, "URL must not contain a username or password"),
        (bool(parsed.query), "URL must not contain a query"),
        (bool(parsed.fragment), "URL must not contain a fragment"),
    ):
        if wrong:
            out.append(invalid(path, url, detail))


def _audiences(issuer: Issuer, path: str, out: Causes) -> None:
    where = f"{path}.audiences"
    if not issuer.audiences:
        out.append(required(where, f"at least one {where} is required"))
        return
    seen: set[str] = set()
    for at, audience in enumerate(issuer.audiences):
        if not audience:
            out.append(required(f"{where}[{at}]"))
        if audience in seen:
            out.append(duplicate(f"{where}[{at}]", audience))
        seen.add(audience)
    policy, many = issuer.audience_match_policy, len(issuer.audiences) > 1
    if many and policy != MATCH_ANY:
        detail = "audienceMatchPolicy must be MatchAny for multiple audiences"
        out.append(invalid(f"{path}.audienceMatchPolicy", policy, detail))
    if not many and policy not in ("", MATCH_ANY):
        detail = "audienceMatchPolicy must be empty or MatchAny for single audience"
        out.append(invalid(f"{path}.audienceMatchPolicy", policy, detail))


def authority_problem(pem: str) -> str:
    """What is wrong with authorities, empty for nothing.

    Args:
        pem: certificates and whatever is between them.
    """
    chain = certificates(pem.encode())
    if not chain:
        return NO_CERTIFICATES
    try:
        for one in chain:
            read_certificate(one)
    except ValueError:
        return "x509: malformed certificate"
    return ""


# ---------------------------------------------------------------------- claims


def _claim_rules(config: JwtAuthenticator, path: str, out: Causes) -> list[tuple[Expression, str]]:
    claims: set[str] = set()
    expressions: set[str] = set()
    rules: list[tuple[Expression, str]] = []
    for at, rule in enumerate(config.claim_rules):
        where = f"{path}[{at}]"
        if rule.claim and rule.expression:
            out.append(invalid(where, rule.claim, "claim and expression can't both be set"))
        elif rule.claim:
            if rule.message:
                detail = "may not be specified when claim is set"
                out.append(invalid(f"{where}.message", rule.message, detail))
            if rule.claim in claims:
                out.append(duplicate(f"{where}.claim", rule.claim))
            claims.add(rule.claim)
        elif rule.expression:
            if rule.required_value:
                detail = "may not be specified when expression is set"
                out.append(invalid(f"{where}.requiredValue", rule.required_value, detail))
            if rule.expression in expressions:
                out.append(duplicate(f"{where}.expression", rule.expression))
                continue
            expressions.add(rule.expression)
            expression = _expression(
                rule.expression, "claims", f"{where}.expression", out, boolean=True
            )
            if expression is not None:
                rules.append((expression, rule.message))
        else:
            out.append(required(where, "claim or expression is required"))
    return rules


def _source(
    source: ClaimSource, path: str, out: Causes, *, needed: bool = False
) -> Expression | None:
    expression: Expression | None = None
    if source.claim and source.expression:
        out.append(invalid(path, "", "claim and expression can't both be set"))
    elif source.expression:
        if source.prefix is not None:
            detail = "may not be specified when expression is set"
            out.append(invalid(f"{path}.prefix", source.prefix, detail))
        expression = _expression(source.expression, "claims", f"{path}.expression", out)
    elif source.claim:
        if source.prefix is None:
            detail = (
                "prefix is required when claim is set. It can be set to an empty string to "
                "disable prefixing"
            )
            out.append(required(f"{path}.prefix", detail))
    elif needed:
        out.append(required(path, "claim or expression is required"))
    return expression


def _uid(source: ClaimSource, path: str, out: Causes) -> Expression | None:
    if source.claim and source.expression:
        out.append(invalid(path, "", "claim and expression can't both be set"))
    elif source.expression:
        return _expression(source.expression, "claims", f"{path}.expression", out)
    return None


def _extra(config: JwtAuthenticator, path: str, out: Causes) -> list[tuple[str, Expression]]:
    seen: set[str] = set()
    mappings: list[tuple[str, Expression]] = []
    for at, mapping in enumerate(config.extra):
        where, key = f"{path}.extra[{at}]", mapping.key
        domain_prefixed_path(key, f"{where}.key", out)
        if key != key.lower():
            out.append(invalid(f"{where}.key", key, "must be lowercase"))
        domain, slash, _ = key.partition("/")
        if slash and any(domain == one or domain.endswith(f".{one}") for one in _RESERVED):
            detail = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"
            out.append(invalid(f"{where}.key", key, detail))
        if key in seen:
            out.append(duplicate(f"{where}.key", key))
            continue
        seen.add(key)
        if not mapping.expression:
            out.append(required(f"{where}.valueExpression"))
            continue
        expression = _expression(mapping.expression, "claims", f"{where}.valueExpression", out)
        if expression is not None:
            mappings.append((key, expression))
    return mappings


def _user_rules(config: JwtAuthenticator, path: str, out: Causes) -> list[tuple[Expression, str]]:
    seen: set[str] = set()
    rules: list[tuple[Expression, str]] = []
    for at, rule in enumerate(config.user_rules):
        where = f"{path}[{at}].expression"
        if not rule.expression:
            out.append(required(where))
        elif rule.expression in seen:
            out.append(duplicate(where, rule.expression))
        else:
            seen.add(rule.expression)
            expression = _expression(rule.expression, "user", where, out, boolean=True)
            if expression is not None:
                rules.append((expression, rule.message))
    return rules
