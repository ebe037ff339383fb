"""What kubetrio's rulebook costs for a new object: CPU time without HTTP, admission and the store.

`python -m benchmarks.rulebook`: a spec as JSON in, CPU time out.  The stages are the functions that
a create walks through, in its order, called on many objects of one shape; the last stage is a dry
run of the recipe of a create on an empty store, so that it holds what the server does and not what
this module thinks it does.  Parsing and printing are in it too: the yardstick is what the standard
library needs for those alone.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import statistics
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from benchmarks import tools
from benchmarks.clock import process_time
from benchmarks.errors import BenchError
from kubetrio.kinds.builtin import registry

ROUNDS = 5
WARM_UP = 50
NAMESPACE = "bench"
NOW = "2026-01-01T00:00:00Z"

Object = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RulebookSpec:
    """What to create.

    Args:
        group: API group.
        version: API version.
        resource: plural name.
        content: the object as JSON with formats for its number and a serial.
        count: objects in a round.
    """

    group: str
    version: str
    resource: str
    content: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RulebookResult:
    """CPU time by object, in milliseconds.

    Args:
        ms: all stages.
        json_ms: `json.loads` and `json.dumps` of the same bytes.
        stages: by name, in order.
    """

    ms: float
    json_ms: float
    stages: dict[str, float]


def run(spec: RulebookSpec) -> RulebookResult:
    """Measure in a process of its own.

    Raises:
        BenchError: the object was refused.
    """
    return RulebookResult(**tools.run("rulebook", dataclasses.asdict(spec)))


Stage = Callable[[Any], Any]


def stages(spec: RulebookSpec) -> dict[str, Stage]:
    """The stages of a create, each taking what the one before it gave.

    Raises:
        BenchError: there is no such resource.
    """
    from kubetrio.admission.chain import Chain
    from kubetrio.api import bodies
    from kubetrio.env import Env
    from kubetrio.machinery.identity import UserInfo
    from kubetrio.resources import recipe
    from kubetrio.resources.deciding import mutate, tidy
    from kubetrio.resources.fieldmanager import FieldManager
    from kubetrio.resources.opening import place
    from kubetrio.resources.write import Write, WriteParts
    from kubetrio.resources.writes import Target, WriteOptions
    from kubetrio.schema.registry import LiveRegistry
    from kubetrio.testing.store_model import MemoryStore

    resource = registry().get(spec.group, spec.version, spec.resource)
    if resource is None:
        raise BenchError(f"no resource {spec.resource}")
    parts = WriteParts(
        store=MemoryStore(),
        registry=LiveRegistry(registry()),
        admission=Chain([]),
        env=Env(),
        allocators={},
        allow_privileged=False,
        times_to_live={},
    )
    admitted = (place, mutate, tidy)
    target = Target(resource=resource, namespace=NAMESPACE)
    options = WriteOptions(user=UserInfo("bench"), dry_run=True, field_manager="bench")

    def decode(body: bytes) -> Object:
        return bodies.decode_object(body, resource.group_version_kind, "json").value

    def default(obj: Object) -> Object:
        resource.rules.default(obj)
        return obj

    def own(obj: Object) -> Object:
        FieldManager(resource, "bench", NOW).created(obj)
        return obj

    def write(obj: Object) -> bytes:
        writing = Write(parts, target, options, resource.to_stored(obj))
        creating = recipe.create(writing, admitted)
        value: bytes = at_once(creating).value
        return value

    return {"decode": decode, "defaults": default, "managedFields": own, "dry run": write}


def at_once(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that has nothing to wait for.

    Raises:
        BenchError: it waits.
    """
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise BenchError("the store in memory made a write wait")


def measure(spec: RulebookSpec) -> RulebookResult:
    """Rounds of all stages; the median of each.

    Raises:
        BenchError: there is no such resource, or its rules refuse the object.
    """
    from kubetrio.machinery.status import ApiError

    walk = stages(spec)
    bodies = [(spec.content % (number, number)).encode() for number in range(spec.count)]
    try:
        _round(walk, bodies[:WARM_UP])
    except ApiError as error:
        raise BenchError(f"refused: {error}") from error
    # As the server does once it is up (`kubetrio.cli`).
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    rounds = [_round(walk, bodies) for _ in range(ROUNDS)]
    plain = [_timed(lambda body: json.dumps(json.loads(body)), bodies)[0] for _ in range(ROUNDS)]
    by_stage = {name: statistics.median(taken[name] for taken in rounds) for name in walk}
    return RulebookResult(
        ms=statistics.median(sum(taken.values()) for taken in rounds),
        json_ms=statistics.median(plain),
        stages=by_stage,
    )


def _round(walk: dict[str, Stage], bodies: list[bytes]) -> dict[str, float]:
    """Milliseconds of CPU by object and stage."""
    taken = {}
    values: list[Any] = bodies
    for name, stage in walk.items():
        taken[name], values = _timed(stage, values)
    return taken


def _timed(stage: Stage, values: list[Any]) -> tuple[float, list[Any]]:
    begin = process_time()
    made = [stage(value) for value in values]
    return (process_time() - begin) * 1e3 / len(values), made


def main() -> None:
    """Read a spec, print a result."""
    try:
        tools.report(dataclasses.asdict(measure(RulebookSpec(**tools.spec()))))
    except (BenchError, OSError) as error:
        tools.report({"error": str(error)})


if __name__ == "__main__":
    main()
