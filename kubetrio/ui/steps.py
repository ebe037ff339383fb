"""Steps that were done with a server, as the page *Script* shows them; they are made elsewhere.

===================  ==================================
``/ui/steps``        all of them, a line for each
``/ui/steps/N``      all there is to tell of the Nth
===================  ==================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubetrio.api.response import JSON, Response, page_not_found
from kubetrio.ui.assets import STANDING


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps, as JSON.

    Args:
        count: how many there are.
        listed: a document with a line for each.
        details: a document of each, in order.
    """

    count: int
    listed: bytes
    details: Sequence[bytes]

    def answer(self, path: str) -> Response:
        """Answer a request for a path.

        Args:
            path: behind ``/ui/steps``.
        """
        if not path:
            return Response(200, self.listed, JSON, STANDING)
        number = path.removeprefix("/")
        if not (number.isascii() and number.isdigit() and len(number) < 10):
            return page_not_found()
        if not 0 < int(number) <= self.count:
            return page_not_found()
        return Response(200, self.details[int(number) - 1], JSON, STANDING)
