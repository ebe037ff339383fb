"""Signed in to the pages with a client certificate, by a real browser over TLS and HTTP/2.

The browser finds the certificate in an NSS database of its own, and is told in its preferences to
choose it, as the policy ``AutoSelectCertificateForUrls`` does: the dialog in which a person chooses
is no page that a test could see.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import trio
from chromium import CHROMIUM, open_tab
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    load_pem_private_key,
    pkcs12,
)
from ui_pages import configmap, configured, picture

from kubetrio.server import open_server

CERTUTIL, PK12UTIL = shutil.which("certutil"), shutil.which("pk12util")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed"),
    pytest.mark.skipif(
        CERTUTIL is None or PK12UTIL is None, reason="libnss3-tools is not installed"
    ),
]
LIVE = "document.body && document.body.dataset.state === 'live'"
WORD = "import"
DATABASES = (".pki/nssdb", ".local/share/pki/nssdb")
"""Where versions of Chromium have the certificates of a user, below the home directory."""


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def install(home: Path, pki: Path) -> None:
    """Put the administrator's certificate and key into the databases of a home directory."""
    key = load_pem_private_key((pki / "admin.key").read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    certificate = x509.load_pem_x509_certificate((pki / "admin.crt").read_bytes())
    bundle = home / "admin.p12"
    bundle.write_bytes(
        pkcs12.serialize_key_and_certificates(
            b"admin", key, certificate, None, BestAvailableEncryption(WORD.encode())
        )
    )
    for name in DATABASES:
        folder = home / name
        folder.mkdir(parents=True)
        database = f"sql:{folder}"
        _run(str(CERTUTIL), "-N", "--empty-password", "-d", database)
        _run(str(PK12UTIL), "-i", str(bundle), "-d", database, "-W", WORD, "-K", "")


def choose(profile: Path, url: str) -> None:
    """Have a profile offer its certificate to a server without a question."""
    setting: dict[str, object] = {f"{url},*": {"setting": {"filters": [{}]}}}
    chosen = {"content_settings": {"exceptions": {"auto_select_certificate": setting}}}
    folder = profile / "Default"
    folder.mkdir(parents=True)
    (folder / "Preferences").write_text(json.dumps({"profile": chosen}))


async def test_a_certificate_opens_the_pages(tmp_path: Path) -> None:
    """No token is asked for; the user is the certificate's, and the table is live."""
    async with open_server(configured(tmp_path)) as server:
        await server.client().create(configmap("seen", {"k": "v"}))
        profile = tmp_path / "profile"
        profile.mkdir()
        install(profile, server.config.pki_dir)
        choose(profile, server.url)
        flags = ("--ignore-certificate-errors",)
        with trio.fail_after(100):
            page = f"{server.url}/ui/#/objects/core/configmaps?ns=default"
            async with open_tab(profile, page, *flags) as tab:
                await tab.listen()
                await tab.until(f"{LIVE} && document.body.innerText.includes('seen')")
                who = "document.querySelector('.who').textContent"
                assert "kubernetes-admin" in await tab.value(who)
                assert "Sign out" not in await tab.value(who)
                assert await tab.value("JSON.stringify(sessionStorage)") == "{}"
                assert await tab.value("document.cookie") == ""
                await picture(tab, tmp_path, "client-certificate")
                assert tab.complaints == []


async def test_without_one_a_token_is_asked_for(tmp_path: Path) -> None:
    """What the other test shows comes of the certificate."""
    async with open_server(configured(tmp_path)) as server:
        profile = tmp_path / "profile"
        profile.mkdir()
        choose(profile, server.url)
        with trio.fail_after(100):
            flags = ("--ignore-certificate-errors",)
            async with open_tab(profile, f"{server.url}/ui/", *flags) as tab:
                field = "document.getElementById('token')"
                await tab.until(f"document.readyState === 'complete' && !!{field}")
