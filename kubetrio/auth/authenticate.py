"""Who asks: what a proxy says in headers, client certificate, bearer tokens, else anonymous.

Each method answers with a user, with nothing when the credentials are not of its kind, or says that
they are of its kind and bad; then the next is asked all the same.  Those that have to wait return
what is awaited; nothing waits for the others.

A token comes in the ``Authorization`` header, or among the subprotocols of a WebSocket: browsers
let scripts set nothing else.

Source: docs "Authenticating"; the order of methods is kube-apiserver's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from kubetrio.auth.attempts import Attempts
from kubetrio.auth.tokens import BadProtocol, Found, parse_bearer, protocol_token
from kubetrio.env import monotonic
from kubetrio.machinery.identity import ANONYMOUS, UNUSABLE, UserInfo, authenticated
from kubetrio.machinery.status import ApiError, unauthorized
from kubetrio.machinery.waiting import Walk, run
from kubetrio.observe.series import DEFAULT_BUCKETS, Histogram

BAD_TOKEN = "invalid bearer token"  # noqa: S105  (a message)
KNOWN_HEADERS = 1024
KNOWN_BYTES = 4096  # of one header: blanks count, and a client may send many


class Shown(Protocol):
    """The certificate of a connection's client.

    Attributes:
        common_name: of its subject.
    """

    common_name: str

    def proxy(self) -> bool:
        """Whether it is that of a proxy that may name users in headers, now."""
        ...


class Presented(Protocol):
    """What is seen of a request.

    Attributes:
        certificate: user of a verified client certificate, `UNUSABLE`, or None without one.
        headers: lower-case name to value.
        raw_headers: all of them, in order.
        peer: address of the client.
        annotations: takes what the audit log says, by key.
    """

    certificate: UserInfo | None
    headers: Mapping[bytes, bytes]
    raw_headers: list[tuple[bytes, bytes]]
    peer: str
    annotations: dict[str, str]

    @property
    def shown(self) -> Shown | None:
        """The certificate of the client, None without one."""
        ...

    @property
    def path(self) -> str:
        """The decoded path."""
        ...

    def take_headers(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Have these headers in place of all that were sent."""
        ...

    def warn(self, texts: Iterable[str]) -> None:
        """Add ``Warning`` headers to the answer."""
        ...


def is_websocket(headers: Mapping[bytes, bytes]) -> bool:
    """Whether headers ask for a WebSocket in place of HTTP/1.1."""
    options = map(bytes.strip, headers.get(b"connection", b"").lower().split(b","))
    return headers.get(b"upgrade", b"").lower() == b"websocket" and b"upgrade" in options


class BadCredentials(ValueError):
    """Credentials are of a method's kind and not good; the text is for the log.

    Args:
        why: in one line.
        annotations: what the audit log says of their use, by key.
    """

    def __init__(self, why: str, annotations: Mapping[str, str] | None = None) -> None:
        super().__init__(why)
        self.annotations = annotations or {}


class TokenAuthenticator(Protocol):
    """A method that knows tokens."""

    @property
    def name(self) -> str:
        """What the log calls it."""
        ...

    def authenticate_token(
        self, token: bytes, audiences: tuple[str, ...]
    ) -> Found | Awaitable[Found | None] | None:
        """Whose token it is, None if it is not of this kind.

        Args:
            token: as it was sent; anything.
            audiences: for one of which it must be.

        Raises:
            BadCredentials: it is of this kind and not good.
        """
        ...


class HeaderAuthenticator(Protocol):
    """A method that believes what headers say of the client."""

    def authenticate_request(self, request: Presented) -> UserInfo | None:
        """The user, without ``system:authenticated``; None when the headers name no user.

        Raises:
            BadCredentials: who sent them is not believed.
        """
        ...


class Reviewed(NamedTuple):
    """What came of a token.

    Args:
        found: its user, or None.
        error: why there is none.
        annotations: what the audit log says of it.
        cached: whether a method was asked that remembers answers, and counts itself.
    """

    found: Found | None
    error: str = ""
    annotations: Mapping[str, str] = {}
    cached: bool = False


class Authenticator:
    """The authentication methods of one server.

    Args:
        tokens: methods that know tokens, in order.
        audiences: of this server's API; a token must be for one of them.
        headers: methods that believe headers, in order.
        anonymous: whether requests without credentials get a user.
        anonymous_paths: the only paths for which they do, if there are any.
        tasks: what the methods do beside requests, by name.
        cached: of ``tokens``, those that remember answers.

    Attributes:
        attempts: how often credentials were good or bad.
        hits: tokens that were remembered from an earlier request.
        lookups: times of those that were not.
        unknown: of the latter, those that no method knew.
        tasks: see above.
    """

    def __init__(
        self,
        tokens: Sequence[TokenAuthenticator] = (),
        *,
        audiences: tuple[str, ...] = (),
        headers: Sequence[HeaderAuthenticator] = (),
        anonymous: bool = True,
        anonymous_paths: Collection[str] = (),
        tasks: Mapping[str, Callable[[], Awaitable[object]]] | None = None,
        cached: Collection[TokenAuthenticator] = (),
    ) -> None:
        self._tokens = tuple(tokens)
        self._cached = frozenset(map(id, cached))
        self._audiences = audiences
        self._headers = tuple(headers)
        self._anonymous = anonymous
        self._anonymous_paths = frozenset(anonymous_paths)
        self.tasks = dict(tasks or {})
        self.attempts = Attempts()
        self.hits = 0
        self.lookups = Histogram(DEFAULT_BUCKETS)
        self.unknown = 0
        # Headers whose tokens are good for as long as the server runs, by their bytes.
        self._known: dict[bytes, UserInfo] = {}

    def remembered(self) -> tuple[int, int]:
        """How many headers are remembered, and their bytes."""
        return len(self._known), sum(map(len, self._known))

    def authenticate(self, request: Presented) -> UserInfo | Awaitable[UserInfo]:
        """The user of a request; where a method has to wait, what gives it.

        Args:
            request: with its credentials.

        Raises:
            ApiError: 401, credentials were given and none is good.
        """
        if not self._headers:
            certificate = request.certificate
            if certificate is None:
                user = self._known.get(request.headers.get(b"authorization", b""))
            else:
                user = None if certificate is UNUSABLE else authenticated(certificate)
            if user is not None:
                self.attempts.succeeded(user.name)
                self.hits += certificate is None
                return user
        return run(self._timed(request))

    def _timed(self, request: Presented) -> Walk[UserInfo]:
        """Ask all methods in order, and count how long that takes."""
        begun = monotonic()
        attempts = self.attempts
        try:
            user = yield from self._walk(request)
        except ApiError:
            attempts.refused_in(monotonic() - begun)
            raise
        attempts.succeeded_in(monotonic() - begun)
        return user

    def _walk(self, request: Presented) -> Walk[UserInfo]:
        """Ask all methods in order."""
        given = False
        for method in self._headers:
            try:
                named = method.authenticate_request(request)
            except BadCredentials:
                given = True
                continue
            if named is not None:
                return self._succeeded(named)
        certificate = request.certificate
        if certificate is not None and certificate is not UNUSABLE:
            return self._succeeded(certificate)
        given = given or certificate is UNUSABLE  # a token may still be good
        for token, header in self._sent(request):
            given = True
            begun = monotonic()
            reviewed = yield from self._ask(token, self._audiences)
            if not reviewed.cached:
                self.lookups.observe(monotonic() - begun)
                self.unknown += reviewed.found is None
            if reviewed.annotations:
                request.annotations.update(reviewed.annotations)
            found = reviewed.found
            if found is not None:
                if found.warnings:
                    request.warn(found.warnings)
                user = self._succeeded(found.user)
                if found.lasting and len(self._known) < KNOWN_HEADERS and header:
                    self._known[header] = user
                return user
        if given:
            self.attempts.failed(request.peer)
            raise unauthorized()
        paths = self._anonymous_paths
        if not self._anonymous or (paths and request.path not in paths):
            self.attempts.missing()
            raise unauthorized()
        self.attempts.succeeded(ANONYMOUS.name)
        return ANONYMOUS

    def _succeeded(self, user: UserInfo) -> UserInfo:
        self.attempts.succeeded(user.name)
        return authenticated(user)

    def _sent(self, request: Presented) -> Iterable[tuple[bytes, bytes]]:
        """The tokens of a request, each with the header by which it may be remembered."""
        headers = request.headers
        authorization = headers.get(b"authorization", b"")
        if authorization:
            token, warning = parse_bearer(authorization)
            if warning:
                request.warn([warning])
            if token is not None:
                yield token, authorization if len(authorization) <= KNOWN_BYTES else b""
        if b"sec-websocket-protocol" in headers and is_websocket(headers):
            try:
                token = protocol_token(headers[b"sec-websocket-protocol"])
            except BadProtocol:
                self.attempts.failed(request.peer)
                raise unauthorized() from None
            if token:
                yield token, b""

    def _ask(self, token: bytes, audiences: tuple[str, ...]) -> Walk[Reviewed]:
        """Ask all methods about a token."""
        errors: list[str] = []
        notes: dict[str, str] = {}
        cached = False
        for method in self._tokens:
            cached = cached or id(method) in self._cached
            try:
                answer = method.authenticate_token(token, audiences)
                if answer is not None and not isinstance(answer, Found):
                    answer = yield answer
            except BadCredentials as error:
                errors.append(str(error))
                notes.update(error.annotations)
                continue
            if answer is not None:
                notes.update(answer.annotations)
                return Reviewed(answer, annotations=notes, cached=cached)
        told = dict.fromkeys((BAD_TOKEN, *errors))
        why = f"[{', '.join(told)}]" if errors else BAD_TOKEN
        return Reviewed(None, why, notes, cached)

    def review(self, token: bytes, audiences: tuple[str, ...]) -> Reviewed | Awaitable[Reviewed]:
        """Return the user of a token, for a TokenReview.

        Args:
            token: anything.
            audiences: for one of which it must be.
        """
        return run(self._ask(token, audiences))
