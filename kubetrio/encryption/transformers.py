"""How stored bytes are made of plain ones: the contract of providers, and the choice among them.

A transformer works at once and over bytes, so that it can run wherever the bytes are: on the event
loop or in a thread.  What takes a call to another process (a key that a plugin has to decrypt) is
asked for by raising `KeyWanted`; a caller that can wait fetches it and tries again.

Source: k8s.io/apiserver/pkg/storage/value.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from kubetrio.env import monotonic
from kubetrio.gotext.text import aggregate
from kubetrio.store.cipher import ENCRYPTED, UNREADABLE, Plain
from kubetrio.store.errors import Unreadable

NO_PREFIX = "no matching prefix found"


class TransformError(Unreadable):
    """A value that cannot be encrypted or decrypted; the text is kube-apiserver's.

    Args:
        text: what is wrong.
        code: of the call that failed, in gRPC's words, for metrics.
    """

    def __init__(self, text: str, code: str = "unknown-non-grpc") -> None:
        super().__init__(text)
        self.code = code


class KeyWanted(Exception):
    """A value can be decrypted when a key has been fetched.

    Args:
        key: names what is missing; as `UnfetchedKeys` knows it.
        fetch: gets it; raises `TransformError`.
    """

    def __init__(self, key: bytes, fetch: Callable[[], Awaitable[None]]) -> None:
        super().__init__("a key has to be fetched")
        self.key = key
        self.fetch = fetch


UnfetchedKeys = Mapping[bytes, TransformError]
"""Keys that could not be fetched just now, and why."""
Seal = Callable[[bytes], bytes]
"""Encrypts one value; to be used once."""


class Transformer(Protocol):
    """One way to store values.

    Attributes:
        nonce_bytes: random bytes that each value takes.
    """

    @property
    def nonce_bytes(self) -> int:
        """Random bytes that each value takes."""
        ...

    def seal(self, path: bytes, nonce: bytes, size: int) -> Seal:
        """Make ready to encrypt one value.

        Args:
            path: the key that it is stored under; authenticated where the cipher can.
            nonce: `nonce_bytes` that were never used before.
            size: about how long the value will be, bytes.

        Raises:
            TransformError: nothing can be encrypted now.
        """
        ...

    def open(self, data: bytes, path: bytes, refused: UnfetchedKeys) -> Plain:
        """Decrypt a value.

        Args:
            data: as it is stored, without the prefix of this transformer.
            path: the key that it is stored under.
            refused: keys that are not to be asked for again.

        Raises:
            TransformError: it cannot be decrypted.
            KeyWanted: not before a key has been fetched.
        """
        ...


class Identity:
    """Values as they are; what is encrypted is none of them."""

    nonce_bytes = 0

    def seal(self, path: bytes, nonce: bytes, size: int) -> Seal:
        """See `Transformer.seal`."""
        del path, nonce, size
        return bytes

    def open(self, data: bytes, path: bytes, refused: UnfetchedKeys) -> Plain:
        """See `Transformer.open`."""
        del path, refused
        if data.startswith(ENCRYPTED):
            raise TransformError(UNREADABLE)
        return Plain(data, stale=False)


class Prefixed(NamedTuple):
    """A transformer and what its values begin with; an empty prefix is that of `Identity`."""

    prefix: bytes
    transformer: Transformer


Report = Callable[[str, str, float, TransformError | None], None]
"""Hears of each transformation: its type, the prefix used, seconds, and what went wrong."""


def unreported(_type: str, _prefix: str, _seconds: float, _error: TransformError | None) -> None:
    """Reports nothing."""


class Providers:
    """Several transformers: the first writes, and each reads what begins with its prefix.

    A failure does not keep a later one with the same prefix from trying: that is how a provider
    with another key of the same name is rotated away from.

    Args:
        choices: in order, at least one.
        unknown: what is said of a value that none of them reads.
        report: called with what was done, if it is counted.
    """

    def __init__(
        self, choices: Sequence[Prefixed], unknown: str = NO_PREFIX, report: Report = unreported
    ) -> None:
        self._choices = tuple(choices)
        self._unknown = unknown
        self._report = report

    @property
    def nonce_bytes(self) -> int:
        """Random bytes that each value takes."""
        return self._choices[0].transformer.nonce_bytes

    @property
    def writes_plain(self) -> bool:
        """Whether new values are stored as they are."""
        return not self._choices[0].prefix

    def reported(self, report: Report) -> Providers:
        """Return the providers with a report of each transformation, key choices included."""
        choices = [
            Prefixed(prefix, inner.reported(report) if isinstance(inner, Providers) else inner)
            for prefix, inner in self._choices
        ]
        return Providers(choices, self._unknown, report)

    def seal(self, path: bytes, nonce: bytes, size: int) -> Seal:
        """See `Transformer.seal`."""
        prefix, transformer = self._choices[0]
        try:
            seal = transformer.seal(path, nonce, size)
        except TransformError as error:
            self._report("to_storage", prefix.decode(), 0.0, error)
            raise

        def sealed(data: bytes) -> bytes:
            began = monotonic()
            data_sealed = prefix + seal(data)
            self._report("to_storage", prefix.decode(), monotonic() - began, None)
            return data_sealed

        return sealed

    def open(self, data: bytes, path: bytes, refused: UnfetchedKeys) -> Plain:
        """See `Transformer.open`."""
        errors: list[TransformError] = []
        began = monotonic()
        for place, (prefix, transformer) in enumerate(self._choices):
            if not data.startswith(prefix):
                continue
            try:
                opened = transformer.open(data[len(prefix) :], path, refused)
            except TransformError as error:
                if prefix:
                    self._report("from_storage", prefix.decode(), 0.0, error)
                    errors.append(error)
                continue
            self._report("from_storage", prefix.decode() or "identity", monotonic() - began, None)
            return Plain(opened.data, opened.stale or place > 0)
        if not errors:
            unread = TransformError(self._unknown)
            self._report("from_storage", "unknown", 0.0, unread)
            raise unread
        raise TransformError(aggregate(map(str, errors)), errors[0].code)
