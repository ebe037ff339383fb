"""What an encryption configuration may say.

Source: k8s.io/apiserver/pkg/apis/apiserver/validation/validation_encryption.go.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any, Final

from kubetrio.encryption import aes, secretbox
from kubetrio.encryption.configuration import EncryptionConfig, Key, Kms, Provider
from kubetrio.gotext.urls import GoURLError, parse_url
from kubetrio.machinery.fielderrors import invalid, required
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import Cause

ANY: Final = GroupResource("*", "*")
NOT_RESOURCES: Final = ("apiserveripinfo", "serviceipallocations", "servicenodeportallocations")
CAPITALS = "resource name should not contain capital letters"
STAR = "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"
NO_API = "resources which do not have REST API/s cannot be encrypted"
EVENTS = (
    "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. "
    "Use 'events' instead in the config file"
)
EXTENSIONS = "'extensions' group has been removed and cannot be used for encryption"
ACROSS = "encrypting the same resource across groups is not supported"
OVERLAP = (
    "using overlapping resources such as 'secrets' and '*.' in the same resource list is not "
    "allowed as they will be masked"
)
TWICE = "the same resource cannot be specified multiple times"
NO_PROVIDER = (
    "provider does not contain any of the expected providers: "
    "KMS, AESGCM, AESCBC, Secretbox, Identity"
)
SEVERAL = (
    "more than one provider specified in a single element, should split into different list "
    "elements"
)
Causes = list[Cause]


def parse_resource(text: str) -> GroupResource:
    """What one entry of a list of resources names."""
    resource, _, group = text.partition(".")
    return GroupResource(group, resource)


def validate(config: EncryptionConfig, *, reload: bool) -> Causes:
    """What is wrong with a configuration.

    Args:
        config: the configuration.
        reload: whether the file is read again when it changes.
    """
    out: Causes = []
    if not config.rules:
        return [required("resources", "at least one resources is required")]
    names: set[str] = set()
    for place, rule in enumerate(config.rules):
        root = f"resources[{place}]"
        resources, providers = f"{root}.resources", f"{root}.providers"
        if not rule.resources:
            out.append(required(resources, f"at least one {resources} is required"))
        _overlaps(rule.resources, resources, out)
        for at, name in enumerate(rule.resources):
            if wrong := _wrong_resource(name):
                out.append(invalid(f"{resources}[{at}]", name, wrong))
        if not rule.providers:
            out.append(required(providers, f"at least one {providers} is required"))
        for at, provider in enumerate(rule.providers):
            _provider(provider, f"{providers}[{at}]", names, out, reload=reload)
    return out


def _overlaps(resources: Sequence[str], path: str, out: Causes) -> None:
    parsed = [parse_resource(name) for name in resources]
    pairs = [
        (one, other)
        for place, one in enumerate(parsed)
        for at, other in enumerate(parsed)
        if place != at
    ]
    equal = [one == other for one, other in pairs]
    if any(equal):
        out.append(invalid(path, list(resources), TWICE))
    # The first pair of equal ones is told as that, and not compared any further.
    first = equal.index(True) if any(equal) else -1
    if any(
        one == ANY or (one.group == other.group and "*" in (one.resource, other.resource))
        for place, (one, other) in enumerate(pairs)
        if place != first
    ):
        out.append(invalid(path, list(resources), OVERLAP))


def _wrong_resource(name: str) -> str:
    """What is wrong with one entry, or nothing."""
    parsed = parse_resource(name)
    if name.lower() != name:
        return CAPITALS
    if name == "*":
        return STAR
    if name in NOT_RESOURCES:
        return NO_API
    if parsed.group == "events.k8s.io":
        return EVENTS
    if parsed.group == "extensions":
        return EXTENSIONS
    return ACROSS if parsed.group == "*" and parsed.resource != "*" else ""


def _provider(provider: Provider, path: str, names: set[str], out: Causes, *, reload: bool) -> None:
    members = (
        provider.kms, provider.aesgcm, provider.aescbc, provider.secretbox,
        provider.identity or None,
    )  # fmt: skip
    count = sum(member is not None for member in members)
    if count != 1:
        out.append(invalid(path, _shown(provider), SEVERAL if count else NO_PROVIDER))
    if provider.kms is not None:
        _kms(provider.kms, f"{path}.kms", names, out, reload=reload)
        names.add(provider.kms.name)
    elif provider.aesgcm is not None:
        _keys(provider.aesgcm, f"{path}.aesgcm.keys", aes.KEY_BYTES, out)
    elif provider.aescbc is not None:
        _keys(provider.aescbc, f"{path}.aescbc.keys", aes.KEY_BYTES, out)
    elif provider.secretbox is not None:
        _keys(provider.secretbox, f"{path}.secretbox.keys", (secretbox.KEY_BYTES,), out)


def _shown(provider: Provider) -> dict[str, Any]:
    """A provider as Go prints the struct; kube-apiserver prints keys too, which are left out."""

    def keys(of: tuple[Key, ...] | None) -> Any:
        if of is None:
            return None
        return {"Keys": [{"Name": key.name, "Secret": "REDACTED"} for key in of] or None}

    kms = provider.kms
    return {
        "AESGCM": keys(provider.aesgcm),
        "AESCBC": keys(provider.aescbc),
        "Secretbox": keys(provider.secretbox),
        "Identity": {} if provider.identity else None,
        "KMS": None
        if kms is None
        else {
            "APIVersion": kms.api_version,
            "Name": kms.name,
            "CacheSize": kms.cache_size,
            "Endpoint": kms.endpoint,
            "Timeout": kms.timeout,
        },
    }


def _keys(keys: Sequence[Key], path: str, sizes: Sequence[int], out: Causes) -> None:
    if not keys:
        out.append(required(path, "at least one keys is required"))
    for place, key in enumerate(keys):
        _key(key, f"{path}[{place}]", sizes, out)


def _key(key: Key, path: str, sizes: Sequence[int], out: Causes) -> None:
    if not key.name:
        out.append(required(f"{path}.name", "name is a mandatory field for a key"))
    if not key.secret:
        out.append(required(f"{path}.secret", "secret is a mandatory field for a key"))
        return
    try:
        size = len(secret_bytes(key.secret))
    except ValueError:
        out.append(invalid(f"{path}.secret", "REDACTED", "secrets must be base64 encoded"))
        return
    if size not in sizes:
        allowed = " ".join(map(str, sizes))
        why = f"secret is not of the expected length, got {size}, expected one of [{allowed}]"
        out.append(invalid(f"{path}.secret", "REDACTED", why))


def secret_bytes(text: str) -> bytes:
    """A key from base64, as Go reads it: breaks of lines do not count.

    Raises:
        ValueError: it is no base64.
    """
    try:
        return base64.b64decode(text.replace("\r", "").replace("\n", ""), validate=True)
    except (binascii.Error, UnicodeError) as error:
        raise ValueError("no base64") from error


def _kms(kms: Kms, path: str, names: set[str], out: Causes, *, reload: bool) -> None:
    first = kms.api_version == "v1"
    if not kms.name:
        out.append(required(f"{path}.name", "name is a mandatory field for a provider"))
    if not first and ":" in kms.name:
        why = f"invalid KMS provider name {kms.name}, must not contain ':'"
        out.append(invalid(f"{path}.name", kms.name, why))
    if (reload or not first) and kms.name in names:
        why = f"duplicate KMS provider name {kms.name}, names must be unique"
        out.append(invalid(f"{path}.name", kms.name, why))
    if kms.timeout_s <= 0:
        out.append(invalid(f"{path}.timeout", kms.timeout, "timeout should be a positive value"))
    _endpoint(kms.endpoint, f"{path}.endpoint", out)
    if not first and kms.cache_size is not None:
        out.append(invalid(f"{path}.cachesize", kms.cache_size, "cachesize is not supported in v2"))
    if first and kms.cache_size == 0:
        why = "cachesize should be a positive value, or negative to disable"
        out.append(invalid(f"{path}.cachesize", 0, why))
    if kms.api_version not in ("v1", "v2"):
        # The name of the field stands where its value was meant.
        why = "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported"
        out.append(invalid(f"{path}.apiVersion", kms.api_version, why))


def _endpoint(endpoint: str, path: str, out: Causes) -> None:
    if not endpoint:
        out.append(invalid(path, "", "endpoint is a mandatory field for a kms"))
        return
    try:
        scheme = parse_url(endpoint).scheme
    except GoURLError as error:
        why = f"invalid endpoint for kms provider, error: {error}"
        out.append(invalid(path, endpoint, why))
        return
    if scheme != "unix":
        why = f'unsupported scheme "{scheme}" for KMS provider, only unix is supported'
        out.append(invalid(path, endpoint, why))
