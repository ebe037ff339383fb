"""What is served below ``/ui/``.

=======================  =======================================================================
``/ui/``                 the page
``/ui/NAME``             a file of it
``/ui/about``            what the page is told of the server
``/ui/lasthour``         numbers of the last hour
``/ui/history/...``      what happened to objects (`history`)
``/ui/moment``           revisions by the clock (`moments`)
``/ui/refused``          what the user may not list (`rights`)
``/ui/steps...``         steps of a script (`steps`), where a script is shown
=======================  =======================================================================

All else goes over the Kubernetes API, so that authorization, audit and flow control hold for the
page as for other clients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kubetrio import __version__
from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, Response, json_response, page_not_found
from kubetrio.machinery.status import method_not_allowed
from kubetrio.observe.lasthour import LastHour, Sample
from kubetrio.release import KUBERNETES_VERSION
from kubetrio.ui.assets import DOCUMENT, STANDING, Asset
from kubetrio.ui.history import History
from kubetrio.ui.steps import Steps

ROOT = "/ui/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The pages of one server.

    Args:
        assets: files by name.
        history: what happened to objects.
        hour: numbers of the last hour.
        now: wall clock, seconds since the epoch.
        name: of the cluster.
        kept: of what the page shows, when it was; empty for a server that goes on.
        steps: of a script that is shown; None where none is.
    """

    assets: dict[str, Asset]
    history: History
    hour: LastHour
    now: Callable[[], float]
    name: str
    kept: str = ""
    steps: Steps | None = None

    async def answer(self, request: Request) -> AnyResponse:
        """Answer a request for a path below `ROOT`, which its user may make.

        Raises:
            ApiError: 403, 404, 405 or 410.
        """
        if request.method not in ("GET", "HEAD"):
            raise method_not_allowed()
        if request.info.path == ROOT.rstrip("/"):
            return Response(301, b"", b"", ((b"Location", ROOT.encode()), *STANDING))
        name = request.info.path.removeprefix(ROOT)
        asset = self.assets.get(name or DOCUMENT)
        if asset is not None:
            return asset.answer(request)
        match name.partition("/")[0]:
            case "about":
                return json_response(self._about(request), headers=STANDING)
            case "lasthour":
                return json_response(self._last_hour(), headers=STANDING)
            case "history":
                told = await self.history.answer(request, name.removeprefix("history").strip("/"))
                return json_response(told, headers=STANDING)
            case "moment":
                told = await self.history.moment(request)
                return json_response(told, headers=STANDING)
            case "refused":
                return json_response(await self.history.refused(request), headers=STANDING)
            case "steps" if self.steps is not None:
                return self.steps.answer(name.removeprefix("steps"))
        return page_not_found()

    def _about(self, request: Request) -> dict[str, object]:
        return {
            "cluster": self.name,
            "user": request.user.name,
            "groups": list(request.user.groups),
            "version": __version__,
            "kubernetes": KUBERNETES_VERSION,
            "time": self.now(),
            "kept": self.kept,
            "at": self.history.newest or 0,
            "users": self.history.names_users,
            "steps": 0 if self.steps is None else self.steps.count,
        }

    def _last_hour(self) -> dict[str, object]:
        """Return the numbers as columns, which are half the size of rows with names."""
        samples = self.hour.samples()
        columns = zip(*samples, strict=True) if samples else ((),) * len(Sample._fields)
        return dict(zip(Sample._fields, map(list, columns), strict=True))
