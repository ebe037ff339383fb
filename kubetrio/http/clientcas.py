"""Names of authorities in the request for a client certificate, as Go's ``ClientCAs`` has them.

A client with several certificates chooses by these names: browsers and Java do, and some send none
without.  Python's ``ssl`` verifies by an authority and has no call that names it; where OpenSSL
cannot be asked instead, the names are left out, as TLS allows.

Source: RFC 8446, 4.2.4; SSL_CTX_set_client_CA_list(3).
"""

from __future__ import annotations

import ctypes
import ssl
from pathlib import Path

from kubetrio.http.openssl import address_of, library


def name_authorities(context: ssl.SSLContext, *authorities: Path) -> bool:
    """Have a server name the authorities of PEM files to its clients.

    Args:
        context: of the server.
        authorities: files that were loaded into `context`, so that they can be read.

    Returns:
        Whether it does.
    """
    found, address = library(), address_of(context)
    if found is None or address is None or not authorities:
        return False
    names = found.SSL_load_client_CA_file(str(authorities[0]).encode())
    if not names:
        return False
    for further in authorities[1:]:
        found.SSL_add_file_cert_subjects_to_stack(ctypes.c_void_p(names), str(further).encode())
    found.SSL_CTX_set_client_CA_list(address, ctypes.c_void_p(names))  # it keeps the names
    return True
