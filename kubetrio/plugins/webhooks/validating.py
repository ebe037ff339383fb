"""ValidatingAdmissionWebhook: all webhooks that are concerned are asked at once.

Source: docs "Dynamic Admission Control".
"""

from __future__ import annotations

from typing import Any

import trio

from kubetrio.admission.attributes import Attributes
from kubetrio.machinery.status import ApiError, internal_error
from kubetrio.plugins.dynamic.objects import shown
from kubetrio.plugins.webhooks.asking import Asker, Call

Object = dict[str, Any]


class ValidatingWebhooks:
    """The webhooks of one server.

    Args:
        asker: asks them.
    """

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def validate(self, attributes: Attributes) -> None:
        """Refuse what a webhook refuses; of several, what the first says that answers.

        Raises:
            ApiError: the refusal; 500, a webhook cannot be asked.
        """
        calls: list[Call] = []
        for hook in await self._asker.source.hooks():
            matched = await self._asker.concerned(hook, attributes)
            if matched is not None:
                calls.append(Call(hook=hook, matched=matched, place=len(calls)))
        refusals: list[ApiError] = []
        if len(calls) == 1:
            await self._ask(calls[0], attributes, refusals)
        elif calls:
            async with trio.open_nursery() as nursery:
                for call in calls:
                    nursery.start_soon(self._ask, call, attributes, refusals)
        if refusals:
            raise refusals[0]

    async def _ask(self, call: Call, attributes: Attributes, refusals: list[ApiError]) -> None:
        try:
            obj = await shown(attributes.obj, attributes, call.matched)
            await self._asker.ask(call, attributes, obj)
        except ValueError as error:
            refusals.append(internal_error(str(error)))
        except ApiError as error:
            refusals.append(error)
