"""The Go schemes of kube-apiserver: which kinds each of its three servers can decode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from kubetrio.machinery.names import GroupVersionKind
from kubetrio.schema import builtin
from kubetrio.schema.annotated import read_annotations
from kubetrio.schema.structural import Report, compile_type
from kubetrio.wire.goscan import Pairs

Json = dict[str, Any]

# Groups that have a server, and so a scheme, of their own, with the place where it is made.
_OWN_SCHEMES = {
    "apiextensions.k8s.io": "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go",
    "apiregistration.k8s.io": "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go",
}
_LEGACY = "pkg/api/legacyscheme/scheme.go:30"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
# Kinds that are registered in every version of every group.
_EVERYWHERE = {"DeleteOptions": f"{_META}DeleteOptions", "WatchEvent": f"{_META}WatchEvent"}
# Internal types live in the package of another group.
_INTERNAL_PACKAGES = {"events": "core"}


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
        return bool(_type_name(self.own_group, gvk))

    def go_names(self, gvk: GroupVersionKind) -> tuple[str, str]:
        """Names of the Go types of a registered kind: versioned and internal."""
        _, package, version, kind = _type_name(self.own_group, gvk).rsplit(".", 3)
        if gvk in builtin.UNPUBLISHED:
            version = gvk.version
        return f"{version}.{kind}", f"{_INTERNAL_PACKAGES.get(package, package)}.{kind}"

    def decode(
        self,
        gvk: GroupVersionKind,
        value: Any,
        strict: list[str],
        repeated: Mapping[int, Pairs],
    ) -> Json:
        """Decode a value of a registered kind; messages about fields are appended to ``strict``.

        Raises:
            ValueError: the value does not fit, in Go's words.
        """
        name = _type_name(self.own_group, gvk)
        return read_annotations(name, compile_type(name).decode(value, Report(strict), repeated))


@lru_cache(1024)  # kinds that do not exist are asked for too
def _type_name(own_group: str, gvk: GroupVersionKind) -> str:
    """Full type name of a kind that a scheme has registered, or an empty text."""
    if (gvk.group if gvk.group in _OWN_SCHEMES else "") != own_group:
        return ""
    name = builtin.type_name_of(gvk)
    if not name and gvk.kind in _EVERYWHERE and (gvk.group, gvk.version) in _versions():
        return _EVERYWHERE[gvk.kind]
    return name


@cache
def _versions() -> frozenset[tuple[str, str]]:
    kinds = (key.split("/") for key in builtin.load("kinds"))
    return frozenset((group, version) for group, version, _ in kinds)


@cache
def scheme_of(group: str) -> BuiltinScheme:
    """The scheme of the server that has a group's built-in resources."""
    return BuiltinScheme(group if group in _OWN_SCHEMES else "")
