"""The audit policy: which requests are noted, and how much of them.

Rules are asked in order and the first that fits decides; where none fits, nothing is noted.

Source: docs "Auditing", audit policy; API group audit.k8s.io/v1 (Policy).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from kubetrio.gotext.text import aggregate, quote
from kubetrio.machinery import fielderrors
from kubetrio.machinery.names_validation import dns1123_subdomain
from kubetrio.machinery.remember import keep
from kubetrio.machinery.status import Cause
from kubetrio.observe.logs import Log

log = Log("kubetrio.audit")
API_VERSION = "audit.k8s.io/v1"
STAGES = ("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic")
REMEMBERED = 4096
LONGEST = 1024
"""Questions that are remembered with their answers, and characters of one: clients choose them."""


class PolicyError(ValueError):
    """A policy file cannot be used; the text is one line."""


class Level(IntEnum):
    """How much of a request is noted; each has what the one before it has."""

    NONE = 0
    METADATA = 1
    REQUEST = 2
    REQUEST_RESPONSE = 3


NAMES = {
    "None": Level.NONE,
    "Metadata": Level.METADATA,
    "Request": Level.REQUEST,
    "RequestResponse": Level.REQUEST_RESPONSE,
}
LEVEL_NAMES = {level: name for name, level in NAMES.items()}


class RequestFacts(NamedTuple):
    """Attributes of a request that policies look at; its answers are remembered by them.

    Args:
        user: name; empty for a request that was not authenticated.
        groups: of the user.
        verb: of the request.
        is_resource: whether the path is one of resources.
        namespace: empty for none.
        group: API group.
        resource: plural name.
        subresource: empty for none.
        name: of the object, empty if no rule looks at it.
        path: empty for resources.
    """

    user: str
    groups: tuple[str, ...]
    verb: str
    is_resource: bool
    namespace: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    path: str = ""


class Chosen(NamedTuple):
    """What a policy says of a request.

    Args:
        level: how much is noted.
        omitted: stages of which nothing is noted.
        omit_managed_fields: whether objects are noted without their ``managedFields``.
    """

    level: Level
    omitted: frozenset[str] = frozenset()
    omit_managed_fields: bool = False


class Resources(NamedTuple):
    """Resources of one API group in a rule."""

    group: str = ""
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def fits(self, asked: RequestFacts) -> bool:
        """Whether a request is about one of them."""
        if self.group not in (asked.group, "*"):
            return False
        if not self.resources:
            return True
        if self.names and asked.name not in self.names:
            return False
        resource, below = asked.resource, asked.subresource
        names = {"*", f"{resource}/{below}" if below else resource, f"{resource}/*"}
        if below:
            names.add(f"*/{below}")
        return not names.isdisjoint(self.resources)


class Rule(NamedTuple):
    """One rule; an empty member fits everything."""

    chosen: Chosen
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    resources: tuple[Resources, ...] = ()
    namespaces: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    def fits(self, asked: RequestFacts) -> bool:
        """Whether the rule is about a request."""
        if self.users and asked.user not in self.users:
            return False
        if self.groups and not set(self.groups).intersection(asked.groups):
            return False
        if self.verbs and asked.verb not in self.verbs:
            return False
        if self.namespaces or self.resources:
            if not asked.is_resource:
                return False
            if self.namespaces and asked.namespace not in self.namespaces:
                return False
            return not self.resources or any(one.fits(asked) for one in self.resources)
        if self.paths:
            return not asked.is_resource and any(_under(asked.path, one) for one in self.paths)
        return True


def _under(path: str, wanted: str) -> bool:
    return wanted in ("*", path) or (wanted.endswith("*") and path.startswith(wanted.rstrip("*")))


class About(Protocol):
    """What a request is about, as far as rules look at it."""

    @property
    def is_resource(self) -> bool: ...  # noqa: D102
    @property
    def verb(self) -> str: ...  # noqa: D102
    @property
    def path(self) -> str: ...  # noqa: D102
    @property
    def group(self) -> str: ...  # noqa: D102
    @property
    def namespace(self) -> str: ...  # noqa: D102
    @property
    def resource(self) -> str: ...  # noqa: D102
    @property
    def subresource(self) -> str: ...  # noqa: D102
    @property
    def name(self) -> str: ...  # noqa: D102


class Policy:
    """Rules, and what they said of requests like those before.

    Args:
        rules: in order.
        otherwise: what holds where none fits.
    """

    def __init__(self, rules: Sequence[Rule], otherwise: Chosen) -> None:
        self.rules = tuple(rules)
        self._otherwise = otherwise
        self._by_name = any(one.names for rule in rules for one in rule.resources)
        self._by_namespace = any(rule.namespaces for rule in rules)
        self._by_path = any(rule.paths for rule in rules)
        self._known: dict[tuple[object, ...], Chosen] = {}

    def remembered(self) -> int:
        """How many answers are remembered."""
        return len(self._known)

    def choose(self, user: str, groups: tuple[str, ...], about: About) -> Chosen:
        """What holds for a request, remembered for those that no rule tells from it."""
        is_resource = about.is_resource
        key = (
            user, groups, about.verb, about.group, about.resource, about.subresource, is_resource,
            about.namespace if self._by_namespace else "",
            about.name if self._by_name else "",
            "" if is_resource or not self._by_path else about.path,
        )  # fmt: skip
        known = self._known.get(key)
        if known is None:
            asked = RequestFacts(
                user, groups, about.verb, is_resource, about.namespace, about.group,
                about.resource, about.subresource, about.name, about.path,
            )  # fmt: skip
            known = keep(self._known, key, self.evaluate(asked), REMEMBERED, LONGEST)
        return known

    def evaluate(self, asked: RequestFacts) -> Chosen:
        """What the first rule that fits says."""
        return next((one.chosen for one in self.rules if one.fits(asked)), self._otherwise)


# ---------------------------------------------------------------------- reading


def load(path: Path) -> Policy:
    """The policy in a file.

    Raises:
        PolicyError: it cannot be read, or is no policy.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        why = f"open {path}: {(error.strerror or str(error)).lower()}"
        raise PolicyError(f"failed to read file path {quote(str(path))}: {why}") from error
    try:
        return parse(data)
    except PolicyError as error:
        raise PolicyError(f"{error}: from file {path}") from error


TEXTS = "[]string"
_RULE: Mapping[str, str] = {
    "level": "string",
    "users": TEXTS,
    "userGroups": TEXTS,
    "verbs": TEXTS,
    "resources": "[]v1.GroupResources",
    "namespaces": TEXTS,
    "nonResourceURLs": TEXTS,
    "omitStages": TEXTS,
    "omitManagedFields": "bool",
}
_FIELDS: Mapping[str, Mapping[str, str]] = {
    "Policy": {
        "kind": "string",
        "apiVersion": "string",
        "metadata": "map",
        "rules": "[]v1.PolicyRule",
        "omitStages": TEXTS,
        "omitManagedFields": "bool",
    },
    "PolicyRule": _RULE,
    "GroupResources": {"group": "string", "resources": TEXTS, "resourceNames": TEXTS},
}
_PYTHON = {"string": str, "bool": bool, "map": dict}


def parse(data: bytes) -> Policy:
    """The policy in a YAML or JSON document.

    Args:
        data: the document.

    Raises:
        PolicyError: it is no policy.
    """
    from kubetrio.wire import yamlwire

    try:
        document = yamlwire.decode(data)
    except ValueError as error:
        raise PolicyError(f"failed decoding: {error}") from error
    value = document.value
    strict = [document.strict_error] if document.duplicates else []
    members = value if isinstance(value, dict) else {}
    kind, version = members.get("kind"), members.get("apiVersion")
    if not isinstance(kind, str) or not kind:
        shown = data.decode(errors="replace").strip()
        raise PolicyError(f"failed decoding: Object 'Kind' is missing in {quote(shown)}")
    if kind != "Policy" or version != API_VERSION:
        raise PolicyError(
            f'failed decoding: no kind "{kind}" is registered for version '
            f'"{version or "__internal"}" in scheme "k8s.io/apiserver/pkg/audit/scheme.go:30"'
        )
    _check(members, "Policy", "", strict)
    if strict:
        log.warning(
            "Audit policy contains errors, falling back to lenient decoding",
            err=f"strict decoding error: {', '.join(strict)}",
        )
    causes = [*_causes(members)]
    if causes:
        raise PolicyError(aggregate(map(str, causes)))
    rules = members.get("rules") or []
    if not rules:
        raise PolicyError("loaded illegal policy with 0 rules")
    omitted = frozenset(members.get("omitStages") or ())
    omit_managed = bool(members.get("omitManagedFields"))
    parsed = [_rule(one, omitted, omit_managed=omit_managed) for one in rules]
    return Policy(parsed, Chosen(Level.NONE, omitted, omit_managed))


def _check(value: Mapping[str, Any], struct: str, path: str, strict: list[str]) -> None:
    """Check types; unknown fields are added to what is wrong in a strict sense.

    Raises:
        PolicyError: a field has a type that it may not have.
    """
    known = _FIELDS[struct]
    for name, member in value.items():
        at = f"{path}.{name}" if path else str(name)
        field_type = known.get(name)
        if field_type is None:
            strict.append(f"unknown field {quote(at)}")
        elif member is None:
            continue
        elif field_type in _PYTHON:
            if not isinstance(member, _PYTHON[field_type]):
                raise _unfit(member, struct, name, field_type)
        elif not isinstance(member, list):
            raise _unfit(member, struct, name, field_type)
        else:
            inner = field_type.removeprefix("[]v1.")
            for index, one in enumerate(member):
                if field_type == TEXTS:
                    if not isinstance(one, str):
                        raise _unfit(one, struct, name, "string")
                elif not isinstance(one, dict):
                    raise _unfit(one, struct, name, field_type.removeprefix("[]"))
                else:
                    _check(one, inner, f"{at}[{index}]", strict)


def _unfit(value: object, struct: str, name: str, wanted: str) -> PolicyError:
    match value:
        case bool():
            got = "bool"
        case str():
            got = "string"
        case dict():
            got = "object"
        case list():
            got = "array"
        case _:
            got = "number"
    return PolicyError(
        f"failed decoding: json: cannot unmarshal {got} into Go struct field "
        f"{struct}.{name} of type {wanted}"
    )


def _causes(policy: Mapping[str, Any]) -> list[Cause]:
    out: list[Cause] = []
    _stages(policy.get("omitStages") or (), "omitStages", out)
    for index, rule in enumerate(policy.get("rules") or ()):
        _rule_causes(rule, f"rules[{index}]", out)
    return out


def _rule_causes(rule: Mapping[str, Any], path: str, out: list[Cause]) -> None:
    level = rule.get("level") or ""
    if not level:
        out.append(fielderrors.required(f"{path}.level", ""))
    elif level not in NAMES:
        out.append(fielderrors.not_supported(f"{path}.level", level, list(NAMES)))
    urls, resources = rule.get("nonResourceURLs") or [], rule.get("resources") or []
    where = f"{path}.nonResourceURLs"
    for index, url in enumerate(urls):
        if url == "*":
            continue
        if not url.startswith("/"):
            why = "non-resource URL rules must begin with a '/' character"
            out.append(fielderrors.invalid(f"{where}[{index}]", url, why))
        if "*" in url[:-1]:
            why = "non-resource URL wildcards '*' must be the final character of the rule"
            out.append(fielderrors.invalid(f"{where}[{index}]", url, why))
    for one in resources:
        group, names = one.get("group") or "", one.get("resourceNames") or []
        if group not in ("", "*"):
            wrong = dns1123_subdomain(group)
            if wrong:
                text = ",".join(wrong)
                out.append(fielderrors.invalid(f"{path}.resources.group", group, text))
        if names and not one.get("resources"):
            why = "using resourceNames requires at least one resource"
            out.append(fielderrors.invalid(f"{path}.resources.resourceNames", names, why))
    _stages(rule.get("omitStages") or (), f"{path}.omitStages", out)
    if urls and (resources or rule.get("namespaces")):
        why = "rules cannot apply to both regular resources and non-resource URLs"
        out.append(fielderrors.invalid(where, urls, why))


def _stages(stages: Sequence[str], path: str, out: list[Cause]) -> None:
    for index, stage in enumerate(stages):
        if stage not in STAGES:
            why = f"allowed stages are {','.join(STAGES)}"
            out.append(fielderrors.invalid(f"{path}[{index}]", stage, why))


def _rule(value: Mapping[str, Any], omitted: frozenset[str], *, omit_managed: bool) -> Rule:
    def texts(name: str, of: Mapping[str, Any] = value) -> tuple[str, ...]:
        return tuple(of.get(name) or ())

    own = value.get("omitManagedFields")
    return Rule(
        chosen=Chosen(
            NAMES[value["level"]],
            omitted.union(texts("omitStages")),
            omit_managed if own is None else own,
        ),
        users=texts("users"),
        groups=texts("userGroups"),
        verbs=texts("verbs"),
        resources=tuple(
            Resources(one.get("group") or "", texts("resources", one), texts("resourceNames", one))
            for one in value.get("resources") or ()
        ),
        namespaces=texts("namespaces"),
        paths=texts("nonResourceURLs"),
    )
