"""AES in CBC and GCM: values and seeds that are refused."""

import pytest

from kubetrio.encryption.aes import Cbc, ExtendedGcm
from kubetrio.encryption.transformers import (
    TransformError,
)

KEY = b"01234567890123456789012345678901"


PATH = b"/registry/secrets/default/one"


@pytest.mark.parametrize(
    ("stored", "why"),
    [
        (b"short", "the stored data was shorter than the required size"),
        (b"x" * 17, "the stored data is not a multiple of the block size"),
        (b"x" * 16, "invalid PKCS7 data (empty or not padded)"),
    ],
)
def test_malformed_cbc(stored: bytes, why: str) -> None:
    """The texts are kube-apiserver's; an empty rest does not break anything."""
    with pytest.raises(TransformError) as caught:
        Cbc(KEY).open(stored, PATH, {})
    assert str(caught.value) == why


def test_a_short_seed_is_refused() -> None:
    """32 bytes are the least."""
    with pytest.raises(TransformError, match="invalid seed length 31 used for key generation"):
        ExtendedGcm(KEY[1:])
