"""The right to create, where a request that was let in for another verb creates an object.

Source: k8s.io/apiserver/pkg/endpoints/handlers/update.go (``withAuthorization``), which wraps the
validation of what PUT and apply create.
"""

from __future__ import annotations

from kubetrio.auth.authorize import forbidden
from kubetrio.machinery.asking import Client
from kubetrio.machinery.identity import WHOLE, Decision
from kubetrio.machinery.status import internal_error


async def check_may_create(client: Client) -> None:
    """Refuse to create for a client that may only update or patch.

    Raises:
        ApiError: 403; 500, the authorizers do not know.
    """
    if client.attributes().verb == "create":
        return
    asked, verdict = await client.verdict(verb="create", narrowing=WHOLE)
    if verdict.decision is Decision.ALLOW:
        return
    if verdict.error:
        raise internal_error(verdict.error)
    raise forbidden(asked, verdict.reason)
