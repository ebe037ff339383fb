"""The stages of the pipeline in their order, and which of them a server has.

They are functions of `pipeline`; a stage that a server has no use for is left out when the server
is put together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from kubetrio.api.api import Api, Named, Shortage, Stage
from kubetrio.api.pipeline import (
    admit_and_store,
    audit,
    authenticate,
    authorize,
    decode,
    flow_control,
    identify,
    impersonate,
    parse,
)
from kubetrio.api.request import Request
from kubetrio.api.response import Answer
from kubetrio.api.subresources.verbs import verbs_of
from kubetrio.machinery.identity import MASTERS
from kubetrio.machinery.status import too_many_requests

SHORT_OF_MEMORY = "the server is over its memory limit, please try again later"
SHORT_RETRY_S = 1


def spare_memory(memory: Shortage, request: Request) -> Answer:
    """Refuse what takes memory while there is none to spare.

    Raises:
        ApiError: 429.
    """
    if memory.short and _takes_memory(request):
        raise too_many_requests(SHORT_OF_MEMORY, SHORT_RETRY_S)
    return None


def _takes_memory(request: Request) -> bool:
    """Whether a request waits for better times: deletions and administrators do not."""
    info = request.info
    deletes = info.verb in ("delete", "deletecollection")
    return info.is_resource and not deletes and MASTERS not in request.user.groups


def _spare_memory(api: Api) -> Stage | None:
    memory = api.edge.memory
    return None if memory is None else partial(spare_memory, memory)


def _audit(api: Api) -> Stage:
    return partial(identify if api.edge.auditor is None else audit, api.edge)


class StageRow(NamedTuple):
    """A stage.

    Args:
        name: of the stage.
        make: binds it to the parts of a server that it works with; None where the server has none.
    """

    name: str
    make: Callable[[Api], Stage | None]


STAGES: tuple[StageRow, ...] = (
    StageRow("parse", lambda _: parse),
    StageRow("authenticate", lambda api: partial(authenticate, api.security)),
    StageRow("audit", _audit),
    StageRow("impersonate", lambda api: partial(impersonate, api.security)),
    StageRow("spare_memory", _spare_memory),
    StageRow("flow_control", lambda api: partial(flow_control, api.edge, api.storage.registry)),
    StageRow("authorize", lambda api: partial(authorize, api.security, api.edge)),
    StageRow("decode", lambda api: partial(decode, api.edge, api.storage.registry)),
    StageRow("admit_and_store", lambda api: partial(admit_and_store, api.edge, verbs_of(api))),
)


def stages_of(api: Api) -> Named:
    """Return the stages that a server has, by name and in order.

    Args:
        api: its parts.
    """
    made = ((row.name, row.make(api)) for row in STAGES)
    return tuple((name, stage) for name, stage in made if stage is not None)
