"""The Go schemes of kube-apiserver: which kinds each of its three servers can decode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from kubetrio.machinery.names import GroupVersionKind
from kubetrio.machinery.remember import counted
from kubetrio.schema import builtin
from kubetrio.schema.annotated import read_annotations
from kubetrio.schema.structural import compile_type
from kubetrio.wire.goscan import Pairs
from kubetrio.wire.report import Report

Json = dict[str, Any]

# Groups that have a server, and so a scheme, of their own, with the place where it is made.
_OWN_SCHEMES = {
    "apiextensions.k8s.io": "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go",
    "apiregistration.k8s.io": "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go",
}
_LEGACY = "pkg/api/legacyscheme/scheme.go:30"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
# Kinds that are registered in every version of every group, those with a type known here first.
_EVERYWHERE = {"DeleteOptions": f"{_META}DeleteOptions", "WatchEvent": f"{_META}WatchEvent"}
_OPTIONS = frozenset({
    "CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions",
    "WatchEvent",
})  # fmt: skip
# Kinds without a version: the scheme takes them in any, also in one that does not exist.
_UNVERSIONED = frozenset({"APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"})
INTERNAL = "__internal"
LONGEST_KIND = 512  # characters of group, version and kind: nothing longer is registered


@dataclass(frozen=True, slots=True)
class BuiltinScheme:
    """The scheme of one server; a ``wire.jsonwire.Scheme``.

    Args:
        own_group: the only group it knows, or empty for all groups without a server of their own.
    """

    own_group: str = ""

    def location(self) -> str:
        """Where the scheme was made, as messages name it."""
        return _OWN_SCHEMES.get(self.own_group, _LEGACY)

    def knows(self, gvk: GroupVersionKind) -> bool:
        """Whether a kind is registered."""
        return bool(_type_name(self.own_group, gvk)) or bool(_registered(self.own_group, gvk))

    def go_names(self, gvk: GroupVersionKind) -> tuple[str, str]:
        """Names of the Go types of a registered kind: versioned and internal."""
        internal = _registered(self.own_group, gvk)
        if internal and (gvk.version == INTERNAL or internal.startswith("v1.")):
            return internal, internal
        if internal:
            return f"{gvk.version}.{gvk.kind}", internal
        _, package, version, kind = _type_name(self.own_group, gvk).rsplit(".", 3)
        return f"{version}.{kind}", f"{package}.{kind}"

    def decode(
        self,
        gvk: GroupVersionKind,
        value: Any,
        report: Report,
        repeated: Mapping[int, Pairs],
    ) -> Json:
        """Decode a value of a registered kind; the report receives what there is to tell.

        A value in a version that is not served stays as it is: no path takes it, and its type is
        not known here.

        Raises:
            ValueError: the value does not fit, in Go's words.
        """
        name = _type_name(self.own_group, gvk)
        if not name:
            return dict(value)
        return read_annotations(name, compile_type(name).decode(value, report, repeated))


def _type_name(own_group: str, gvk: GroupVersionKind) -> str:
    """Full type name of a kind that a scheme has registered, or an empty text."""
    if len(gvk.group) + len(gvk.version) + len(gvk.kind) > LONGEST_KIND:
        return ""
    return _short_type_name(own_group, gvk)


@counted
@lru_cache(1024)  # kinds that do not exist are asked for too
def _short_type_name(own_group: str, gvk: GroupVersionKind) -> str:
    if not _is_own(own_group, gvk):
        return ""
    name = builtin.type_name_of(gvk)
    if not name and gvk.kind in _EVERYWHERE and (gvk.group, gvk.version) in _versions():
        return _EVERYWHERE[gvk.kind]
    return name


def _registered(own_group: str, gvk: GroupVersionKind) -> str:
    """Internal Go type of a kind, served or not, or an empty text."""
    if gvk.kind in _UNVERSIONED:
        return f"v1.{gvk.kind}"
    if not _is_own(own_group, gvk):
        return ""
    group, version, kind = gvk
    if kind in _OPTIONS and (group, version) in _versions():
        return f"v1.{kind}"
    type_name: str = builtin.load("registered").get(f"{group}/{version}/{kind}", "")
    return type_name


def _is_own(own_group: str, gvk: GroupVersionKind) -> bool:
    return (gvk.group if gvk.group in _OWN_SCHEMES else "") == own_group


@cache
def _versions() -> frozenset[tuple[str, str]]:
    kinds = (key.split("/") for name in ("kinds", "registered") for key in builtin.load(name))
    return frozenset((group, version) for group, version, _ in kinds if version != INTERNAL)


@cache
def scheme_of(group: str) -> BuiltinScheme:
    """The scheme of the server that has a group's built-in resources."""
    return BuiltinScheme(group if group in _OWN_SCHEMES else "")
