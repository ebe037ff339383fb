"""Functions that Kubernetes adds to the language, as the type checker sees them.

One row is one overload: what it is called on (empty for a plain function), its name, its
parameters and its result.  Lists of any type are lists of ``dyn`` here: the engine's functions take
no type parameters, so an ``indexOf`` of a wrong type fails when it is evaluated.

Source: "Common Expression Language in Kubernetes" in the documentation (Kubernetes list, regex,
URL, authorizer, quantity, IP, CIDR, format, semver libraries); ``sets`` of cel-go's extensions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from kubetrio.cel.engine import engine

QUANTITY = "kubernetes.Quantity"
SEMVER = "kubernetes.Semver"
URL = "kubernetes.URL"
FORMAT = "kubernetes.NamedFormat"
IP = "net.IP"
CIDR = "net.CIDR"
AUTHORIZER = "kubernetes.authorization.Authorizer"
PATH_CHECK = "kubernetes.authorization.PathCheck"
GROUP_CHECK = "kubernetes.authorization.GroupCheck"
RESOURCE_CHECK = "kubernetes.authorization.ResourceCheck"
DECISION = "kubernetes.authorization.Decision"

TOO_LARGE = "kubernetes_tooLarge"
"""A function that ends an evaluation which makes too much."""

UNUSABLE = "kubernetes.Unusable"
"""What stands for a value that is not of its type; an expression that looks at it fails."""

OPAQUE = (
    UNUSABLE, QUANTITY, SEMVER, URL, FORMAT, IP, CIDR,
    AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION,
)  # fmt: skip
"""Types whose fields expressions may not see."""

FORMATS = (
    "dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix",
    "dns1123SubdomainPrefix", "dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date",
    "datetime",
)  # fmt: skip
"""Formats that ``format`` has a function for."""

Signature = tuple[str, str, str, str]

_CONVERSIONS: list[Signature] = [
    ("", "string", kind, "string")
    for kind in (
        "bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint", IP, CIDR,
    )
]  # fmt: skip
"""``string`` anew, for addresses."""

_NUMBERS = ("int", "uint", "double")
_ORDERED = ("bool", "bytes", "duration", "string", "timestamp")
_COMPARISONS: list[Signature] = [
    ("", name, params, "bool")
    for name in ("_<_", "_<=_", "_>_", "_>=_")
    for params in (
        *(f"{kind} {kind}" for kind in _ORDERED),
        *(f"{one} {two}" for one in _NUMBERS for two in _NUMBERS),
    )
]
"""Comparisons anew, for numbers of two types: the engine's checker refuses what it can evaluate."""

STANDARD: Mapping[str, Any] = MappingProxyType(
    {
        "stdlib": {
            "exclude_functions": [
                {"name": name} for name in ("string", "_<_", "_<=_", "_>_", "_>=_")
            ]
        }
    }
)
"""Configuration of an environment that leaves some standard functions to be declared here."""

_STRINGS: list[Signature] = [
    ("string", "charAt", "int", "string"),
    *(
        ("string", name, params, "int")
        for name in ("indexOf", "lastIndexOf")
        for params in ("string", "string int")
    ),
    ("list<string>", "join", "", "string"),
    ("list<string>", "join", "string", "string"),
    ("", "strings.quote", "string", "string"),
    ("string", "format", "list<dyn>", "string"),
    ("string", "replace", "string string", "string"),
    ("string", "replace", "string string int", "string"),
    ("string", "split", "string", "list<string>"),
    ("string", "split", "string int", "list<string>"),
    ("string", "substring", "int", "string"),
    ("string", "substring", "int int", "string"),
    *(("string", name, "", "string") for name in ("lowerAscii", "upperAscii", "trim")),
]
"""The strings extension, version 2: the engine's own cannot be added to, and `indexOf` must be."""

_LISTS: list[Signature] = [
    *(
        (f"list<{kind}>", name, "", result)
        for kind in ("int", "uint", "double", "string", "bool", "duration", "timestamp", "bytes")
        for name, result in (("isSorted", "bool"), ("min", kind), ("max", kind))
    ),
    *((f"list<{kind}>", "sum", "", kind) for kind in ("int", "uint", "double", "duration")),
    ("list<dyn>", "indexOf", "dyn", "int"),
    ("list<dyn>", "lastIndexOf", "dyn", "int"),
    *(
        (f"list<{kind}>", "sort", "", f"list<{kind}>")
        for kind in ("int", "uint", "double", "string", "bool", "duration", "timestamp", "bytes")
    ),
    *(("list<dyn>", name, "", "list<dyn>") for name in ("flatten", "distinct", "reverse")),
    ("list<dyn>", "flatten", "int", "list<dyn>"),
    ("list<dyn>", "slice", "int int", "list<dyn>"),
    ("", "lists.range", "int", "list<int>"),
]
_OPTIONALS: list[Signature] = [
    ("", "optional.unwrap", "list<dyn>", "list<dyn>"),
    ("list<dyn>", "unwrapOpt", "", "list<dyn>"),
]
_SETS: list[Signature] = [
    ("", f"sets.{name}", "list<dyn> list<dyn>", "bool")
    for name in ("contains", "equivalent", "intersects")
]
_REGEX: list[Signature] = [
    ("string", "find", "string", "string"),
    ("string", "findAll", "string", "list<string>"),
    ("string", "findAll", "string int", "list<string>"),
]
_URLS: list[Signature] = [
    ("", "url", "string", URL),
    ("", "isURL", "string", "bool"),
    (URL, "getQuery", "", "map<string,list<string>>"),
    *(
        (URL, name, "", "string")
        for name in ("getScheme", "getHost", "getHostname", "getPort", "getEscapedPath")
    ),
]
_QUANTITIES: list[Signature] = [
    ("", "quantity", "string", QUANTITY),
    ("", "isQuantity", "string", "bool"),
    (QUANTITY, "isInteger", "", "bool"),
    (QUANTITY, "asInteger", "", "int"),
    (QUANTITY, "asApproximateFloat", "", "double"),
    ("", "sign", QUANTITY, "int"),
    *((QUANTITY, name, kind, QUANTITY) for name in ("add", "sub") for kind in (QUANTITY, "int")),
    (QUANTITY, "isLessThan", QUANTITY, "bool"),
    (QUANTITY, "isGreaterThan", QUANTITY, "bool"),
    (QUANTITY, "compareTo", QUANTITY, "int"),
]
_SEMVERS: list[Signature] = [
    *(
        ("", name, params, result)
        for name, result in (("semver", SEMVER), ("isSemver", "bool"))
        for params in ("string", "string bool")
    ),
    *((SEMVER, name, "", "int") for name in ("major", "minor", "patch")),
    (SEMVER, "isLessThan", SEMVER, "bool"),
    (SEMVER, "isGreaterThan", SEMVER, "bool"),
    (SEMVER, "compareTo", SEMVER, "int"),
]
_NETWORK: list[Signature] = [
    ("", "ip", "string", IP),
    ("", "isIP", "string", "bool"),
    ("", "ip.isCanonical", "string", "bool"),
    (IP, "family", "", "int"),
    *(
        (IP, name, "", "bool")
        for name in (
            "isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast",
            "isGlobalUnicast",
        )
    ),
    ("", "cidr", "string", CIDR),
    ("", "isCIDR", "string", "bool"),
    (CIDR, "containsIP", "string", "bool"),
    (CIDR, "containsIP", IP, "bool"),
    (CIDR, "containsCIDR", "string", "bool"),
    (CIDR, "containsCIDR", CIDR, "bool"),
    (CIDR, "ip", "", IP),
    (CIDR, "masked", "", CIDR),
    (CIDR, "prefixLength", "", "int"),
]  # fmt: skip
_FORMATS: list[Signature] = [
    *(("", f"format.{name}", "", FORMAT) for name in FORMATS),
    ("", "format.named", "string", "dyn"),
    (FORMAT, "validate", "string", "dyn"),
]
_AUTHORIZER: list[Signature] = [
    (AUTHORIZER, "path", "string", PATH_CHECK),
    (PATH_CHECK, "check", "string", DECISION),
    (AUTHORIZER, "group", "string", GROUP_CHECK),
    (AUTHORIZER, "serviceAccount", "string string", AUTHORIZER),
    (GROUP_CHECK, "resource", "string", RESOURCE_CHECK),
    *(
        (RESOURCE_CHECK, name, "string", RESOURCE_CHECK)
        for name in ("subresource", "namespace", "name", "fieldSelector", "labelSelector")
    ),
    (RESOURCE_CHECK, "check", "string", DECISION),
    *((DECISION, name, "", "string") for name in ("error", "reason")),
    *((DECISION, name, "", "bool") for name in ("allowed", "errored")),
]

LIBRARY: list[Signature] = [
    *_COMPARISONS,
    *_CONVERSIONS, *_STRINGS, *_LISTS, *_OPTIONALS, *_SETS, *_REGEX, *_URLS, *_QUANTITIES,
    *_SEMVERS, *_NETWORK, *_FORMATS, *_AUTHORIZER,
]  # fmt: skip
"""What every environment has."""

JSON_PATCH: list[Signature] = [("", "jsonpatch.escapeKey", "string", "string")]
"""What expressions that make a JSON Patch have too."""


def declared(rows: Iterable[Signature]) -> list[Any]:
    """Rows as declarations without implementations, for the type checker."""
    cel = engine()
    overloads: dict[str, list[Any]] = defaultdict(list)
    for target, name, params, result in rows:
        kinds = [kind for kind in (target, *params.split()) if kind]
        overloads[name].append(
            cel.Overload(
                "_".join((name, *kinds)),
                cel.Type(result),
                [cel.Type(kind) for kind in kinds],
                is_member=bool(target),
            )
        )
    return [cel.FunctionDecl(name, signatures) for name, signatures in overloads.items()]
