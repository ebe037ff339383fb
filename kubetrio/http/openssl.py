"""What OpenSSL does for Go's ``crypto/tls`` and Python's ``ssl`` does not ask it for.

Its own functions are called on a context.  That takes the context's address, which is where it is
in every CPython this project runs on; elsewhere, and where the functions are not to be found, each
call says that it could not.

Source: SSL_CTX_set_verify(3), SSL_CTX_set1_groups_list(3), SSL_CTX_set_session_cache_mode(3);
``PySSLContext`` in CPython's ``Modules/_ssl.c``, whose first member is the ``SSL_CTX``, and
``newPySSLSocket`` there, which keeps the Python object as the application's data of the ``SSL``.
"""

from __future__ import annotations

import ctypes
import ssl
import sys
import sysconfig
from functools import cache
from pathlib import Path

KNOWN = ((3, 11), (3, 15))
"""CPython from the first and before the second: layouts that were looked at."""

_SET_GROUPS_LIST = 92
_SET_SESSION_CACHE = 44
_NO_CACHE = 0
_SET_MOST_CERTIFICATES = 51
MOST_CERTIFICATES = 32 * 1024
"""Bytes of all certificates that a client sends: OpenSSL takes 0.1 ms to read each."""
_VERIFY_PEER = 1
LONGEST_CHAIN = 10
"""Certificates between a client's and its authority: each costs a signature to verify, also those
of strangers."""
_Verify = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)

_failures: dict[int, int] = {}  # address of the ``_ssl._SSLSocket``: what was wrong first


def library() -> ctypes.CDLL | None:
    """The library that the interpreter's ``ssl`` is linked with, where contexts can be found."""
    known = KNOWN[0] <= sys.version_info[:2] < KNOWN[1]
    plain = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
    file = getattr(sys.modules.get("_ssl"), "__file__", None)
    return _loaded(file) if known and plain and file else None


@cache
def _loaded(file: str) -> ctypes.CDLL | None:
    pointer = ctypes.c_void_p
    try:
        openssl = ctypes.CDLL(file)
        openssl.SSL_CTX_get_options.restype = ctypes.c_uint64
        openssl.SSL_CTX_get_options.argtypes = [pointer]
        openssl.SSL_CTX_ctrl.restype = ctypes.c_long
        openssl.SSL_CTX_ctrl.argtypes = [pointer, ctypes.c_int, ctypes.c_long, ctypes.c_char_p]
        openssl.SSL_CTX_set_verify.restype = None
        openssl.SSL_CTX_set_verify.argtypes = [pointer, ctypes.c_int, _Verify]
        openssl.SSL_CTX_set_verify_depth.restype = None
        openssl.SSL_CTX_set_verify_depth.argtypes = [pointer, ctypes.c_int]
        openssl.SSL_load_client_CA_file.restype = pointer
        openssl.SSL_load_client_CA_file.argtypes = [ctypes.c_char_p]
        openssl.SSL_add_file_cert_subjects_to_stack.argtypes = [pointer, ctypes.c_char_p]
        openssl.SSL_CTX_set_client_CA_list.restype = None
        openssl.SSL_CTX_set_client_CA_list.argtypes = [pointer, pointer]
        openssl.ERR_clear_error.restype = None
        openssl.ERR_clear_error.argtypes = []
        openssl.X509_STORE_CTX_get_error.argtypes = [pointer]
        openssl.X509_STORE_CTX_get_ex_data.restype = pointer
        openssl.X509_STORE_CTX_get_ex_data.argtypes = [pointer, ctypes.c_int]
        openssl.SSL_get_ex_data.restype = pointer
        openssl.SSL_get_ex_data.argtypes = [pointer, ctypes.c_int]
    except (OSError, AttributeError):  # built in, or symbols that are not there for others
        return None
    return openssl


def address_of(context: ssl.SSLContext) -> ctypes.c_void_p | None:
    """OpenSSL's own context behind one of Python's, None where it cannot be found."""
    openssl = library()
    if openssl is None:
        return None
    address = ctypes.c_void_p.from_address(id(context) + object.__basicsize__)
    # What is there answers as the context does, or is not it.
    mask = 0xFFFF_FFFF
    if openssl.SSL_CTX_get_options(address) & mask != int(context.options) & mask:
        return None
    return address


def set_groups(context: ssl.SSLContext, names: tuple[str, ...]) -> bool:
    """Allow some key exchanges and no others, the first preferred.

    Returns:
        Whether it could be told; an OpenSSL that lacks one of them raises.

    Raises:
        ValueError: this OpenSSL does not have one of them.
    """
    openssl, address = library(), address_of(context)
    if openssl is None or address is None:
        return False
    if not openssl.SSL_CTX_ctrl(address, _SET_GROUPS_LIST, 0, ":".join(names).encode()):
        raise ValueError(f"{ssl.OPENSSL_VERSION} does not have all of {', '.join(names)}")
    return True


def name_authorities(context: ssl.SSLContext, *authorities: Path) -> bool:
    """Have a server name the authorities of PEM files to its clients, as Go's ``ClientCAs``.

    A client with several certificates chooses by these names: browsers and Java do, and some send
    none without.  Where OpenSSL cannot be called, the names are left out, as TLS allows.

    Args:
        context: of the server.
        authorities: files that were loaded into `context`, so that they can be read.

    Returns:
        Whether it does.

    Source: RFC 8446, 4.2.4; SSL_CTX_set_client_CA_list(3).
    """
    openssl, address = library(), address_of(context)
    if openssl is None or address is None or not authorities:
        return False
    names = openssl.SSL_load_client_CA_file(str(authorities[0]).encode())
    if not names:
        return False
    for further in authorities[1:]:
        openssl.SSL_add_file_cert_subjects_to_stack(ctypes.c_void_p(names), str(further).encode())
    openssl.SSL_CTX_set_client_CA_list(address, ctypes.c_void_p(names))  # OpenSSL keeps the names
    return True


def let_in(context: ssl.SSLContext) -> bool:
    """Complete handshakes whatever is wrong with a client's certificate, and note what it is.

    As Go's ``RequestClientCert``: who shows a bad certificate gets an answer, 401.  Sessions are
    not resumed then, since nothing is verified again when they are.

    Returns:
        Whether it does; if not, such handshakes fail.
    """
    openssl, address = library(), address_of(context)
    if openssl is None or address is None:
        return False
    openssl.SSL_CTX_ctrl(address, _SET_SESSION_CACHE, _NO_CACHE, None)
    openssl.SSL_CTX_set_verify(address, _VERIFY_PEER, _noted)
    openssl.SSL_CTX_set_verify_depth(address, LONGEST_CHAIN)
    openssl.SSL_CTX_ctrl(address, _SET_MOST_CERTIFICATES, MOST_CERTIFICATES, None)
    return True


def _note(fine: int, store: int) -> int:
    """OpenSSL's callback for each certificate of a chain, and each thing that is wrong."""
    if not fine:
        openssl = library()
        if openssl is None:
            return 0
        ssl_at = openssl.X509_STORE_CTX_get_ex_data(store, _ssl_index())
        owner = openssl.SSL_get_ex_data(ssl_at, 0) if ssl_at else None
        if not owner:
            return 0
        _failures.setdefault(owner, openssl.X509_STORE_CTX_get_error(store))
        # It is no error any more: on the thread's list, any connection's next call would find it.
        openssl.ERR_clear_error()
    return 1


_noted = _Verify(_note)


@cache
def _ssl_index() -> int:
    openssl = library()
    return -1 if openssl is None else int(openssl.SSL_get_ex_data_X509_STORE_CTX_idx())


def failure(sock: ssl.SSLSocket) -> int:
    """What was wrong with the certificates of a connection's peer, forgotten afterwards.

    Returns:
        OpenSSL's number of the error, 0 for none.
    """
    return _failures.pop(id(sock._sslobj), 0)  # type: ignore[attr-defined]  # noqa: SLF001
