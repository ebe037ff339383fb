"""The type of token requests, which are no resource with a path of their own."""

from __future__ import annotations

from kubetrio.kinds.parts import BUILTIN
from kubetrio.schema.kind import Kind

TOKEN_REQUEST = Kind(
    group="authentication.k8s.io",
    version="v1",
    resource="tokenrequests",
    kind="TokenRequest",
    singular="tokenrequest",
    namespaced=True,
    verbs=frozenset({"create"}),
    schema_name="io.k8s.api.authentication.v1.TokenRequest",
    builtin=True,
    parts=BUILTIN,
)
