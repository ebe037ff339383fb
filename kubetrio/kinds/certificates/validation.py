"""Certificate signing requests.

Source: "Certificates and Certificate Signing Requests" in the Kubernetes documentation; RFC 2986,
RFC 7468.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

from kubetrio.kinds.certificates.requests import NOT_A_REQUEST, NOT_ALONE, read_request
from kubetrio.kinds.common.checks import (
    Causes,
    Json,
    UpdateCheck,
    Validation,
    member,
)
from kubetrio.kinds.common.differences import difference
from kubetrio.machinery.fielderrors import (
    duplicate,
    forbidden,
    invalid,
    not_supported,
    quote,
    required,
    too_long,
)
from kubetrio.machinery.names_validation import byte_length, dns1123_label, dns1123_subdomain
from kubetrio.tls.certificates import read_certificate
from kubetrio.tls.pem import PemBlock, pem_blocks

_USAGES = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)
_APPROVAL = ("Approved", "Denied")
_TRUE_ONLY = (*_APPROVAL, "Failed")
_LEGACY_SIGNER = "kubernetes.io/legacy-unknown"
_MUTUALLY_EXCLUSIVE = "Approved and Denied conditions are mutually exclusive"
_SUBDOMAIN_MAX = 253


def _pem_blocks(data: str) -> list[PemBlock]:
    """The PEM blocks of base64 data."""
    return list(pem_blocks(base64.b64decode(data)))


# --- the request ---


def _request_error(request: str) -> str:
    try:
        good = read_request(request).csr.is_signature_valid
    except (ValueError, UnsupportedAlgorithm, InvalidSignature) as error:
        text = str(error)
        return text if text in (NOT_A_REQUEST, NOT_ALONE) else f"asn1: structure error: {text}"
    return "" if good else "x509: signature verification failure"


def _signer_name(name: str, path: str, out: Causes) -> None:
    if not name:
        out.append(required(path))
        return
    domain, *rest = name.split("/")
    if len(rest) != 1:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        out.append(invalid(path, name, detail))
        return
    if byte_length(domain) > _SUBDOMAIN_MAX:
        out.append(too_long(path, _SUBDOMAIN_MAX))
    for label in domain.split("."):
        if messages := dns1123_label(label):
            intro = f"validating label {quote(label)}: "
            out.extend(invalid(path, domain, intro + text) for text in messages)
            break
    if "." not in domain:
        detail = "should be a domain with at least two segments separated by dots"
        out.append(invalid(path, domain, detail))
    for label in rest[0].split("."):
        if messages := dns1123_subdomain(label):
            intro = f"validating label {quote(label)}: "
            out.extend(invalid(path, rest[0], intro + text) for text in messages)
            break
    limit = 3 * _SUBDOMAIN_MAX + 2
    if byte_length(name) > limit:
        out.append(too_long(path, limit))


def _spec(spec: Mapping[str, Any], stored: Mapping[str, Any], out: Causes) -> None:
    request = spec.get("request") or ""
    if error := _request_error(request):
        out.append(invalid("spec.request", spec.get("request"), error))
    usages, before = spec.get("usages") or (), stored.get("usages") or ()
    if not usages:
        out.append(required("spec.usages"))
    any_usage = not set(before) <= set(_USAGES)
    any_number = len(set(before)) != len(before)
    for index, usage in enumerate(usages):
        if not any_usage and usage not in _USAGES:
            out.append(not_supported(f"spec.usages[{index}]", usage, _USAGES))
    for index, usage in enumerate(usages):
        if not any_number and usage in usages[:index]:
            out.append(duplicate(f"spec.usages[{index}]", usage))
    signer = spec.get("signerName") or ""
    if signer == _LEGACY_SIGNER and stored.get("signerName") != _LEGACY_SIGNER:
        detail = "the legacy signerName is not allowed via this API version"
        out.append(invalid("spec.signerName", signer, detail))
    else:
        _signer_name(signer, "spec.signerName", out)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < 600:
        detail = "may not specify a duration less than 600 seconds (10 minutes)"
        out.append(invalid("spec.expirationSeconds", seconds, detail))


# --- conditions and the certificate ---


def _all_conditions(request: Mapping[str, Any]) -> list[Json]:
    return list(member(request, "status").get("conditions") or ())


def _types(request: Mapping[str, Any]) -> list[str]:
    return [item.get("type") or "" for item in _all_conditions(request)]


def _conditions(new: Mapping[str, Any], old: Mapping[str, Any], out: Causes) -> None:
    before = _types(old)
    both = {*_APPROVAL} <= set(before)
    repeated = len(set(before)) != len(before)
    seen: set[str] = set()
    for index, item in enumerate(_all_conditions(new)):
        path = f"status.conditions[{index}]"
        kind, status = item.get("type") or "", item.get("status") or ""
        if not kind and "" not in before:
            out.append(required(f"{path}.type"))
        allowed = ("True",) if kind in _TRUE_ONLY else ("False", "True", "Unknown")
        if not status:
            out.append(required(f"{path}.status"))
        elif status not in allowed:
            out.append(not_supported(f"{path}.status", status, allowed))
        if not both and kind in _APPROVAL and {*_APPROVAL} - {kind} <= seen:
            out.append(invalid("status.conditions", kind, _MUTUALLY_EXCLUSIVE))
        if not repeated and kind in seen:
            out.append(duplicate(f"{path}.type", kind))
        seen.add(kind)


def _certificate_error(certificate: str) -> str:
    if not certificate:
        return ""
    blocks = _pem_blocks(certificate)
    for block in blocks:
        if block.kind != "CERTIFICATE":
            return f"only CERTIFICATE PEM blocks are allowed, found {quote(block.kind)}"
        if block.has_headers:
            return "no PEM block headers are permitted"
        if not block.content:
            return "found CERTIFICATE PEM block containing 0 certificates"
        try:
            read_certificate(block.content)
        except ValueError:
            return "x509: malformed certificate"
    return "" if blocks else "must contain at least one CERTIFICATE PEM block"


def _certificate(request: Mapping[str, Any]) -> str:
    return member(request, "status").get("certificate") or ""


def _whole(new: Mapping[str, Any], old: Mapping[str, Any], out: Causes) -> None:
    _spec(member(new, "spec"), member(old, "spec"), out)
    _conditions(new, old, out)
    certificate, stored = _certificate(new), _certificate(old)
    if certificate == stored or _certificate_error(stored):
        return
    if error := _certificate_error(certificate):
        out.append(invalid("status.certificate", "<certificate data>", error))


def _create(obj: Mapping[str, Any], _: str, out: Causes) -> None:
    _whole(obj, {}, out)


def _of_type(request: Mapping[str, Any], kind: str) -> list[Json]:
    return [item for item in _all_conditions(request) if item.get("type") == kind]


def _approval(new: Mapping[str, Any], old: Mapping[str, Any], out: Causes) -> None:
    for kind in _APPROVAL:
        mine, before = _of_type(new, kind), _of_type(old, kind)
        if len(mine) > len(before):
            detail = f"updates may not add a condition of type {quote(kind)}"
            out.append(forbidden("status.conditions", detail))
        elif len(mine) == len(before) and mine != before:
            detail = f"updates may not modify a condition of type {quote(kind)}"
            changed = difference(before, mine)
            out.append(forbidden("status.conditions", f"{detail}\n{changed}"))


def _update(*, approval: bool = False, certificate: bool = False) -> UpdateCheck:
    """The check of a change, and what the way it came may change."""

    def check(new: Json, old: Json, out: Causes) -> None:
        _whole(new, old, out)
        for kind in _TRUE_ONLY:
            if len(_of_type(new, kind)) < len(_of_type(old, kind)):
                detail = f"updates may not remove a condition of type {quote(kind)}"
                out.append(forbidden("status.conditions", detail))
        if not approval:
            _approval(new, old, out)
        stored = _certificate(old)
        if _certificate(new) == stored:
            return
        if not certificate:
            detail = "updates may not set certificate content"
            out.append(forbidden("status.certificate", detail))
        elif stored:
            detail = "updates may not modify existing certificate content"
            out.append(forbidden("status.certificate", detail))

    return check


CERTIFICATESIGNINGREQUESTS = Validation(
    create=_create,
    update=_update(),
    revalidate=False,
    subresources={
        "status": _update(certificate=True),
        "approval": _update(approval=True),
    },
)
