"""The soak draws lists of every kind, and tells what is over its bound."""

import random  # noqa: TID251  (a seed decides what is listed)
from dataclasses import replace

import pytest

from benchmarks import soak
from benchmarks.endpoint import Endpoint
from benchmarks.soak import Interval, Places
from benchmarks.subjects import Running

MIB = 1024 * 1024
CACHES = 32 * MIB
RUN = Running(endpoint=Endpoint(host="127.0.0.1", port=1), pids=(), namespace="bench")
PLACES = Places(token="T0", revision="17")
CALM = Interval(
    ended_s=20.0, lists=10, writes=0, received_mb=1.0, memory_mb=60.0, peak_mb=70.0, caches={}
)
METRICS = """# TYPE kubetrio_cache_bytes gauge
kubetrio_cache_bytes{cache="watch/window"} 4.194304e+06
kubetrio_cache_bytes{cache="store/sqlite/recent"} 12.0
kubetrio_cache_entries{cache="watch/window"} 3.0
"""


def test_every_representation_and_part_is_drawn():
    """Each as a whole request, with nothing left to fill in."""
    rng = random.Random(1)
    ops = [op for _ in range(60) for op in soak.drawn(rng, RUN, PLACES)]
    names = {op.label.partition(" ")[2] for op in ops}
    assert names == {f"{form.name} {part}" for form in soak.FORMS for part in soak.PARTS}
    for op in ops:
        request = op.template % ()
        assert request.startswith("GET /api/v1/namespaces/bench/configmaps")
        assert "%s" not in request
    assert any("Accept-Encoding: gzip" in op.template for op in ops)
    assert any("continue=T0" in op.template for op in ops)
    assert any("resourceVersion=17&resourceVersionMatch=Exact" in op.template for op in ops)


def test_the_seed_decides_what_is_drawn():
    """A soak that fails can be run again."""
    one, again, other = (soak.drawn(random.Random(seed), RUN, PLACES) for seed in (3, 3, 4))
    assert one == again
    assert one != other


def test_fills_are_read_from_metrics():
    """Bytes, and not entries."""
    assert soak.cache_fills(METRICS) == {"watch/window": 4 * MIB, "store/sqlite/recent": 12}


def test_shares_of_caches_leave_room_for_pages_of_the_database():
    """All bounds together are less than what the flag says."""
    assert sum(soak.bounds(CACHES).values()) < CACHES
    assert all(soak.bounds(CACHES).values())


@pytest.mark.parametrize("name", soak.bounds(CACHES))
def test_a_cache_over_its_share_is_told(name):
    """The share itself is allowed."""
    most = soak.bounds(CACHES)[name]
    assert not soak.broken(replace(CALM, caches={name: most}), CACHES, 50.0, 10.0)
    [text] = soak.broken(replace(CALM, caches={name: most + 1}), CACHES, 50.0, 10.0)
    assert text.startswith(f"{name} has ")


def test_memory_over_all_of_them_is_told():
    """It may grow by the caches, the lists under way and the slack, from where it began."""
    most = 50.0 + soak.allowed_mb(CACHES, 10.0)
    assert most > 50.0 + 10.0 + CACHES / 1e6
    assert not soak.broken(replace(CALM, peak_mb=most), CACHES, 50.0, 10.0)
    [text] = soak.broken(replace(CALM, peak_mb=most + 1), CACHES, 50.0, 10.0)
    assert text.startswith("memory ")


def test_a_line_tells_of_an_interval():
    """What was asked, and what the server has."""
    text = str(replace(CALM, caches={"watch/window": 3 * MIB}))
    assert text == (
        "   20 s: 10 lists of 1 MB, 0 writes; memory 60 MB, at most 70;"
        " MiB of caches: watch/window 3.0"
    )
