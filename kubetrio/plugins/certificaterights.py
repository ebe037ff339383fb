"""Who may decide for a signer: CertificateApproval, CertificateSigning, ClusterTrustBundleAttest.

Beside the right to write the object, its writer needs one on the signer that it names.

Source: docs "Certificates and Certificate Signing Requests" (authorization), "Cluster trust
bundles".
"""

from __future__ import annotations

from typing import Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.plugin import Base, denied
from kubetrio.machinery import identity
from kubetrio.machinery.asking import Authorize, allowed
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.names import GroupResource
from kubetrio.plugins.certificatesubjects import REQUESTS

Object = dict[str, Any]
BUNDLES = GroupResource("certificates.k8s.io", "clustertrustbundles")
# What the garbage collector writes.
COLLECTED = ("ownerReferences", "finalizers", "managedFields")


async def may(authorize: Authorize, user: UserInfo, verb: str, signer: str) -> bool:
    """Whether a user may do something for a signer, or for all signers of its domain.

    Args:
        authorize: the server's authorizers.
        user: who.
        verb: ``approve``, ``sign`` or ``attest``.
        signer: its name, such as ``example.com/name``.
    """
    domain = signer.partition("/")[0]
    for name in (signer, f"{domain}/*"):
        asked = identity.Attributes(
            user=user,
            verb=verb,
            api_group="certificates.k8s.io",
            api_version="*",
            resource="signers",
            name=name,
        )
        if await allowed(authorize, asked):
            return True
    return False


class _Deciding(Base):
    """What the plugins share.

    Args:
        authorize: the server's authorizers.
    """

    def __init__(self, authorize: Authorize) -> None:
        self._authorize = authorize

    async def _check(self, attributes: Attributes, verb: str, signer: str, what: str) -> None:
        if not await may(self._authorize, attributes.user, verb, signer):
            raise denied(
                attributes, f"user not permitted to {verb} {what} signerName {quote(signer)}"
            )


def _signer(obj: Object | None) -> str:
    return str(((obj or {}).get("spec") or {}).get("signerName") or "")


class CertificateApproval(_Deciding):
    """Requests are approved and denied by who may ``approve`` for their signer."""

    name = "CertificateApproval"
    resources = frozenset({REQUESTS})
    operations = frozenset({Operation.UPDATE})

    async def validate(self, attributes: Attributes) -> None:
        """Refuse others.

        Raises:
            ApiError: 403.
        """
        if attributes.subresource == "approval":
            await self._check(attributes, "approve", _signer(attributes.old), "requests with")


class CertificateSigning(_Deciding):
    """Certificates and conditions are written by who may ``sign`` for the request's signer."""

    name = "CertificateSigning"
    resources = frozenset({REQUESTS})
    operations = frozenset({Operation.UPDATE})

    async def validate(self, attributes: Attributes) -> None:
        """Refuse others.

        Raises:
            ApiError: 403.
        """
        if attributes.subresource != "status":
            return
        new, old = ((one or {}).get("status") or {} for one in (attributes.obj, attributes.old))
        if all((new.get(name) or None) == (old.get(name) or None) for name in _SIGNED):
            return
        await self._check(attributes, "sign", _signer(attributes.old), "requests with")


_SIGNED = ("certificate", "conditions")


class ClusterTrustBundleAttest(_Deciding):
    """Trust bundles of a signer are written by who may ``attest`` for it."""

    name = "ClusterTrustBundleAttest"
    resources = frozenset({BUNDLES})
    operations = frozenset({Operation.CREATE, Operation.UPDATE})

    async def validate(self, attributes: Attributes) -> None:
        """Refuse others.

        Raises:
            ApiError: 403.
        """
        signer = _signer(attributes.obj)
        if not signer or _only_collected(attributes.obj, attributes.old):
            return
        await self._check(attributes, "attest", signer, "for")


def _only_collected(obj: Object | None, old: Object | None) -> bool:
    """Whether an update changes nothing but what the garbage collector does."""
    if obj is None or old is None:
        return False

    def rest(one: Object) -> Object:
        meta = {key: value for key, value in one["metadata"].items() if key not in COLLECTED}
        return {**one, "metadata": meta}

    return rest(obj) == rest(old)
