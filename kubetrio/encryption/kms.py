"""Envelope encryption with a KMS plugin, version 2.

The plugin encrypts a seed, once for each of its keys; values are encrypted here, each with a key
derived from the seed.  A value carries the encrypted seed, which the plugin decrypts when it is met
for the first time.  How the plugin is, and which key it uses, is asked once a minute; nothing is
written for longer than three minutes on an answer that could not be renewed, so that a rotated key
is in use by then.

Source: k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2/envelope.go,
server/options/encryptionconfig/config.go (`kmsv2PluginProbe`).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import struct
from collections import OrderedDict
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, NamedTuple, NoReturn, Protocol

import trio

from kubetrio.encryption import kmsmessages
from kubetrio.encryption.aes import SEED_BYTES, ExtendedGcm, Gcm
from kubetrio.encryption.kmsplugin import Encrypted, Service, Status
from kubetrio.encryption.transformers import KeyWanted, Seal, TransformError, UnfetchedKeys
from kubetrio.env import Env, monotonic
from kubetrio.gotext.text import aggregate, quote
from kubetrio.kinds.common.shared_checks import fully_qualified_domain
from kubetrio.observe.logs import Log
from kubetrio.store.cipher import Plain

LOG = Log("kubetrio.encryption")

PREFIX: Final = "k8s:enc:kms:v2:"
FIRST_PREFIX: Final = b"k8s:enc:kms:v1:"
POLL_S: Final = 60.0
POLL_FAILING_S: Final = 10.0
WRITES_FOR_S: Final = 180.0
HEALTHY_FOR_S: Final = 20.0  # an answer of a health check is good for
FAILING_FOR_S: Final = 3.0
AES_KEY, SEED = 0, 1  # what the encrypted key of a value is
SOURCES: Final = (AES_KEY, SEED)
MAX_SOURCE_BYTES: Final = 1024
MAX_KEY_ID_BYTES: Final = 1024
MAX_ANNOTATION_BYTES: Final = 32 * 1024
CACHED_KEYS: Final = 10_000
CACHED_S: Final = 24 * 3600.0


class Watcher(Protocol):
    """Hears what metrics count."""

    def key_used(self, kind: str, provider: str, key_id: str) -> None:
        """A value was read or written with a key."""
        ...

    def key_seen(self, provider: str, key_id: str) -> None:
        """A plugin said which key it uses."""
        ...

    def key_invalid(self, provider: str, error: str) -> None:
        """A plugin said something that is no key."""
        ...

    def cached(self, provider: str, size: int) -> None:
        """So many keys are remembered."""
        ...

    def missed(self) -> None:
        """A key had to be asked for."""
        ...

    def generated(self, seconds: float) -> None:
        """A new seed was made."""
        ...


class _State(NamedTuple):
    """What values are written with.

    Args:
        cipher: encrypts with the seed.
        encrypted: the seed, as the plugin encrypted it.
        cache_key: names the seed.
        until: wall clock until which it may be used, seconds.
    """

    cipher: ExtendedGcm
    encrypted: Encrypted
    cache_key: bytes
    until: float


def digest(text: str) -> str:
    """A name that tells no more than whether two texts are the same."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}" if text else ""


def _wrong_key_id(key_id: str) -> tuple[str, str]:
    """A word for metrics and a text, both empty for a good one."""
    size = len(key_id.encode())
    if not size:
        return "empty", "keyID is empty"
    if size > MAX_KEY_ID_BYTES:
        why = f"keyID is {size} bytes, which exceeds the max size of {MAX_KEY_ID_BYTES}"
        return "too_long", why
    return "", ""


def check(encrypted: Encrypted, source: int = SEED, data: bytes = b"\0") -> None:
    """Refuse what may not be stored with a value.

    Raises:
        TransformError: it is too large, or empty.
    """
    if source not in SOURCES:
        raise TransformError(f"unknown encryptedDEKSourceType: {source}")
    if not data:
        raise TransformError("encrypted data is empty")
    size = len(encrypted.ciphertext)
    why = ""
    if not size:
        why = "encrypted DEK source is empty"
    elif size > MAX_SOURCE_BYTES:
        limit = f"which exceeds the max size of {MAX_SOURCE_BYTES}"
        why = f"encrypted DEK source is {size} bytes, {limit}"
    if why:
        raise TransformError(f"failed to validate encrypted DEK source: {why}")
    _, why = _wrong_key_id(encrypted.key_id)
    if why:
        raise TransformError(f"failed to validate key id: {why}")
    wrong = _wrong_annotations(encrypted.annotations)
    if wrong:
        raise TransformError(f"failed to validate annotations: {aggregate(wrong)}")


def _wrong_annotations(annotations: Mapping[str, bytes]) -> list[str]:
    causes: list[Any] = []
    for name in annotations:
        fully_qualified_domain(name, "annotations", causes)
    wrong = list(map(str, causes))
    total = sum(len(name.encode()) + len(value) for name, value in annotations.items())
    if total > MAX_ANNOTATION_BYTES:
        limit = f"which exceeds the max size of {MAX_ANNOTATION_BYTES}"
        wrong.append(f"total size of annotations is {total}, {limit}")
    return wrong


def _cache_key(encrypted: Encrypted, source: int) -> bytes:
    """Names an encrypted key; no two have the same."""
    parts = [encrypted.ciphertext, encrypted.key_id.encode()]
    for name in sorted(encrypted.annotations):
        parts += [name.encode(), encrypted.annotations[name]]
    return struct.pack(">I", source) + b"".join(
        struct.pack(">I", len(part)) + part for part in parts
    )


class _Keys:
    """Ciphers by the encrypted key that they are of; the oldest go first."""

    def __init__(self) -> None:
        self._ciphers: OrderedDict[bytes, tuple[float, Gcm | ExtendedGcm]] = OrderedDict()

    def get(self, key: bytes) -> Gcm | ExtendedGcm | None:
        entry = self._ciphers.get(key)
        return entry[1] if entry else None

    def put(self, key: bytes, cipher: Gcm | ExtendedGcm, now: float) -> int:
        self._ciphers.pop(key, None)
        self._ciphers[key] = now + CACHED_S, cipher
        while len(self._ciphers) > CACHED_KEYS or next(iter(self._ciphers.values()))[0] < now:
            self._ciphers.popitem(last=False)
        return len(self._ciphers)


class Envelope:
    """Values under seeds that a plugin encrypts.

    Args:
        name: of the provider.
        service: the plugin.
        env: clocks and randomness.
        watcher: hears what happens.
    """

    nonce_bytes = ExtendedGcm.nonce_bytes

    def __init__(self, name: str, service: Service, env: Env, watcher: Watcher) -> None:
        self.name = name
        self.service = service
        self._env = env
        self._watcher = watcher
        self._state: _State | None = None
        self._version = ""
        self._keys = _Keys()
        self._fetching: dict[bytes, trio.Event] = {}
        self._probing = trio.Lock()
        self._answer: TransformError | None = None
        self._answer_until = -1.0

    @property
    def key_id(self) -> str:
        """Identifier of the key that values are written with; empty before the plugin tells one."""
        return self._state.encrypted.key_id if self._state is not None else ""

    # ------------------------------------------------------------------ values

    def _current(self) -> _State:
        if self._state is None:
            raise TransformError("got unexpected nil transformer")
        return self._state

    def seal(self, path: bytes, nonce: bytes, size: int) -> Seal:
        """See `Transformer.seal`."""
        state = self._current()
        now = self._env.now()
        if now > state.until:
            raise TransformError(
                f"encryptedDEKSource with keyID hash {quote(digest(state.encrypted.key_id))} "
                f"expired at {_time(state.until)} (current time is {_time(now)})"
            )
        seal = state.cipher.seal(path, nonce, size)
        encrypted = state.encrypted
        self._watcher.key_used("to_storage", self.name, encrypted.key_id)

        def sealed(data: bytes) -> bytes:
            return kmsmessages.encode(
                "EncryptedObject",
                encryptedData=seal(data),
                keyID=encrypted.key_id,
                encryptedDEKSource=encrypted.ciphertext,
                annotations=encrypted.annotations,
                encryptedDEKSourceType=SEED,
            )

        return sealed

    def open(self, data: bytes, path: bytes, refused: UnfetchedKeys) -> Plain:
        """See `Transformer.open`."""
        try:
            stored = kmsmessages.decode("EncryptedObject", data)
        except ValueError as error:
            raise TransformError(str(error)) from error
        encrypted = Encrypted(
            stored.encryptedDEKSource, stored.keyID, kmsmessages.annotations_of(stored)
        )
        source: int = stored.encryptedDEKSourceType
        check(encrypted, source, stored.encryptedData)
        state = self._current()
        cache_key = _cache_key(encrypted, source)
        cipher = self._keys.get(cache_key)
        if cipher is None:
            if cache_key in refused:
                raise refused[cache_key]
            raise KeyWanted(cache_key, partial(self._fetch, cache_key, encrypted, source))
        self._watcher.key_used("from_storage", self.name, encrypted.key_id)
        plain = cipher.open(stored.encryptedData, path, {})
        stale = encrypted.key_id != state.encrypted.key_id or source != SEED
        return Plain(plain.data, stale=stale)

    async def _fetch(self, cache_key: bytes, encrypted: Encrypted, source: int) -> None:
        """Have the plugin decrypt a key, once for all who wait for it."""
        under_way = self._fetching.get(cache_key)
        if under_way is not None:
            await under_way.wait()
            return  # if it failed, it is asked for again
        done = self._fetching[cache_key] = trio.Event()
        try:
            self._watcher.missed()
            try:
                key = await self.service.decrypt(self._env.new_uid(), encrypted)
            except TransformError as error:
                raise TransformError(
                    f"failed to decrypt DEK, error: {error}", error.code
                ) from error
            if source == SEED:
                self._keep(cache_key, ExtendedGcm(key))
            else:
                if len(key) not in (16, 24, 32):
                    raise TransformError(f"crypto/aes: invalid key size {len(key)}")
                self._keep(cache_key, Gcm(key))
        finally:
            del self._fetching[cache_key]
            done.set()

    def _keep(self, cache_key: bytes, cipher: Gcm | ExtendedGcm) -> None:
        size = self._keys.put(cache_key, cipher, trio.current_time())
        self._watcher.cached(self.name, size)

    # ------------------------------------------------------------------ the plugin

    async def healthy(self) -> TransformError | None:
        """Ask the plugin how it is, and follow its key; an answer is good for a while."""
        async with self._probing:
            if trio.current_time() < self._answer_until:
                return self._answer
            answer: TransformError | None = None
            try:
                await self._probe()
            except TransformError as error:
                answer = error
            good_s = HEALTHY_FOR_S if answer is None else FAILING_FOR_S
            self._answer_until = trio.current_time() + good_s
            # Who asks again meanwhile is told why the call failed, and no more, as there.
            failed = answer and answer.__cause__
            self._answer = failed if isinstance(failed, TransformError) else answer
            return answer

    async def _probe(self) -> None:
        try:
            status = await self.service.status()
        except TransformError as error:
            raise TransformError(
                "failed to perform status section of the healthz check for KMS Provider "
                f"{self.name}, error: {error}",
                error.code,
            ) from error
        wrong = self._wrong_status(status)
        code, why = _wrong_key_id(status.key_id)
        if code:
            self._watcher.key_invalid(self.name, code)
            hashed = quote(digest(status.key_id))
            wrong.append(f"got invalid KMSv2 KeyID hash {hashed}: {why}")
        else:
            self._watcher.key_seen(self.name, status.key_id)
            if failed := await self._follow(status.key_id):
                wrong.append(failed)
        if wrong:
            text = aggregate(wrong)
            raise TransformError(f"kmsv2 Provider {self.name} is not healthy, error: {text}")

    def _wrong_status(self, status: Status) -> list[str]:
        wrong: list[str] = []
        if status.healthz != "ok":
            wrong.append(f"got unexpected healthz status: {status.healthz}")
        if status.version not in ("v2", "v2beta1"):
            wrong.append(f"expected KMSv2 API version v2, got {status.version}")
            return wrong
        self._version = self._version or status.version
        if self._version != status.version:
            wrong.append(
                "KMSv2 API version should not change after the initial status response version "
                f"{self._version}, got {status.version}"
            )
        return wrong

    async def _follow(self, key_id: str) -> str:
        """Write with the key that the plugin uses now; why that is not possible, or nothing."""
        until = self._env.now() + WRITES_FOR_S
        state = self._state
        if state is not None and state.encrypted.key_id == key_id:
            self._state = state._replace(until=until)
            self._keep(state.cache_key, state.cipher)
            return ""
        uid = self._env.new_uid()
        began = monotonic()
        seed = self._env.rng.randbytes(SEED_BYTES)
        self._watcher.generated(monotonic() - began)
        sealed, failed = Encrypted(b"", ""), "<nil>"
        try:
            try:
                sealed = await self.service.encrypt(uid, seed)
            except TransformError as error:
                raise TransformError(f"failed to encrypt DEK, error: {error}") from error
            check(sealed)
            if sealed.key_id == key_id:
                cipher = ExtendedGcm(seed)
                self._state = _State(cipher, sealed, _cache_key(sealed, SEED), until)
                self._keep(self._state.cache_key, cipher)
                return ""
        except TransformError as error:
            failed, sealed = str(error), Encrypted(b"", "")
        before = "<nil>" if state else "got unexpected nil transformer"
        old_id = state.encrypted.key_id if state else ""
        expires = _time(state.until) if state else "0001-01-01T00:00:00Z"
        return (
            f"failed to rotate DEK uid={quote(uid)}, useSeed=true, errState={before}, "
            f"errGen={failed}, statusKeyIDHash={quote(digest(key_id))}, "
            f"encryptKeyIDHash={quote(digest(sealed.key_id))}, "
            f"stateKeyIDHash={quote(digest(old_id))}, expirationTimestamp={expires}"
        )

    async def run(self) -> NoReturn:
        """Keep up with the plugin, until cancelled."""
        while True:
            error = await self.healthy()
            if error is not None:
                LOG.error(error, "kms plugin failed health check probe", name=self.name)
            await trio.sleep(POLL_S if error is None else POLL_FAILING_S)


def _time(seconds: float) -> str:
    """A time in RFC 3339."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class First:
    """Values of version 1 of the plugins' API, which this server does not speak."""

    nonce_bytes = 0

    def seal(self, path: bytes, nonce: bytes, size: int) -> Seal:
        """Nothing is written so."""
        del path, nonce, size
        raise TransformError(UNREAD_V1)

    def open(self, data: bytes, path: bytes, refused: UnfetchedKeys) -> Plain:
        """Say why it cannot be read."""
        del data, path, refused
        raise TransformError(UNREAD_V1)


UNREAD_V1: Final = (
    "the value was encrypted with version 1 of the KMS API, which this server does not speak: "
    "have a kube-apiserver with --feature-gates=KMSv1=true write it again with another provider"
)
