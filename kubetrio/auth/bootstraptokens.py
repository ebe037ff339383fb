"""Bootstrap tokens: Secrets in ``kube-system`` that let new nodes ask for a certificate.

Source: docs "Authenticating with Bootstrap Tokens".
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Mapping
from hmac import compare_digest

from kubetrio.auth.authenticate import BadCredentials
from kubetrio.auth.boundobjects import Seen
from kubetrio.auth.tokens import Found
from kubetrio.env import Env
from kubetrio.informers.remembered import Remembered
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.timestamps import parse_time
from kubetrio.machinery.waiting import Walk, run
from kubetrio.schema.registry import LiveRegistry
from kubetrio.schema.wellknown import SECRETS
from kubetrio.store.errors import StoreError

NAMESPACE = "kube-system"
SECRET_PREFIX = "bootstrap-token-"  # noqa: S105  (of names)
USER_PREFIX = "system:bootstrap:"
GROUP = "system:bootstrappers"
_TOKEN = re.compile(rb"([a-z0-9]{6})\.([a-z0-9]{16})")
_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")


def groups_of(data: Mapping[str, bytes]) -> tuple[str, ...] | None:
    """The groups of a bootstrap token, None where one may not be given.

    Args:
        data: of its Secret.
    """
    more = data.get("auth-extra-groups", b"").decode(errors="replace")
    named = more.split(",") if more else []
    if not all(map(_GROUP.fullmatch, named)):
        return None
    return tuple(sorted({GROUP, *named}))


def expiry_of(data: Mapping[str, bytes]) -> float | None:
    """When a bootstrap token ends, seconds since the epoch; None for never.

    Args:
        data: of its Secret.

    Raises:
        ValueError: the time cannot be read.
    """
    text = data.get("expiration", b"")
    return parse_time(text.decode()) if text else None


class BootstrapTokens:
    """Knows bootstrap tokens.

    Args:
        objects: what is known of objects, by their storage key.
        registry: knows storage keys.
        env: the clock.
        audiences: of this server's API, for which they all are.
    """

    name = "bootstrap tokens"

    def __init__(
        self,
        objects: Remembered[Seen],
        registry: LiveRegistry,
        env: Env,
        audiences: tuple[str, ...],
    ) -> None:
        self._objects = objects
        self._registry = registry
        self._env = env
        self._audiences = audiences

    def authenticate_token(
        self, token: bytes, audiences: tuple[str, ...]
    ) -> Found | Awaitable[Found | None] | None:
        """Whose token it is; see `TokenAuthenticator`.

        Args:
            token: as it was sent.
            audiences: for one of which it must be.
        """
        match = _TOKEN.fullmatch(token)
        common = tuple(one for one in audiences if one in self._audiences)
        if match is None or not common:
            return None
        return run(self._judge(match[1], match[2], common))

    def _judge(self, token_id: bytes, secret: bytes, common: tuple[str, ...]) -> Walk[Found | None]:
        name = token_id.decode()
        key = self._registry.resources["", "v1", SECRETS].key(NAMESPACE, SECRET_PREFIX + name)
        item = self._objects.known(key)
        if item is None:
            try:
                item = yield self._objects.get(key)
            except StoreError as error:
                raise BadCredentials(str(error)) from None
        if item is None or item.deleted is not None:
            return None
        data = item.bootstrap
        fits = compare_digest(data.get("token-secret", b""), secret)
        if not fits or data.get("token-id") != token_id:
            return None
        try:
            expires = expiry_of(data)
        except ValueError:
            return None
        if expires is not None and expires <= self._env.now():
            return None
        groups = groups_of(data)
        if data.get("usage-bootstrap-authentication") != b"true" or groups is None:
            return None
        return Found(UserInfo(USER_PREFIX + name, groups=groups), common, expires)
