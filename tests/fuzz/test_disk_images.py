"""What a disk may hold after power was lost."""

from __future__ import annotations

from fuzz.disk_images import KEPT, LAST, LOST, SOME, TORN, Platter
from fuzz.disk_ops import Kind, Op
from kubetrio.env import seeded

NAME = "kubetrio.db"
BASE = {NAME: b"a" * 2048}


def write(data: bytes, at: int = 0) -> Op:
    return Op(Kind.WRITE, NAME, at, data)


def images(*ops: Op, way: str) -> set[bytes | None]:
    """Bytes that the file may have, over many draws."""
    platter = Platter(BASE)
    for op in ops:
        platter.apply(op)
    return {platter.image(way, seeded(number).rng).get(NAME) for number in range(50)}


def test_what_was_not_synced_may_be_lost_or_not() -> None:
    """Each write for itself, the later one without the earlier one too."""
    ops = (write(b"b"), write(b"c", 1))
    assert images(*ops, way=LOST) == {b"a" * 2048}
    assert images(*ops, way=KEPT) == {b"bc" + b"a" * 2046}
    assert images(*ops, way=LAST) == {b"ac" + b"a" * 2046}
    assert {(image or b"")[:2] for image in images(*ops, way=SOME)} == {b"aa", b"ba", b"ac", b"bc"}


def test_what_was_synced_is_there() -> None:
    """And only what was written before the sync."""
    assert images(write(b"b"), Op(Kind.SYNC, NAME), write(b"c"), way=LOST) == {b"b" + b"a" * 2047}


def test_a_write_may_be_torn_at_a_sector() -> None:
    """The first sectors of it, or the last ones."""
    found = images(write(b"b" * 1024), way=TORN)
    first, last = b"b" * 512 + b"a" * 1536, b"a" * 512 + b"b" * 512 + b"a" * 1024
    assert found == {first, last}


def test_what_a_failed_sync_left_out_may_be_lost_behind_one_that_succeeds() -> None:
    """What was written later is there all the same, and above it."""
    ops = (
        write(b"bb"),
        Op(Kind.FAILED_SYNC, NAME),
        write(b"c"),
        Op(Kind.SYNC, NAME),
    )
    assert images(*ops, way=LOST) == {b"c" + b"a" * 2047}
    assert images(*ops, way=KEPT) == {b"cb" + b"a" * 2046}


def test_a_name_needs_a_sync_of_its_directory() -> None:
    """A file that was synced may be gone with its name."""
    platter = Platter({})
    made = (Op(Kind.CREATE, NAME), write(b"b"), Op(Kind.SYNC, NAME))
    for op in made:
        platter.apply(op)
    assert platter.image(LOST, seeded(1).rng) == {}
    assert platter.image(KEPT, seeded(1).rng) == {NAME: b"b"}
    platter.apply(Op(Kind.SYNC_DIRECTORY, ""))
    assert platter.image(LOST, seeded(1).rng) == {NAME: b"b"}
    platter.apply(Op(Kind.RENAME, NAME, data=b"other"))
    assert platter.image(LOST, seeded(1).rng) == {NAME: b"b"}
    assert platter.image(KEPT, seeded(1).rng) == {"other": b"b"}


def test_files_become_shorter_and_longer() -> None:
    """By a truncation that is lost or not."""
    assert images(Op(Kind.TRUNCATE, NAME, 1), way=KEPT) == {b"a"}
    assert images(Op(Kind.ALLOCATE, NAME, 2050), way=KEPT) == {b"a" * 2048 + b"\0\0"}
    assert images(Op(Kind.TRUNCATE, NAME, 1), way=LOST) == {b"a" * 2048}
