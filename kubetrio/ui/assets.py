"""Files of the pages, and the headers that they go out with.

Browsers load scripts and styles from this server alone, run none that is written into a page but
those whose hashes the policy names, and show the pages in no frame of others.  All modules go out
as one (`SCRIPT`).  A page that is signed in to with a token gets that and the style by one
``fetch`` with the token (`ALL`), for ``import`` has no headers; so it may also run blobs, which
only a script that runs already can make.

Source: W3C "Content Security Policy Level 3"; W3C "Trusted Types".
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from dataclasses import dataclass
from importlib import resources

import orjson

from kubetrio.api.encoding.compress import HEADERS, wanted
from kubetrio.api.request import Request
from kubetrio.api.response import Headers, Response
from kubetrio.ui.bundle import bundled

FOLDER = "assets"
TYPES = {
    "css": b"text/css; charset=utf-8",
    "html": b"text/html; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "json": b"application/json",
    "svg": b"image/svg+xml",
}
COMMON = (
    "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
STANDING: Headers = (
    (b"X-Content-Type-Options", b"nosniff"),
    (b"X-Frame-Options", b"DENY"),
    (b"Referrer-Policy", b"no-referrer"),
    (b"Cross-Origin-Opener-Policy", b"same-origin"),
    (b"Cross-Origin-Resource-Policy", b"same-origin"),
)
VARY = (b"Vary", b"Accept-Encoding")
KEPT = (b"Cache-Control", b"private, no-cache")
"""Browsers ask each time whether a file is still the same."""
INLINE = re.compile(r"<(script|style)[^>]*>(.*?)</\1>", re.DOTALL)
DOCUMENT, SIGN_IN, ICON = "index.html", "signin.html", "icon.svg"
ENTRY = "main"
"""The module whose ``start`` is called."""
SCRIPT = "all.js"
"""All modules as one."""
STYLE = "style.css"
ALL = "all.json"
"""The texts of `SCRIPT` and `STYLE` by name, in one answer."""
PARTS = {"/* signin.css */": "signin.css", "/* signin.js */": "signin.js"}
"""Files that are written into the page for signing in, by what stands in their place."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A file.

    Args:
        body: its bytes.
        type: media type.
        tag: entity tag.
        policy: content security policy, empty for what is no page.
        packed: the same by gzip, made once; empty where that is no smaller.
    """

    body: bytes
    type: bytes
    tag: bytes
    policy: bytes = b""
    packed: bytes = b""

    def answer(self, request: Request, status: int = 200) -> Response:
        """Return the answer to a request for it: 304 for who has it."""
        packs = self.packed != b"" and wanted(request)
        tag = self.tag[:-1] + b'-gz"' if packs else self.tag
        headers: list[tuple[bytes, bytes]] = [KEPT, (b"ETag", tag), *STANDING]
        if self.policy:
            headers.append((b"Content-Security-Policy", self.policy))
        if status == 200 and request.headers.get(b"if-none-match") == tag:
            return Response(304, b"", b"", [*headers, VARY])
        if packs:
            return Response(status, self.packed, self.type, [*headers, *HEADERS])
        return Response(status, self.body, self.type, [*headers, VARY])


def _asset(name: str, body: bytes, policy: str = "") -> Asset:
    tag = b'"' + hashlib.sha256(body).hexdigest()[:32].encode() + b'"'
    packed = gzip.compress(body, mtime=0)
    kind = TYPES[name.rpartition(".")[2]]
    return Asset(body, kind, tag, policy.encode(), packed if len(packed) < len(body) else b"")


def _text(name: str) -> str:
    return resources.files(__package__).joinpath(FOLDER, name).read_text("utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def modules() -> dict[str, str]:
    """Return the texts of the page's modules by name, without ``.js``.  Blocking."""
    return {
        entry.name.removesuffix(".js"): entry.read_text("utf-8")
        for entry in resources.files(__package__).joinpath(FOLDER).iterdir()
        if entry.name.endswith(".js") and not entry.name.startswith("signin.")
    }


def load() -> dict[str, Asset]:
    """Return all files but the page for signing in, by name.  Blocking."""
    trusted = "require-trusted-types-for 'script'; trusted-types 'none'"
    own = "script-src 'self'; style-src 'self'; img-src 'self'"
    policies = {DOCUMENT: f"{COMMON}; {own}; {trusted}"}
    texts = {name: _text(name) for name in (DOCUMENT, STYLE, ICON)}
    texts[SCRIPT] = bundled(modules(), ENTRY)
    texts[ALL] = orjson.dumps({name: texts[name] for name in (SCRIPT, STYLE)}).decode()
    return {
        name: _asset(name, text.encode(), policies.get(name, "")) for name, text in texts.items()
    }


def sign_in_page(door: str = "token") -> Asset:
    """Return the page in which a token is typed; it needs no other file.  Blocking.

    Args:
        door: ``once`` where the code of ``kubetrio ui`` is typed in place of a token.
    """
    text = _text(SIGN_IN).replace('data-door="token"', f'data-door="{door}"')
    for place, name in PARTS.items():
        text = text.replace(place, _text(name))
    allowed = {"script": ["blob:"], "style": list[str]()}
    for kind, inside in INLINE.findall(text):
        allowed[kind].append(_hash(inside))
    policy = (
        f"{COMMON}; img-src data:; script-src {' '.join(allowed['script'])}; "
        f"style-src {' '.join(allowed['style'])}"
    )
    return _asset(SIGN_IN, text.encode(), policy)
