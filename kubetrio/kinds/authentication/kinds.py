"""The kinds of authentication.k8s.io: all that is said of each by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubetrio.kinds.common.builtinkind import BuiltinKind, lazily

if TYPE_CHECKING:
    from kubetrio.kinds.authentication import defaults
else:
    defaults = lazily(f"{__package__}.defaults")

KINDS: Mapping[str, BuiltinKind] = {
    "selfsubjectreviews": BuiltinKind(),
    "tokenrequests": BuiltinKind(
        below=True,
        defaults={"v1": defaults.TOKENREQUESTS},
    ),
    "tokenreviews": BuiltinKind(),
}
"""By plural name."""
