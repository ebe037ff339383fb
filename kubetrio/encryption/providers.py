"""A configuration to transformers: which resource is stored in which way.

Source: k8s.io/apiserver/pkg/server/options/encryptionconfig/config.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kubetrio.encryption import aes, kmsplugin, secretbox, validation
from kubetrio.encryption.configuration import (
    EncryptionConfig,
    EncryptionConfigError,
    Key,
    Kms,
    Provider,
    load,
)
from kubetrio.encryption.kms import FIRST_PREFIX, PREFIX, Envelope, First
from kubetrio.encryption.transformers import (
    Identity,
    Prefixed,
    Providers,
    Report,
    Transformer,
)
from kubetrio.encryption.validation import ANY, parse_resource
from kubetrio.gotext.text import aggregate, quote
from kubetrio.machinery.names import GroupResource

KMS_V1 = (
    "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.  "
    "Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature."
)
NO_KEY = "no matching key was found for the provided AES transformer"
MakeEnvelope = Callable[[Kms], Envelope]
Reporting = Callable[[GroupResource], Report]


@dataclass(frozen=True, slots=True)
class Transforms:
    """What a configuration means.

    Args:
        rules: resources, with ``*`` for any, to what stores them.
        envelopes: plugins that are asked how they are, in order.
        digest: of the file.
        grace_s: how long calls that are under way may last, seconds.
        reporting: who hears of transformations.
    """

    rules: dict[GroupResource, Providers]
    envelopes: Sequence[Envelope]
    digest: str
    grace_s: float
    reporting: Reporting

    def resolve(self, resource: GroupResource) -> Providers | None:
        """What stores a resource: of its own, of its group or of all; None for nothing."""
        for rule in (resource, GroupResource(resource.group, "*"), ANY):
            providers = self.rules.get(rule)
            if providers is not None:
                return providers.reported(self.reporting(resource))
        return None

    def close(self) -> None:
        """Let go of the plugins."""
        for envelope in self.envelopes:
            envelope.service.close()


def read(path: Path, *, reload: bool) -> EncryptionConfig:
    """Read and check a file.

    Raises:
        EncryptionConfigError: it cannot be used.
    """
    try:
        config = load(path)
    except EncryptionConfigError as error:
        raise EncryptionConfigError(f"error while parsing file: {error}") from error
    causes = validation.validate(config, reload=reload)
    if causes:
        told = aggregate(map(str, causes))
        raise EncryptionConfigError(f"error while parsing file: {told}")
    with _building():
        _check_usable(config)
        _choices(config)
    return config


def build(config: EncryptionConfig, envelope: MakeEnvelope, reporting: Reporting) -> Transforms:
    """Make the transformers of a checked configuration.

    Args:
        config: the configuration.
        envelope: makes the transformer of a plugin.
        reporting: who hears of transformations of a resource.

    Raises:
        EncryptionConfigError: a rule is masked, or a plugin cannot be used.
    """
    with _building():
        return _build(config, envelope, reporting)


@contextmanager
def _building() -> Iterator[None]:
    try:
        yield
    except EncryptionConfigError as error:
        raise EncryptionConfigError(f"error while building transformers: {error}") from error


def _build(config: EncryptionConfig, envelope: MakeEnvelope, reporting: Reporting) -> Transforms:
    _check_usable(config)
    choices = _choices(config)
    envelopes: list[Envelope] = []
    for rule in config.rules:
        transformers = [_prefixed(provider, envelope, envelopes) for provider in rule.providers]
        for name in rule.resources:
            choices[parse_resource(name)] += transformers
    unread = Prefixed(FIRST_PREFIX, First())
    return Transforms(
        {
            resource: Providers([*transformers, unread])
            for resource, transformers in choices.items()
        },
        envelopes,
        config.digest,
        2
        * sum(
            provider.kms.timeout_s
            for rule in config.rules
            for provider in rule.providers
            if provider.kms is not None
        ),
        reporting,
    )


def _choices(config: EncryptionConfig) -> dict[GroupResource, list[Prefixed]]:
    """The resources of all rules, without providers yet.

    Raises:
        EncryptionConfigError: a rule is masked.
    """
    choices: dict[GroupResource, list[Prefixed]] = {}
    for rule in config.rules:
        for name in rule.resources:
            resource = parse_resource(name)
            for mask in (GroupResource(resource.group, "*"), ANY):
                if mask in choices:
                    raise EncryptionConfigError(
                        f"resource {quote(_shown(resource))} is masked by earlier rule "
                        f"{quote(_shown(mask))}"
                    )
            choices.setdefault(resource, [])
    return choices


def _check_usable(config: EncryptionConfig) -> None:
    """Check what providers need before a plugin is connected, which would have to be closed.

    Raises:
        EncryptionConfigError: a library is not installed, or a version is not served.
    """
    for rule in config.rules:
        for provider in rule.providers:
            if provider.secretbox is not None and not secretbox.available():
                raise EncryptionConfigError(f"provider secretbox needs PyNaCl: {secretbox.INSTALL}")
            if provider.kms is None:
                continue
            if provider.kms.api_version == "v1":
                raise EncryptionConfigError(KMS_V1)
            if not kmsplugin.available():
                raise EncryptionConfigError(
                    f"KMS provider {quote(provider.kms.name)} needs grpcio: {kmsplugin.INSTALL}"
                )


def _prefixed(provider: Provider, envelope: MakeEnvelope, made: list[Envelope]) -> Prefixed:
    if provider.aesgcm is not None:
        return _local("aesgcm", provider.aesgcm, aes.Gcm)
    if provider.aescbc is not None:
        return _local("aescbc", provider.aescbc, aes.Cbc)
    if provider.secretbox is not None:
        return _local("secretbox", provider.secretbox, secretbox.Secretbox)
    if provider.kms is not None:
        made.append(envelope(provider.kms))
        return Prefixed(f"{PREFIX}{provider.kms.name}:".encode(), made[-1])
    return Prefixed(b"", Identity())


def _local(name: str, keys: Sequence[Key], cipher: Callable[[bytes], Transformer]) -> Prefixed:
    """A provider with keys of its own; which one a value is of stands behind the prefix."""
    choices = [
        Prefixed(f"{key.name}:".encode(), cipher(validation.secret_bytes(key.secret)))
        for key in keys
    ]
    unknown = NO_KEY.replace("AES", "Secretbox") if name == "secretbox" else NO_KEY
    return Prefixed(f"k8s:enc:{name}:v1:".encode(), Providers(choices, unknown))


def _shown(resource: GroupResource) -> str:
    """A resource as a file has it."""
    return "*." if resource == GroupResource("", "*") else str(resource)
