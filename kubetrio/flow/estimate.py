"""Width of a request: how many seats it is worth, before it runs.

- A read of one object, and anything unknown, is worth one seat.
- A **list** costs memory in proportion to what it reads: one seat for each 100 kB it is expected
  to hold at once.  A list served from the watch cache is streamed and capped at 1 MB; one served
  from storage reads half of all objects at least if it selects.
- A **watch** that begins with existing objects is a list until they are sent.
- A **write** occupies one seat while it runs.  Telling the watchers it wakes is work too, done
  after the response: one seat for 5 ms for every 10 watchers, reshaped to at most 10 seats, or
  what the level allows, for proportionally longer.  Below 10 watchers that is not worth accounting.

Source: KEP-1040, "Width of the request"; numbers as of kube-apiserver 1.36.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kubetrio.flow.seats import ONE_SEAT, Width
from kubetrio.schema.wellknown import SERVICE_ACCOUNTS

INFINITE_OBJECTS = 1_000_000_000
LARGEST_OBJECT_BYTES = 1_500_000

_MUTATING = frozenset({"create", "update", "patch", "delete"})


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatorConfig:
    """Constants of the estimate.

    Args:
        minimum_seats: of any request.
        list_maximum_seats: of a list, whatever the level allows.
        list_maximum_seats_by_count: the same where lists are judged by object count.
        mutating_maximum_seats: final seats of a write.
        objects_per_seat: in the estimate by count.
        bytes_per_seat: in the estimate by size.
        cached_list_max_bytes: most that a list from the watch cache holds at once.
        watches_per_seat: watchers that one seat serves.
        event_duration_s: how long it takes to serve them.
        size_based: judge lists by bytes (feature gate SizeBasedListCostEstimate).
        list_from_cache: consistent lists come from the watch cache (ConsistentListFromCache).
    """

    minimum_seats: int = 1
    list_maximum_seats: int = 100
    list_maximum_seats_by_count: int = 10
    mutating_maximum_seats: int = 10
    objects_per_seat: int = 100
    bytes_per_seat: int = 100_000
    cached_list_max_bytes: int = 1_000_000
    watches_per_seat: int = 10
    event_duration_s: float = 0.005
    size_based: bool = True
    list_from_cache: bool = True


class Unsure(Enum):
    """Why the number of stored objects is not known."""

    UNKNOWN = "no such resource here, or served elsewhere"
    STALE = "not counted for too long"


@dataclass(frozen=True, slots=True)
class Stored:
    """What is stored of a resource.

    Args:
        objects: how many.
        average_bytes: mean size; 0 if not known.
    """

    objects: int
    average_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """The options of a list or watch that bear on its cost.

    Args:
        limit: page size; 0 for all.
        continue_token: from an earlier page.
        resource_version: as sent; empty if not.
        resource_version_match: as sent.
        selective: it has a label or field selector.
        names_one: a field selector on ``metadata.name`` picks one object.
        send_initial_events: as sent; None if not.
        malformed: the options do not parse; the request will be refused later.
    """

    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    selective: bool = False
    names_one: bool = False
    send_initial_events: bool | None = None
    malformed: bool = False


def watch_is_initialised(query: ListQuery) -> bool:
    """Whether a watch begins with the existing objects."""
    return bool(query.send_initial_events) or query.resource_version in ("", "0")


def tells_watchers(resource: str, subresource: str) -> bool:
    """Whether a write to a resource stores something that those who watch it are told of."""
    return (resource, subresource) != (SERVICE_ACCOUNTS, "token")


class Estimator:
    """Turns what is known of a request into its width.

    Args:
        config: the constants.
    """

    __slots__ = ("_config",)

    def __init__(self, config: EstimatorConfig | None = None) -> None:
        self._config = config or EstimatorConfig()

    def reading(
        self, verb: str, query: ListQuery, stored: Stored | Unsure, max_seats: int | None
    ) -> Width:
        """Width of a ``list`` or ``watch``.

        Args:
            verb: ``list`` or ``watch``.
            query: its options.
            stored: what there is to list.
            max_seats: bound of the request's level, None if it has none.
        """
        config = self._config
        if verb == "watch" and not query.malformed and not watch_is_initialised(query):
            return self._initial(config.minimum_seats)
        bound = (
            config.list_maximum_seats if config.size_based else config.list_maximum_seats_by_count
        )
        if max_seats:
            bound = min(bound, max_seats)
        if query.malformed:
            return self._initial(bound)
        if stored is Unsure.UNKNOWN:
            return self._initial(config.minimum_seats)
        if stored is Unsure.STALE:
            stored = Stored(INFINITE_OBJECTS, LARGEST_OBJECT_BYTES)
        assert isinstance(stored, Stored)  # noqa: S101  (an enum's last member, for mypy)
        cached = verb == "watch" or self.served_from_cache(query)
        rule = self._seats_by_size if config.size_based else self._seats_by_count
        seats = rule(query, stored, cached=cached)
        return self._initial(max(config.minimum_seats, min(seats, bound)))

    def writing(self, verb: str, watchers: int, max_seats: int | None) -> Width:
        """Width of any other request; only writes are ever more than one seat.

        Args:
            verb: of the request.
            watchers: open watches that would be told of the write.
            max_seats: bound of the request's level, None if it has none.
        """
        config = self._config
        if verb not in _MUTATING or watchers < config.watches_per_seat:
            return ONE_SEAT
        bound = config.mutating_maximum_seats
        if max_seats:
            bound = min(bound, max_seats)
        seats = -(-watchers // config.watches_per_seat)
        final = min(seats, bound)
        return Width(1, final, seats * config.event_duration_s / final)

    def served_from_cache(self, query: ListQuery) -> bool:
        """Whether a list can be answered from the watch cache alone."""
        match query.resource_version_match:
            case "NotOlderThan":
                return True
            case "":
                if query.continue_token:
                    return False
                if query.resource_version == "":
                    return self._config.list_from_cache
                # A page of an old state, or any state at least as fresh.
                return not (query.limit > 0 and query.resource_version != "0")
            case _:
                return False

    def _initial(self, seats: int) -> Width:
        return ONE_SEAT if seats == 1 else Width(seats)

    def _seats_by_size(self, query: ListQuery, stored: Stored, *, cached: bool) -> int:
        config = self._config
        size = stored.average_bytes
        if size <= 0 < stored.objects:
            size = LARGEST_OBJECT_BYTES
        objects = min(query.limit, stored.objects) if query.limit > 0 else stored.objects
        if query.names_one:
            objects = 1
        elif not cached and query.selective:
            objects = max(objects, stored.objects // 2)
        held = objects * size
        if cached:
            held = min(held, config.cached_list_max_bytes)
        return -(-held // config.bytes_per_seat)

    def _seats_by_count(self, query: ListQuery, stored: Stored, *, cached: bool) -> int:
        page = min(query.limit, stored.objects) if query.limit > 0 else stored.objects
        if query.names_one:
            objects = 1
        elif cached:
            objects = stored.objects
        elif query.selective:
            objects = stored.objects + page
        else:
            objects = 2 * page
        return -(-objects // self._config.objects_per_seat)
