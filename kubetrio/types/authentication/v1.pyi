"""Types of authentication/v1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import ObjectMeta

class BoundObjectReference(TypedDict):
    """The object that a token is bound to; the token is good for as long as it exists."""

    apiVersion: NotRequired[str]
    kind: NotRequired[str]
    name: NotRequired[str]
    uid: NotRequired[str]

class SelfSubjectReview(TypedDict):
    """Tells who the server takes you for."""

    apiVersion: Literal["authentication.k8s.io/v1"]
    kind: Literal["SelfSubjectReview"]
    metadata: NotRequired[ObjectMeta]
    status: NotRequired[SelfSubjectReviewStatus]

class SelfSubjectReviewStatus(TypedDict):
    """Who the server takes you for."""

    userInfo: NotRequired[UserInfo]

class TokenRequest(TypedDict):
    """Asks for a token of a ServiceAccount."""

    apiVersion: Literal["authentication.k8s.io/v1"]
    kind: Literal["TokenRequest"]
    metadata: NotRequired[ObjectMeta]
    spec: NotRequired[TokenRequestSpec]
    status: NotRequired[TokenRequestStatus]

class TokenRequestSpec(TypedDict):
    """Describes the token to issue."""

    audiences: NotRequired[list[str]]
    boundObjectRef: NotRequired[BoundObjectReference]
    expirationSeconds: NotRequired[int]

class TokenRequestStatus(TypedDict):
    """The token that was issued."""

    expirationTimestamp: NotRequired[str]
    token: NotRequired[str]

class TokenReview(TypedDict):
    """Asks whether a token is good, and whose it is."""

    apiVersion: Literal["authentication.k8s.io/v1"]
    kind: Literal["TokenReview"]
    metadata: NotRequired[ObjectMeta]
    spec: TokenReviewSpec
    status: NotRequired[TokenReviewStatus]

class TokenReviewSpec(TypedDict):
    """Describes the token to check."""

    audiences: NotRequired[list[str]]
    token: str

class TokenReviewStatus(TypedDict):
    """What was found out about a token."""

    audiences: NotRequired[list[str]]
    authenticated: NotRequired[bool]
    error: NotRequired[str]
    user: NotRequired[UserInfo]

class UserInfo(TypedDict):
    """A user, as authentication knows it."""

    extra: NotRequired[dict[str, list[str]]]
    groups: NotRequired[list[str]]
    uid: NotRequired[str]
    username: NotRequired[str]
