"""Plugins that ask the authorizers about signers, also those who have to wait."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

import pytest
import trio

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.kinds.builtin import registry
from kubetrio.machinery import identity
from kubetrio.machinery.identity import Decision, UserInfo, Verdict
from kubetrio.machinery.status import ApiError
from kubetrio.plugins.certificaterights import (
    BUNDLES,
    CertificateApproval,
    ClusterTrustBundleAttest,
    may,
)

Object = dict[str, Any]
USER = UserInfo("u")
NO = Verdict(Decision.NO_OPINION)
YES = Verdict(Decision.ALLOW)


class Asked:
    """An authorizer that allows names, and waits before it says so.

    Args:
        names: of signers.
    """

    def __init__(self, *names: str) -> None:
        self._names = names
        self.asked: list[identity.Attributes] = []

    def __call__(self, attributes: identity.Attributes) -> Awaitable[Verdict]:
        """Answer later."""
        self.asked.append(attributes)

        async def later() -> Verdict:
            await trio.lowlevel.checkpoint()
            return YES if attributes.name in self._names else NO

        return later()


@pytest.mark.parametrize(
    ("names", "allowed"),
    [
        ((), False),
        (("example.com/one",), True),
        (("example.com/*",), True),
        (("*",), False),
        (("other.example.com/*",), False),
    ],
)
async def test_the_signer_or_all_of_its_domain(names: tuple[str, ...], allowed: bool) -> None:
    """Both are asked about as resources of no version, until one is allowed."""
    authorize = Asked(*names)
    assert await may(authorize, USER, "approve", "example.com/one") is allowed
    first = authorize.asked[0]
    assert (first.verb, first.api_group, first.api_version, first.resource, first.name) == (
        "approve",
        "certificates.k8s.io",
        "*",
        "signers",
        "example.com/one",
    )
    assert [one.name for one in authorize.asked[1:]] in ([], ["example.com/*"])


def bundle(signer: str, **meta: Any) -> Object:
    return {"metadata": {"name": "b", **meta}, "spec": {"signerName": signer, "trustBundle": "x"}}


def attributes(obj: Object, old: Object | None = None) -> Attributes:
    kind = registry().resources["certificates.k8s.io", "v1", "certificatesigningrequests"]
    return Attributes(
        operation=Operation.CREATE if old is None else Operation.UPDATE,
        resource=replace(kind, resource=BUNDLES.resource),
        subresource="",
        namespace="",
        name="b",
        user=USER,
        obj=obj,
        old=old,
        dry_run=False,
    )


@pytest.mark.parametrize(
    ("obj", "old"),
    [
        (bundle("example.com/one"), None),
        (bundle("example.com/one"), bundle("example.com/two")),
        (bundle("example.com/one", labels={"a": "b"}), bundle("example.com/one")),
    ],
)
async def test_bundles_of_a_signer_need_its_right(obj: Object, old: Object | None) -> None:
    """403 in kube-apiserver's words."""
    plugin = ClusterTrustBundleAttest(Asked("other.com/*"))
    with pytest.raises(ApiError) as caught:
        await plugin.validate(attributes(obj, old))
    assert caught.value.message == (
        'clustertrustbundles.certificates.k8s.io "b" is forbidden: '
        'user not permitted to attest for signerName "example.com/one"'
    )


@pytest.mark.parametrize(
    ("obj", "old"),
    [
        (bundle(""), None),
        (bundle("example.com/one", finalizers=["f"]), bundle("example.com/one")),
        (bundle("allowed.com/one"), None),
    ],
)
async def test_bundles_that_need_none(obj: Object, old: Object | None) -> None:
    """Those of no signer, and what the garbage collector changes."""
    await ClusterTrustBundleAttest(Asked("allowed.com/*")).validate(attributes(obj, old))


async def test_only_approval_is_asked_about() -> None:
    """Changes of the request itself are not."""
    authorize = Asked()
    await CertificateApproval(authorize).validate(attributes(bundle("x/y"), bundle("x/y")))
    assert authorize.asked == []
