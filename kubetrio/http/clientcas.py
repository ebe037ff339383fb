"""Names of authorities in the request for a client certificate, as Go's ``ClientCAs`` has them.

A client with several certificates chooses by these names: browsers and Java do, and some send none
without.  Python's ``ssl`` verifies by an authority and has no call that names it, so OpenSSL's own
function is called on the context.  That takes its address, which is where it is in every CPython
this project runs on; elsewhere the names are left out, as TLS allows.

Source: RFC 8446, 4.2.4; SSL_CTX_set_client_CA_list(3); ``PySSLContext`` in CPython's
``Modules/_ssl.c``, whose first member is the ``SSL_CTX``.
"""

from __future__ import annotations

import ctypes
import ssl
import sys
import sysconfig
from pathlib import Path

KNOWN = ((3, 11), (3, 15))
"""CPython from the first and before the second: layouts that were looked at."""


def name_authorities(context: ssl.SSLContext, authorities: Path) -> bool:
    """Have a server name the authorities of a PEM file to its clients.

    Args:
        context: of the server.
        authorities: certificates; it was loaded into `context`, so that it can be read.

    Returns:
        Whether it does.
    """
    library = _openssl()
    if library is None:
        return False
    address = ctypes.c_void_p.from_address(id(context) + object.__basicsize__)
    # What is there answers as the context does, or is not it.
    mask = 0xFFFF_FFFF
    if library.SSL_CTX_get_options(address) & mask != int(context.options) & mask:
        return False
    names = library.SSL_load_client_CA_file(str(authorities).encode())
    if not names:
        return False
    library.SSL_CTX_set_client_CA_list(address, ctypes.c_void_p(names))  # it keeps the names
    return True


def _openssl() -> ctypes.CDLL | None:
    """The library that the interpreter's ``ssl`` is linked with, where contexts can be found."""
    known = KNOWN[0] <= sys.version_info[:2] < KNOWN[1]
    plain = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
    file = getattr(sys.modules.get("_ssl"), "__file__", None)
    if not (known and plain and file):
        return None
    try:
        library = ctypes.CDLL(file)
        library.SSL_CTX_get_options.restype = ctypes.c_uint64
        library.SSL_load_client_CA_file.restype = ctypes.c_void_p
        library.SSL_CTX_set_client_CA_list.restype = None
    except (OSError, AttributeError):  # built in, or symbols that are not there for others
        return None
    return library
