"""Files of keys and certificates while a server runs: found, read again, renewed.

Source: kube-apiserver's flags of secure serving and its dynamic certificate controllers.
"""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple, NoReturn

import trio

from kubetrio.api.pipeline import Pipeline
from kubetrio.auth.trust import SigningPair
from kubetrio.bootstrap.authorities import Trusted
from kubetrio.bootstrap.objects import service_ip
from kubetrio.config import Config
from kubetrio.env import Env
from kubetrio.http.servernames import Names, NameTable
from kubetrio.http.tls import Security, TlsConfig
from kubetrio.observe.logs import Log
from kubetrio.reloading import Reloader
from kubetrio.server.files import StartError
from kubetrio.tls import pki
from kubetrio.tls.certificates import authorities, names_in, verifies
from kubetrio.tls.pem import certificates, printed

log = Log("kubetrio.server")
RENEW_INTERVAL_S = 3600.0


def own_certificates(config: Config, env: Env) -> pki.Pki:
    """Make or reuse the self-made certificates, for the names that clients use now.  Blocking.

    Raises:
        PkiError: a file that cannot be read, written or used.
    """
    serving = config.serving
    hosts = [serving.public_address, serving.bind_address, *serving.extra_hosts]
    hosts.append(service_ip(config.services.ranges[0]))
    named = [host for host in hosts if host]
    ensure = partial(pki.ensure, config.pki_dir, now=env.utcnow(), hosts=named)
    first = not (config.pki_dir / pki.STAMP).exists()
    pki_files = env.run_apart(ensure) if first else ensure()
    if pki_files.issued:
        log.verbose(1, "issued", directory=str(config.pki_dir), files=list(pki_files.issued))
    return pki_files


async def renew(config: Config, env: Env) -> NoReturn:
    """Renew self-made certificates before they end, until cancelled.

    What is issued is found by who watches the files.
    """
    while True:
        await trio.sleep(RENEW_INTERVAL_S)
        try:
            pki_files = await env.run_blocking(own_certificates, config, env)
        except pki.PkiError as error:
            log.warning("cannot renew certificates", reason=str(error))
        else:
            if pki_files.issued:
                log.info("renewed", directory=str(config.pki_dir), files=list(pki_files.issued))


def serving_pair(config: Config, made: pki.Pki) -> pki.KeyPair:
    """The certificate that clients are shown who ask for no other.

    Raises:
        PkiError: files given by flags cannot be used.
    """
    cert, key = config.serving.tls_cert_file, config.serving.tls_private_key_file
    return made.serving if cert is None or key is None else pki.load_user_supplied(cert, key)


def text_of(ders: Iterable[bytes]) -> str:
    """Certificates as PEM.

    Args:
        ders: in DER.
    """
    return b"".join(map(printed, ders)).decode()


def _certificates_of(pair: pki.KeyPair) -> bytes:
    return text_of(certificates(pair.cert.read_bytes())).encode()


def root_bundle(config: Config, made: pki.Pki) -> bytes:
    """Authorities that verify what clients are shown, PEM.  Blocking.

    The self-made one, unless a certificate given by flags is of another: then what its file holds
    stands in its place, of which the last is its authority if that is there, or itself.

    Raises:
        PkiError: files given by flags cannot be used.
        OSError: a file cannot be read.
    """
    own, serving = made.ca.cert.read_bytes(), serving_pair(config, made)
    if serving == made.serving or verifies(own, serving.cert, serving.key):
        return own
    return _certificates_of(serving)


def signing_pair(config: Config, made: pki.Pki) -> SigningPair | None:
    """The authority that signs what certificate requests ask for.

    The self-made one, as long as it is the one whose client certificates the server believes.
    """
    cert, key = config.certificates.signing_cert_file, config.certificates.signing_key_file
    if cert is not None and key is not None:
        return SigningPair(cert, key)
    return SigningPair(made.ca.cert, made.ca.key) if config.auth.client_ca_file is None else None


class Shown(NamedTuple):
    """What clients that connect to the server's address are shown, and how they verify it.

    Args:
        authority: what verifies the certificate, PEM.
        server_name: name that it is to be checked for, empty where the address is in it.
    """

    authority: bytes
    server_name: str


def shown(config: Config, made: pki.Pki) -> Shown:
    """What clients are shown who connect to the server's address.  Blocking.

    ``--tls-sni-cert-key`` may have a certificate for the address, or for the name that clients
    check the default one for.

    Raises:
        PkiError: files given by flags cannot be used.
        OSError: a file cannot be read.
    """
    serving, address = serving_pair(config, made), config.serving.public_address
    pairs = (serving, *(pki.KeyPair(one.cert, one.key) for one in config.serving.tls_sni_cert_key))
    name = address
    for _ in pairs:  # a certificate's name may be another's too, and is asked for next
        pair = pairs[_found(config, serving, name)]
        host = _name_for(address, pair, made)
        if host in ("", name):
            break
        name = host
    own = made.ca.cert.read_bytes()
    if pair == made.serving or verifies(own, pair.cert, pair.key):
        return Shown(own, host)
    return Shown(_certificates_of(pair), host)


def _found(config: Config, serving: pki.KeyPair, name: str) -> int:
    """Which certificate is shown to who asks for a name, or connects to an address.

    It is 0 for the default one, or counts the others from 1.
    """
    named = config.serving.tls_sni_cert_key
    if not named:
        return 0
    table = NameTable.of(serving.cert, named)
    at = table.at_address(name) if _is_address(name) else table.find(name)
    return 0 if at is None else at + 1


def _name_for(address: str, pair: pki.KeyPair, made: pki.Pki) -> str:
    """Name to check a certificate for, empty where an address of a server is in it."""
    if pair == made.serving:
        return ""  # made for the address
    names = names_in(pair.cert.read_bytes())[1]
    if address in names or Names("", tuple(names)).cover(address):
        return ""
    plain = (name for name in sorted(names) if "*" not in name and not _is_address(name))
    return next(plain, "")


def check_given(config: Config) -> None:
    """See that files of keys and certificates that flags name can be used.  Blocking.

    Raises:
        PkiError: one of a certificate or a key cannot.
        StartError: the same, of the other files.
    """
    cert, key = config.serving.tls_cert_file, config.serving.tls_private_key_file
    if cert is not None and key is not None:
        pki.load_user_supplied(cert, key)
    _load_named(config)
    proxy, signing = config.aggregation, config.certificates
    for flag, first, second in (
        ("--proxy-client-cert-file", proxy.client_cert_file, proxy.client_key_file),
        ("--cluster-signing-cert-file", signing.signing_cert_file, signing.signing_key_file),
    ):
        if first is not None and second is not None:
            pki.load_user_supplied(first, second, flag)
    for flag, path in (
        ("--client-ca-file", config.auth.client_ca_file),
        ("--requestheader-client-ca-file", config.authenticators.requestheader_client_ca_file),
    ):
        if path is not None:
            try:
                authorities(path.read_bytes())
            except (OSError, ValueError) as error:
                raise StartError(f"cannot use {flag} {path}: {_why(error)}") from error


def _load_named(config: Config) -> None:
    for pair in config.serving.tls_sni_cert_key:
        try:
            pki.load_user_supplied(pair.cert, pair.key, flag="--tls-sni-cert-key")
        except pki.PkiError as error:
            raise StartError(f"failed to load SNI cert and key: {error}") from error


def _why(error: OSError | ValueError) -> str:
    why = error.reason if isinstance(error, ssl.SSLError) else getattr(error, "strerror", "")
    return str(why or error)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def security(config: Config, made: pki.Pki, front_proxy_ca: Path | None = None) -> Security:
    """What a server does TLS with.  Blocking.

    Args:
        config: how.
        made: its own certificates.
        front_proxy_ca: authorities of proxies that name users in headers, or None.

    Raises:
        PkiError: files given by flags cannot be used.
        StartError: the same, or a choice that cannot be fulfilled.
    """
    serving, chosen = serving_pair(config, made), config.serving
    _load_named(config)
    client_ca = config.auth.client_ca_file or made.ca.cert
    try:
        return Security(
            TlsConfig(
                certificate=serving.cert,
                key=serving.key,
                client_ca=client_ca,
                front_proxy_ca=front_proxy_ca,
                oldest=chosen.tls_min_version,
                suites=chosen.tls_cipher_suites,
                curves=chosen.tls_curve_preferences,
                named=chosen.tls_sni_cert_key,
                http2=not chosen.disable_http2,
            )
        )
    except OSError as error:
        where = _blamed(config, client_ca, front_proxy_ca)
        raise StartError(f"cannot use {where}: {_why(error)}") from error
    except ValueError as error:
        raise StartError(str(error)) from error


def _blamed(config: Config, client_ca: Path, front_proxy_ca: Path | None) -> str:
    """The file of authorities that cannot be used; the others were looked at before."""
    if front_proxy_ca is not None:
        try:
            authorities(front_proxy_ca.read_bytes())
        except (OSError, ValueError):
            return f"--requestheader-client-ca-file {front_proxy_ca}"
    flag = "" if config.auth.client_ca_file is None else "--client-ca-file "
    return f"{flag}{client_ca}"


def watch(
    api: Pipeline,
    reloader: Reloader,
    config: Config,
    tls: Security,
    trusted: Trusted,
    made: pki.Pki,
) -> None:
    """Have files of keys and certificates read again when they change.

    Args:
        api: has what connects to kubelets and to aggregated API servers.
        reloader: watches files.
        config: names the files.
        tls: what the listener does TLS with.
        trusted: what is published of its authorities.
        made: its own certificates.
    """

    def shown(at: int) -> None:
        tls.reload_pair(at)
        if at == 0:
            trusted.root.set(root_bundle(config, made).decode(errors="replace"))

    def believed() -> None:
        tls.reload_authorities()
        client, proxies = map(text_of, tls.authorities)
        named = trusted.proxies
        # Without authorities of proxies, this server's own is published.
        trusted.set(client, named._replace(ca=proxies) if chosen.front_proxy_ca else named)

    chosen = tls.config
    for at, pair in enumerate(chosen.pairs):
        name = "--tls-sni-cert-key" if at else "--tls-cert-file"
        reloader.watch(name, (pair.cert, pair.key), partial(shown, at))
    for name, path in (
        ("--client-ca-file", chosen.client_ca),
        ("--requestheader-client-ca-file", chosen.front_proxy_ca),
    ):
        if path is not None:
            reloader.watch(name, (path,), believed)
    proxy = config.aggregation
    if proxy.client_cert_file is not None and proxy.client_key_file is not None:
        proxy_files = (proxy.client_cert_file, proxy.client_key_file)
        reloader.watch(
            "--proxy-client-cert-file", proxy_files, api.edge.delegation.aggregation.proxy.reload
        )
    kubelet = config.kubelet
    if kubelet.client_certificate is not None and kubelet.client_key is not None:
        pair_files = (kubelet.client_certificate, kubelet.client_key)
        reloader.watch("--kubelet-client-certificate", pair_files, api.edge.backends.reload)
    if kubelet.certificate_authority is not None:
        authority = (kubelet.certificate_authority,)
        reloader.watch("--kubelet-certificate-authority", authority, api.edge.backends.reload)
