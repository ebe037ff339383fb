"""The pages below ``/ui/``, loaded when a browser first asks for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, Response
from kubetrio.machinery.identity import Attributes, Verdict
from kubetrio.server.base import Base

if TYPE_CHECKING:
    from kubetrio.ui.site import Site

STANDARD_OUTPUT = "-"  # of --audit-log-path


class UiPages:
    """The pages of one server.

    Args:
        base: what they show.
        authorize: who may see it.
    """

    def __init__(
        self, base: Base, authorize: Callable[[Attributes], Verdict | Awaitable[Verdict]]
    ) -> None:
        self._base = base
        self._authorize = authorize
        self._site: Site | None = None
        self._sign_in: Callable[[Request], Response] | None = None

    async def answer(self, request: Request) -> AnyResponse:
        """Answer a request for a path below ``/ui/``, which its user may make.

        Raises:
            ApiError: see `kubetrio.ui.site.Site.answer`.
        """
        if self._site is None:
            self._site = await self._base.env.run_blocking(self._make)
        return await self._site.answer(request)

    def sign_in(self, request: Request) -> Response:
        """Return the page in which a token is typed."""
        if self._sign_in is None:
            from kubetrio.ui.assets import sign_in_page

            self._sign_in = sign_in_page().answer
        return self._sign_in(request)

    def _make(self) -> Site:
        from kubetrio.ui.assets import load
        from kubetrio.ui.history import History
        from kubetrio.ui.site import Site

        base = self._base
        path = base.config.audit.log_path
        audit_log = None
        if path not in ("", STANDARD_OUTPUT) and base.config.audit.log_format == "json":
            audit_log = Path(path)
        kept = base.parts.kept
        if kept is not None:
            audit_log = kept.audit_log
        storage = base.storage
        history = History(
            storage.store, storage.registry, self._authorize, base.env.run_blocking, audit_log,
            newest=None if kept is None else kept.revision,
        )  # fmt: skip
        return Site(
            assets=load(),
            history=history,
            hour=base.metrics.hour,
            now=base.env.now,
            name=base.config.name,
            kept="" if kept is None else kept.words,
            steps=None if kept is None else kept.steps,
        )
