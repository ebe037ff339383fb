"""The files that a configuration names: each read and checked once, before anything is written.

Each `load_*` is pure but for reading, and returns what the file says as a value that does not
change.  Checking a configuration is calling them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kubetrio.admission.chain import Plugin
from kubetrio.admission.configuration import ConfigurationError
from kubetrio.audit.making import AuditError, AuditFiles, load_audit
from kubetrio.auth.issuedtokens import read_signing_key, service_account_keys
from kubetrio.auth.keys import KeyFileError, KeySet
from kubetrio.auth.tokens import StaticTokens, TokenFileError, parse_token_file
from kubetrio.config import Config
from kubetrio.observe.logs import Log
from kubetrio.plugins.table import AdmissionFiles, load_admission
from kubetrio.server.authenticators import AuthenticationFiles, MethodError, load_authentication
from kubetrio.server.authorizers import AuthorizationFiles, load_authorization
from kubetrio.wire import cborwire

if TYPE_CHECKING:
    from kubetrio.auth.issuing import TokenIssuer
    from kubetrio.encryption.configuration import EncryptionConfig
    from kubetrio.faults.rule import Rule

log = Log("kubetrio.server")


class StartError(Exception):
    """The server cannot start; the text is one line for the terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """What the files of a configuration say.

    Args:
        encryption: how the store is encrypted, None where it is not.
        keys: what verifies tokens of service accounts.
        issuer: signs them with the key of a file that is named, None if none is.
        authorization: who decides.
        authentication: who knows users.
        admission: which plugins are on, and how they are configured.
        tokens: the token file.
        cbor: whether objects are served as CBOR.
        audit: what is noted.
        faults: rules of what goes wrong; None where clients may not inject any.
    """

    encryption: EncryptionConfig | None
    keys: KeySet
    issuer: TokenIssuer | None
    authorization: AuthorizationFiles
    authentication: AuthenticationFiles
    admission: AdmissionFiles
    tokens: StaticTokens
    cbor: bool
    audit: AuditFiles
    faults: tuple[Rule, ...] | None


def load_files(config: Config, plugins: Sequence[Plugin] = ()) -> Files:
    """Read and check every file that a configuration names, but for certificates.  Blocking.

    Args:
        config: the configuration.
        plugins: admission plugins of an embedder.

    Raises:
        StartError: one cannot be used; one line says which.
    """
    encryption = load_encryption(config)
    try:
        keys, issuer = service_account_keys(config), read_signing_key(config)
        authorization = load_authorization(config.authorization)
        authentication = load_authentication(config)
    except (KeyFileError, MethodError, ValueError) as error:
        raise StartError(str(error)) from error
    try:
        admission = load_admission(config.admission, plugins)
    except ConfigurationError as error:
        raise StartError(f"failed to apply admission: {error}") from error
    check_named(config)
    check_stages(config)
    check_scheduler(config)
    tokens, cbor = load_tokens(config), load_cbor(config)
    try:
        audit = load_audit(config.audit)
    except AuditError as error:
        raise StartError(str(error)) from error
    return Files(
        encryption=encryption,
        keys=keys,
        issuer=issuer,
        authorization=authorization,
        authentication=authentication,
        admission=admission,
        tokens=tokens,
        cbor=cbor,
        audit=audit,
        faults=load_faults(config),
    )


def load_encryption(config: Config) -> EncryptionConfig | None:
    """Read how the store is encrypted; None where it is not.

    Raises:
        StartError: the file cannot be used.
    """
    chosen = config.encryption
    if chosen.provider_config is None:
        return None
    from kubetrio.encryption.configuration import EncryptionConfigError
    from kubetrio.encryption.providers import read

    try:
        return read(chosen.provider_config, reload=chosen.automatic_reload)
    except EncryptionConfigError as error:
        raise StartError(f"--encryption-provider-config: {error}") from error


def check_named(config: Config) -> None:
    """See that the files for connections to kubelets and to etcd are there.

    Raises:
        StartError: one is not.
    """
    kubelet, storage = config.kubelet, config.storage
    for flag, file in (
        ("--kubelet-client-certificate", kubelet.client_certificate),
        ("--kubelet-client-key", kubelet.client_key),
        ("--kubelet-certificate-authority", kubelet.certificate_authority),
        ("--etcd-cafile", storage.etcd_cafile),
        ("--etcd-certfile", storage.etcd_certfile),
        ("--etcd-keyfile", storage.etcd_keyfile),
    ):
        if file is not None and not file.is_file():
            raise StartError(f"cannot read {flag}: {file} is not a file")


def load_tokens(config: Config) -> StaticTokens:
    """Read the token file; without one, it has no tokens.

    Raises:
        StartError: it cannot be used.
    """
    file = config.auth.token_auth_file
    if file is None:
        return StaticTokens({})
    try:
        tokens = parse_token_file(file.read_bytes(), str(file))
    except OSError as error:
        raise StartError(f"cannot read --token-auth-file {file}: {error.strerror}") from error
    except TokenFileError as error:
        raise StartError(f"--token-auth-file: {error}") from error
    for warning in tokens.warnings:
        log.warning(warning)
    return replace(tokens, audiences=config.auth.audiences)


def load_cbor(config: Config) -> bool:
    """Return whether objects are served as CBOR.

    Raises:
        StartError: they are to be, and what reads it is not installed.
    """
    chosen = config.feature_gates.get("CBORServingAndStorage", False)
    if chosen and not cborwire.available():
        raise StartError(f"--feature-gates=CBORServingAndStorage=true: {cborwire.NOT_INSTALLED}")
    return chosen


def load_faults(config: Config) -> tuple[Rule, ...] | None:
    """Read what goes wrong on demand; None where clients may not inject anything.

    Raises:
        StartError: the file of rules cannot be used.
    """
    chosen = config.faults
    if not chosen.enabled and chosen.file is None:
        return None
    from kubetrio.api.pages.faultpages import FaultsError, read

    try:
        return tuple(read(chosen.file)) if chosen.file else ()
    except FaultsError as error:
        raise StartError(f"--faults {chosen.file}: {error}") from error


def check_scheduler(config: Config) -> None:
    """See that the configuration of the scheduler can be read.

    Raises:
        StartError: it cannot.
    """
    file = config.scheduler.file
    if file is None:
        return
    from kubetrio.controllers.scheduler.configuration import load
    from kubetrio.controllers.scheduler.reading import ConfigurationError

    try:
        load(file)
    except ConfigurationError as error:
        raise StartError(f"--scheduler-config {file}: {error}") from error


def check_stages(config: Config) -> None:
    """See that the stages of simulated pods can be read.

    Raises:
        StartError: they cannot.
    """
    file = config.simulation.stages
    if file is None:
        return
    from kubetrio.simulation.stages import StageError, load

    try:
        load(file)
    except StageError as error:
        raise StartError(f"--simulation-stages {file}: {error}") from error
