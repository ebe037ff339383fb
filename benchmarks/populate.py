"""Fills a data directory with objects through the store package, without a server.

A million objects through the API take an hour of fsyncs and requests.  The seam to the project is
`open_store`; everything else is the `Store` protocol.  Keys and bytes are not known here either:
one object is created through the API first, and this module copies it, so that what it writes is
what the server itself would have written.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from benchmarks.clock import perf_counter
from benchmarks.errors import BenchError
from benchmarks.requests import NAME

if TYPE_CHECKING:
    from kubetrio.store.model import KeyValue, Store

WRITERS = 256  # how many creates wait at once; the store commits them together
EVERYTHING = ("\x01", "\U0010ffff")


@contextlib.asynccontextmanager
async def open_store(data_dir: Path) -> AsyncIterator[Store]:
    """The store of a data directory: the one place to adapt when the store's constructor changes.

    Args:
        data_dir: what the server gets as `--data-dir`.
    """
    from kubetrio.env import Env
    from kubetrio.store.sqlite.opening import open_store as opened
    from kubetrio.store.sqlite.settings import StoreConfig

    config = StoreConfig(durability="normal", compact_interval_s=86_400)
    async with opened(data_dir, config, Env()) as store:
        yield store


def populate(data_dir: Path, n: int) -> None:
    """Copy object number 0 until the store holds numbers 0 to n - 1.

    Args:
        data_dir: data directory of a stopped server that has object number 0.
        n: objects wanted.

    Raises:
        BenchError: object number 0 is not there.
    """
    trio.run(_populate, data_dir, n)


async def _populate(data_dir: Path, n: int) -> None:
    from kubetrio.store.model import Range, Stamped

    async with open_store(data_dir) as store:
        found = await store.range(Range(*EVERYTHING))
        pattern = next((item for item in found.items if item.key.endswith(NAME % 0)), None)
        if pattern is None:
            raise BenchError(f"no object {NAME % 0} in {data_dir}")
        numbers = iter(range(1, n))
        progress = Progress(n)

        async def write() -> None:
            for number in numbers:
                key, before, after = numbered(pattern, number)
                await store.create(key, Stamped(before, after))
                progress.step(number)

        async with trio.open_nursery() as nursery:
            for _ in range(WRITERS):
                nursery.start_soon(write)
        progress.end()


def numbered(pattern: KeyValue, number: int) -> tuple[str, bytes, bytes]:
    """Key and bytes around the revision of a copy: another name, another uid.

    Raises:
        BenchError: the bytes do not say their revision as an API object does.
    """
    name, copy = NAME % 0, NAME % number
    mark = b'"resourceVersion":"'
    before, found, rest = pattern.value.partition(mark)
    digits = b"%d" % pattern.revision
    if not found or not rest.startswith(digits + b'"'):
        raise BenchError(f"no revision in {pattern.value[:300]!r}")
    before, after = before + found, rest[len(digits) :]

    def rename(piece: bytes) -> bytes:
        piece = piece.replace(name.encode(), copy.encode())
        at = piece.find(b'"uid":"')
        if at < 0:
            return piece
        return piece[: at + 7] + b"%08x" % number + piece[at + 15 :]

    return pattern.key.removesuffix(name) + copy, rename(before), rename(after)


class Progress:
    """A bar on stderr, redrawn about twice a second.

    Args:
        total: how many steps there will be.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._begin = self._shown = perf_counter()

    def step(self, done: int) -> None:
        """Say how many are done."""
        if done % 256 or perf_counter() < self._shown + 0.5:
            return
        self._shown = perf_counter()
        rate = done / (self._shown - self._begin)
        filled = "#" * (30 * done // self._total)
        sys.stderr.write(
            f"\r  populate [{filled:<30}] {done:,}/{self._total:,} {rate:,.0f}/s"
            f" {(self._total - done) / rate:,.0f} s left \x1b[K"
        )
        sys.stderr.flush()

    def end(self) -> None:
        """Wipe the bar."""
        sys.stderr.write(
            f"\r  populated {self._total:,} in {perf_counter() - self._begin:,.1f} s\x1b[K\n"
        )
