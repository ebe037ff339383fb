"""XSalsa20 and Poly1305: the published vector."""

from kubetrio.encryption.secretbox import Secretbox


def test_the_published_vector_of_secretbox() -> None:
    """Key, nonce and text of "Cryptography in NaCl", section 10."""
    key = bytes.fromhex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389")
    nonce = bytes.fromhex("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37")
    text = bytes.fromhex(
        "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d4"
        "5e6c61296cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a"
        "024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705"
    )
    made = Secretbox(key).seal(b"", nonce, len(text))(text)
    assert made[24:40].hex() == "f3ffc7703f9400e52a7dfb4b3d3305d9"
    assert made[40:72].hex() == "8e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186a"
