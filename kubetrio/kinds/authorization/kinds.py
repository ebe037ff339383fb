"""The kinds of authorization.k8s.io: all that is said of each by hand."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.common.builtinkind import BuiltinKind

KINDS: Mapping[str, BuiltinKind] = {
    "localsubjectaccessreviews": BuiltinKind(),
    "selfsubjectaccessreviews": BuiltinKind(),
    "selfsubjectrulesreviews": BuiltinKind(),
    "subjectaccessreviews": BuiltinKind(),
}
"""By plural name."""
