"""What certificate signing requests ask for, and what the built-in signers let them ask for.

`read_request` is the only reading of a request: validation, admission, approval and signing judge
the same subject.  It takes ``cryptography``.

Source: docs "Certificates and Certificate Signing Requests" (Kubernetes signers);
k8s.io/kubernetes/pkg/apis/certificates/helpers.go for the words.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kubetrio.machinery.identity import MASTERS
from kubetrio.tls.certificates import FRONT_PROXY_CLIENT, KUBELET_ADMINS
from kubetrio.tls.certificates import KUBELET_CLIENT as KUBELET_CLIENT_NAME
from kubetrio.tls.pem import pem_blocks

if TYPE_CHECKING:
    from cryptography import x509

Object = dict[str, Any]

API_CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING = "kubernetes.io/kubelet-serving"
LEGACY = "kubernetes.io/legacy-unknown"

NODES, NODE = "system:nodes", "system:node:"
DIGITAL, ENCIPHER = "digital signature", "key encipherment"
CLIENT, SERVER = "client auth", "server auth"

BLOCK = "CERTIFICATE REQUEST"
NOT_A_REQUEST = f"PEM block type must be {BLOCK}"
NOT_ALONE = f"must be one PEM block of type {BLOCK}, with nothing before or after it"


class UnsignableRequest(ValueError):
    """A signer does not sign this; the text is kube-controller-manager's."""


class Wanted(NamedTuple):
    """A request, as far as signers look at it.

    Args:
        csr: the request.
        common_name: the last one of its subject.
        organizations: of its subject.
        names: alternative names that a certificate takes over, by kind: ``dns``, ``email``, ``ip``
            and ``uri``.
    """

    csr: x509.CertificateSigningRequest
    common_name: str
    organizations: tuple[str, ...]
    names: Mapping[str, tuple[x509.GeneralName, ...]]


def read_request(request: str) -> Wanted:
    """Read a request.  Blocking.

    Args:
        request: the PEM text in base64, as the API has it.

    Raises:
        ValueError: it cannot be read, or it is not one block and nothing else.
    """
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        csr = x509.load_der_x509_csr(_content(request))
        subject = csr.subject
    except (x509.InvalidVersion, TypeError) as error:  # TypeError: of a name of bits
        raise ValueError(str(error)) from None
    names: Sequence[x509.GeneralName] = ()
    try:
        extension = csr.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        names = tuple(extension.value)
    except x509.ExtensionNotFound:
        pass
    except (x509.DuplicateExtension, x509.UnsupportedGeneralNameType) as error:
        raise ValueError(str(error)) from None
    kinds: Mapping[str, type[x509.GeneralName]] = {
        "dns": x509.DNSName,
        "email": x509.RFC822Name,
        "ip": x509.IPAddress,
        "uri": x509.UniformResourceIdentifier,
    }
    commons = subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    groups = subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return Wanted(
        csr,
        str(commons[-1].value) if commons else "",
        tuple(str(group.value) for group in groups),
        {kind: tuple(name for name in names if isinstance(name, of)) for kind, of in kinds.items()},
    )


def _content(request: str) -> bytes:
    """Return the bytes of the one block of a request.

    kube-apiserver takes the first of several blocks, and text around it.  What is around a block
    may be a block to another reader, so it is refused here.
    """
    try:
        pem = base64.b64decode(request, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
    blocks = list(pem_blocks(pem))
    if not blocks or blocks[0].kind != BLOCK:
        raise ValueError(NOT_A_REQUEST)
    text = pem.strip()
    lines = pem.count(b"-----BEGIN ") + pem.count(b"-----END ")
    ends = f"-----BEGIN {BLOCK}-----".encode(), f"-----END {BLOCK}-----".encode()
    alone = len(blocks) == 1 and lines == len(ends) and not blocks[0].has_headers
    if not (alone and text.startswith(ends[0]) and text.endswith(ends[1])):
        raise ValueError(NOT_ALONE)
    return blocks[0].content


# ---------------------------------------------------------------------- conditions


def conditions_of(request: Object) -> list[Object]:
    """The conditions of a CertificateSigningRequest."""
    return list((request.get("status") or {}).get("conditions") or ())


def has(request: Object, kind: str) -> bool:
    """Whether there is a condition of a type, whatever its status."""
    return any(item.get("type") == kind for item in conditions_of(request))


def is_true(request: Object, kind: str) -> bool:
    """Whether a condition of a type is there and true, which it also is without a status."""
    return any(
        item.get("type") == kind and item.get("status", "True") in ("", "True")
        for item in conditions_of(request)
    )


def is_issued(request: Object) -> bool:
    """Whether it has its certificate."""
    return bool((request.get("status") or {}).get("certificate"))


def with_condition(request: Object, condition: Object) -> Object:
    """A CertificateSigningRequest with one condition more; the given one is not changed."""
    status = request.get("status") or {}
    conditions = [*(status.get("conditions") or ()), condition]
    return {**request, "status": {**status, "conditions": conditions}}


# ---------------------------------------------------------------------- what signers accept


def _shown(usages: Sequence[str]) -> str:
    return f"[{' '.join(sorted(usages))}]"


def _of_a_node(wanted: Wanted) -> None:
    if wanted.organizations != (NODES,):
        raise UnsignableRequest("subject organization is not system:nodes")


def _named_as_a_node(wanted: Wanted) -> None:
    if not wanted.common_name.startswith(NODE):
        raise UnsignableRequest("subject common name does not begin with system:node:")


def _used_as(use: str, usages: Sequence[str]) -> None:
    if set(usages) not in ({DIGITAL, ENCIPHER, use}, {DIGITAL, use}):
        raise UnsignableRequest(f"usages did not match {_shown((DIGITAL, ENCIPHER, use))}")


def _of_nobody_special(wanted: Wanted) -> None:
    """Refuse who may do everything, and names that the server itself or a node goes by."""
    if MASTERS in wanted.organizations:
        raise UnsignableRequest(f"a certificate of group {MASTERS} is not signed")
    if NODES in wanted.organizations or wanted.common_name.startswith(NODE):
        raise UnsignableRequest(f"a certificate of a node is signed by {KUBELET_CLIENT}")
    if wanted.common_name in (FRONT_PROXY_CLIENT, KUBELET_CLIENT_NAME):
        raise UnsignableRequest(f"a certificate of {wanted.common_name} is not signed")
    if KUBELET_ADMINS in wanted.organizations:
        raise UnsignableRequest(f"a certificate of group {KUBELET_ADMINS} is not signed")


def kubelet_client(wanted: Wanted, usages: Sequence[str]) -> None:
    """See that a request is for a kubelet as a client of the server.

    Raises:
        UnsignableRequest: it is not.
    """
    _of_a_node(wanted)
    for kind, words in (
        ("dns", "DNS subjectAltNames are"),
        ("email", "Email subjectAltNames are"),
        ("ip", "IP subjectAltNames are"),
        ("uri", "URI subjectAltNames are"),
    ):
        if wanted.names[kind]:
            raise UnsignableRequest(f"{words} not allowed")
    _named_as_a_node(wanted)
    _used_as(CLIENT, usages)


def kubelet_serving(wanted: Wanted, usages: Sequence[str]) -> None:
    """See that a request is for what a kubelet shows to its clients.

    Raises:
        UnsignableRequest: it is not.
    """
    _of_a_node(wanted)
    if not wanted.names["dns"] and not wanted.names["ip"]:
        raise UnsignableRequest("DNS or IP subjectAltName is required")
    if wanted.names["email"]:
        raise UnsignableRequest("Email subjectAltNames are not allowed")
    if wanted.names["uri"]:
        raise UnsignableRequest("URI subjectAltNames are not allowed")
    _used_as(SERVER, usages)
    _named_as_a_node(wanted)


def api_client(wanted: Wanted, usages: Sequence[str]) -> None:
    """See that a request is for a client of the server, and not for a user who has another signer.

    Raises:
        UnsignableRequest: it is not.
    """
    for usage in usages:
        if usage not in (DIGITAL, ENCIPHER, CLIENT):
            raise UnsignableRequest(f"invalid usage for client certificate: {usage}")
    if CLIENT not in usages:
        raise UnsignableRequest(f"missing required usage for client certificate: {CLIENT}")
    _of_nobody_special(wanted)


def anything(wanted: Wanted, _: Sequence[str]) -> None:
    """Refuse what the server itself would believe: one authority signs for all signers.

    Raises:
        UnsignableRequest: it is for a special user.
    """
    _of_nobody_special(wanted)


SIGNERS: Mapping[str, Callable[[Wanted, Sequence[str]], None]] = {
    API_CLIENT: api_client,
    KUBELET_CLIENT: kubelet_client,
    KUBELET_SERVING: kubelet_serving,
    LEGACY: anything,
}
"""Checks by the name of the signer."""
