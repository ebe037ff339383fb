"""Selectors of watches are shared, and long ones are counted against their user."""

import gc

import pytest

from kubetrio.api import longselectors, options
from kubetrio.api.longselectors import LongSelectors
from kubetrio.api.request import Request, parse_query, resolve
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.status import ApiError
from kubetrio.resources.watching import WatchOptions

CONFIG_MAPS = registry().resources["", "v1", "configmaps"]
PATH = "/api/v1/configmaps"
ALICE, BOB = UserInfo("alice"), UserInfo("bob")


def watch(selectors: LongSelectors, user: UserInfo, text: str) -> WatchOptions:
    request = Request("GET", PATH, f"watch=1&labelSelector={text}", {}, [])
    request.user = user
    request.query = parse_query(request.raw_query)
    request.info = resolve("GET", PATH, request.query)
    chosen = options.watch_options(request, CONFIG_MAPS, "", 60)
    return selectors.share(request, CONFIG_MAPS, chosen)


def long_text(number: int, chars: int = 40_000) -> str:
    return f"!k{number}," + ",".join(["!a" + "b" * 60] * (chars // 63))


def test_equal_selectors_are_one_value() -> None:
    selectors = LongSelectors()
    first, second = watch(selectors, ALICE, "a=b"), watch(selectors, BOB, "a=b")
    other = watch(selectors, ALICE, "a=c")
    assert first.selection is second.selection is not other.selection


def test_a_user_may_have_so_much_of_long_ones() -> None:
    selectors = LongSelectors()
    kept = [watch(selectors, ALICE, long_text(n)) for n in range(3)]
    kept += [watch(selectors, ALICE, long_text(0)) for _ in range(100)]  # known already
    assert selectors.charged().keys() == {"alice"}
    with pytest.raises(ApiError) as refused:
        watch(selectors, ALICE, long_text(3))
    assert (refused.value.code, refused.value.retry_after) == (429, 1)
    kept.append(watch(selectors, ALICE, "a=b"))  # short
    kept.append(watch(selectors, BOB, long_text(3)))  # another user
    assert sum(selectors.charged().values()) <= longselectors.ALL_CHARS
    kept.clear()
    gc.collect()
    assert selectors.charged() == {}
    watch(selectors, ALICE, long_text(3))


def test_all_users_together_may_have_so_much() -> None:
    selectors = LongSelectors()
    kept = []
    refused = []
    for number in range(100):
        try:
            kept.append(watch(selectors, UserInfo(f"user-{number}"), long_text(number)))
        except ApiError as error:
            refused.append(error.code)
    assert set(refused) == {429}
    assert sum(selectors.charged().values()) <= longselectors.ALL_CHARS
