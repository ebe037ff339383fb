"""What writes of apps do beside what their clients say."""

from __future__ import annotations

from kubetrio.gotext.numbers import parse_int
from kubetrio.kinds.apps.annotations import TEMPLATE_GENERATION
from kubetrio.kinds.common.defaulters import ordered
from kubetrio.kinds.common.metadata import copy_member
from kubetrio.schema.rules import Context, Json


def update_deployment(new: Json, old: Json, _: Context, subresource: str) -> None:
    """Labels are not written through the status; other metadata are."""
    if subresource == "status":
        copy_member(new["metadata"], old["metadata"], "labels")


def create_daemon_set(daemons: Json, _: Context) -> None:
    """The template's generation is an annotation since apps/v1."""
    given = (daemons["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION)
    _set_generation(daemons, max(_number(given), 1))


def update_daemon_set(new: Json, old: Json, _: Context, subresource: str) -> None:
    """The template's generation counts its changes; clients do not set it."""
    generation = _number((old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION))
    if not subresource and new["spec"].get("template") != old["spec"].get("template"):
        generation += 1
    _set_generation(new, generation)


def _number(text: str | None) -> int:
    return parse_int(text) if text else 0


def _set_generation(daemons: Json, generation: int) -> None:
    meta = daemons["metadata"]
    annotations = {**(meta.get("annotations") or {}), TEMPLATE_GENERATION: str(generation)}
    meta["annotations"] = {key: annotations[key] for key in sorted(annotations)}
    daemons["metadata"] = ordered("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", meta)
