"""Every SQL statement, named.

Tables
    revision   the log and the truth: one row a revision, value included.
    current    key -> newest revision, live keys only; ordered by key for lists.
    history    superseded revisions of keys: alive from `rev` up to, not including, `until`.
    lease      revisions whose value has a time to live: when it is over, and where in the value the
               revision stands.  One that is not its key's newest any more means nothing.
    meta       compacted revision, whether the last stop was clean; from which revision on the wall
               clock was how far ahead of the clock that revisions have; and the releases that have
               opened the file.
    migration  schema version, and when each of them came.

Columns `checksum`: see `store.sqlite.checksums`; nothing in rows of schema versions before 3.

State at revision R of a range is `current` rows with rev <= R, and `history` rows with
rev <= R < until.  A creation touches two trees, an update or deletion three.  Compaction walks
the log: the row that revision r replaced (`prev_rev`) is dead once r is compacted, and so is r
itself when it was a deletion and something newer is compacted too.

Worked example: create a (1), create b (2), update a (3), delete b (4).
    revision   1 a created | 2 b created | 3 a updated prev 1 | 4 b deleted prev 2
    current    a -> 3
    history    a 1..3 | b 2..4
    state at 2 a@1 (history), b@2 (history);  state at 4: a@3.
    compact(4) drops rows 1 (replaced by 3) and 2 (replaced by 4), and history.
"""

from __future__ import annotations

import re
from typing import NamedTuple

APPLICATION_ID = 0x6B747269  # "ktri", in the database header (sqlite.org/pragma.html)
SCHEMA_VERSION = 3
CHECKSUMS_SINCE = 3  # schema version

MIGRATIONS: dict[int, tuple[str, ...]] = {
    1: (
        """CREATE TABLE revision (
            rev INTEGER PRIMARY KEY,
            key TEXT NOT NULL,
            type INTEGER NOT NULL,
            create_rev INTEGER NOT NULL,
            prev_rev INTEGER,
            at INTEGER NOT NULL,
            value BLOB NOT NULL
        ) STRICT""",
        """CREATE TABLE current (
            key TEXT PRIMARY KEY,
            rev INTEGER NOT NULL,
            size INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID""",
        """CREATE TABLE history (
            key TEXT NOT NULL,
            rev INTEGER NOT NULL,
            until INTEGER NOT NULL,
            size INTEGER NOT NULL,
            PRIMARY KEY (key, rev)
        ) STRICT, WITHOUT ROWID""",
    ),
    2: (
        """CREATE TABLE lease (
            at INTEGER NOT NULL,
            rev INTEGER NOT NULL,
            hole INTEGER NOT NULL,
            PRIMARY KEY (at, rev)
        ) STRICT, WITHOUT ROWID""",
    ),
    3: tuple(
        f"ALTER TABLE {table} ADD COLUMN checksum INTEGER"
        for table in ("revision", "current", "history")
    ),
}
CREATE_BOOKKEEPING = (
    """CREATE TABLE meta (
        name TEXT PRIMARY KEY,
        value INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE migration (
        version INTEGER PRIMARY KEY,
        at INTEGER NOT NULL
    ) STRICT""",
)
RECORD_MIGRATION = "INSERT INTO migration (version, at) VALUES (?, ?)"
SCHEMA_VERSION_FOUND = "SELECT coalesce(max(version), 0) FROM migration"
GET_META = "SELECT value FROM meta WHERE name = ?"
SET_META = "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)"
NOTE_RELEASE = """INSERT OR REPLACE INTO meta (name, value)
    VALUES ('release:' || ?1, max(?2, (SELECT coalesce(max(value) + 1, 0) FROM meta
        WHERE name >= 'release:' AND name < 'release;')))"""
NEWEST_RELEASE = """SELECT cast(substr(name, 9) AS BLOB) FROM meta
    WHERE name >= 'release:' AND name < 'release;' ORDER BY value DESC LIMIT 1"""
NOTE_WALL_CLOCK = "INSERT OR REPLACE INTO meta (name, value) VALUES (printf('wall:%020d', ?), ?)"
FORGET_WALL_CLOCKS = """DELETE FROM meta WHERE name >= 'wall:' AND name < (
        SELECT max(name) FROM meta WHERE name >= 'wall:' AND name <= printf('wall:%020d', ?))"""

BEGIN = "BEGIN IMMEDIATE"
BEGIN_READING = "BEGIN"
COMMIT = "COMMIT"
ROLLBACK = "ROLLBACK"
# With a journal the transaction stays open, and what is committed or rolled back is a part of it.
SAVEPOINT = "SAVEPOINT batch"
RELEASE = "RELEASE batch"
ROLLBACK_TO = "ROLLBACK TO batch"

HEAD = "SELECT coalesce(max(rev), 0) FROM revision"

# Writes: find what is there, append to the log, move `current` and `history` along.
FIND = """SELECT c.rev, r.create_rev, c.size, r.value, r.prev_rev, c.checksum, r.key = ?1
    FROM current AS c LEFT JOIN revision AS r ON r.rev = c.rev WHERE c.key = ?1"""
SIZE = "SELECT size FROM current WHERE key = ?"
KEY_AND_VALUE = "SELECT key, value FROM revision WHERE rev = ?"
MARK_OF = "SELECT cast(key AS BLOB), value FROM revision WHERE rev = ?"
WRITTEN = """SELECT cast(key AS BLOB), type, value, create_rev, prev_rev, checksum
    FROM revision WHERE rev = ?"""
WHAT_WAS_DONE = "SELECT key, type, prev_rev FROM revision WHERE rev = ?"
APPEND = """INSERT INTO revision (rev, key, type, create_rev, prev_rev, at, value, checksum)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
ADD_CURRENT = "INSERT INTO current (key, rev, size, checksum) VALUES (?, ?, ?, ?)"
MOVE_CURRENT = "UPDATE current SET rev = ?, size = ?, checksum = ? WHERE key = ?"
DROP_CURRENT = "DELETE FROM current WHERE key = ?"
ADD_HISTORY = "INSERT INTO history (key, rev, until, size, checksum) VALUES (?, ?, ?, ?, ?)"

# Leases: rows of older revisions of a key stay until they are due, for few are.
ADD_LEASE = "INSERT INTO lease (at, rev, hole) VALUES (?, ?, ?)"
DROP_LEASE = "DELETE FROM lease WHERE at = ? AND rev = ?"
NEXT_LEASE = "SELECT min(at) FROM lease"
DUE = """SELECT l.at, l.rev, l.hole, c.key, c.size
    FROM (SELECT at, rev, hole FROM lease WHERE at <= ? ORDER BY at, rev LIMIT ?) AS l
    LEFT JOIN revision AS r ON r.rev = l.rev
    LEFT JOIN current AS c ON c.key = r.key AND c.rev = l.rev
    ORDER BY l.at, l.rev"""

# Reads.  Each is one statement, so one snapshot, and brings the revision it saw.
# A row that leads to no revision, or to one of another key, is damaged, not absent.  The key of
# the search is compared: among damaged keys a search may end at another one.
GET = """SELECT r.value, c.rev, r.create_rev, r.prev_rev, c.checksum, r.key = ?1
    FROM current AS c LEFT JOIN revision AS r ON r.rev = c.rev WHERE c.key = ?1"""
GET_AT = """SELECT r.value, live.rev, r.create_rev, r.prev_rev, live.checksum, r.key = ?1 FROM (
        SELECT rev, checksum FROM current WHERE key = ?1 AND rev <= ?2
        UNION ALL
        SELECT rev, checksum FROM history WHERE key = ?1 AND rev <= ?2 AND until > ?2
    ) AS live LEFT JOIN revision AS r ON r.rev = live.rev"""
LIVE_BY_REVISION = "SELECT rev, key FROM current ORDER BY rev"
COUNT = "SELECT count(*) FROM current WHERE key >= ? AND key < ?"
COUNT_SOME = "SELECT count(*) FROM (SELECT 1 FROM current WHERE key >= ? AND key < ? LIMIT ?)"
# A creation is of type 0, an update 1, a deletion 2.
GROWN_SINCE = """SELECT coalesce(sum(1 - type), 0) FROM revision
    WHERE rev > ? AND key >= ? AND key < ?"""
COUNT_AT = """SELECT (SELECT count(*) FROM current WHERE key >= ?1 AND key < ?2 AND rev <= ?3)
    + (SELECT count(*) FROM history
        WHERE key >= ?1 AND key < ?2 AND rev <= ?3 AND until > ?3)"""

LIVE_NOW = """SELECT key, rev, size, checksum FROM current
    WHERE key >= ?1 AND key < ?2 ORDER BY key LIMIT ?3"""
LIVE_AT = """SELECT key, rev, size, checksum FROM current
        WHERE key >= ?1 AND key < ?2 AND rev <= ?4
    UNION ALL
    SELECT key, rev, size, checksum FROM history
        WHERE key >= ?1 AND key < ?2 AND rev <= ?4 AND until > ?4
    ORDER BY key LIMIT ?3"""
# Keys as bytes, for those that are no text any more.
KEYS_NOW = f"SELECT cast(key AS BLOB), rev FROM ({LIVE_NOW})"
KEYS_AT = f"SELECT cast(key AS BLOB), rev FROM ({LIVE_AT})"
KEYS_OF_LOG = "SELECT cast(key AS BLOB), rev FROM revision WHERE rev > ? AND rev <= ? ORDER BY rev"
_RANGE = """SELECT l.key, r.value, l.rev, r.create_rev, r.prev_rev, l.checksum, r.key = l.key
    FROM ({}) AS l LEFT JOIN revision AS r ON r.rev = l.rev ORDER BY l.key"""
RANGE_NOW, RANGE_AT = _RANGE.format(LIVE_NOW), _RANGE.format(LIVE_AT)
# The join happens inside SQLite: one call, and no Python between rows, so that a long list in a
# worker thread does not fight for the interpreter lock.  Beside the bytes: how many values they
# are, and a number for each: its length, and in the lower 32 bits its CRC-32; where that is not
# known, the length as a negative number.
_JOIN = """SELECT cast(group_concat(substr(value, {skip}), {by}) AS BLOB), count(*),
    group_concat(coalesce((size << 32) | (checksum & 4294967295), -size), ' ')
    FROM (SELECT r.value, l.size, l.checksum
        FROM ({live}) AS l CROSS JOIN revision AS r ON r.rev = l.rev AND r.key = l.key
        ORDER BY l.key)"""
JOIN_NOW = _JOIN.format(live=LIVE_NOW, skip="?4", by="?5")
JOIN_AT = _JOIN.format(live=LIVE_AT, skip="?5", by="?6")
# What a list leaves out of its first value, and so of each.
_LEFT_OUT = """SELECT substr(r.value, 1, {skip}) FROM ({live}) AS l
    JOIN revision AS r ON r.rev = l.rev ORDER BY l.key LIMIT 1"""
LEFT_OUT_NOW = _LEFT_OUT.format(live=LIVE_NOW, skip="?4")
LEFT_OUT_AT = _LEFT_OUT.format(live=LIVE_AT, skip="?5")
# How many keys of a page fit: sizes come from the index, no value is read.
SIZES_NOW = f"SELECT count(*), coalesce(max(key), ''), coalesce(sum(size), 0) FROM ({LIVE_NOW})"
SIZES_AT = f"SELECT count(*), coalesce(max(key), ''), coalesce(sum(size), 0) FROM ({LIVE_AT})"
LARGEST = f"SELECT count(*), coalesce(max(size), 0), coalesce(sum(size), 0) FROM ({LIVE_NOW})"
EXISTS_NOW = "SELECT EXISTS (SELECT 1 FROM current WHERE key >= ?1 AND key < ?2)"
EXISTS_AT = """SELECT EXISTS (SELECT 1 FROM current WHERE key >= ?1 AND key < ?2 AND rev <= ?3)
    OR EXISTS (SELECT 1 FROM history
        WHERE key >= ?1 AND key < ?2 AND rev <= ?3 AND until > ?3)"""

_EVENTS = """SELECT e.rev, e.key, e.type, e.value, p.value, e.create_rev, e.prev_rev, e.checksum,
        p.type, p.create_rev, p.prev_rev, p.checksum, p.key = e.key
    FROM revision AS e LEFT JOIN revision AS p ON p.rev = e.prev_rev
    WHERE e.rev > ? AND e.rev <= ? {}ORDER BY e.rev LIMIT ?"""
EVENTS, EVENTS_IN = _EVENTS.format(""), _EVENTS.format("AND e.key >= ? AND e.key < ? ")

# Compaction of the log between two revisions, and the target for an age.
COMPACT_HISTORY = """DELETE FROM history WHERE (key, rev) IN (
    SELECT key, prev_rev FROM revision WHERE rev > ?1 AND rev <= ?2 AND prev_rev IS NOT NULL)"""
COMPACT_REPLACED = """DELETE FROM revision WHERE rev IN (
    SELECT prev_rev FROM revision WHERE rev > ?1 AND rev <= ?2 AND prev_rev IS NOT NULL)"""
# Not the row at the target itself: the newest row keeps the revision counter across restarts.
COMPACT_DELETIONS = "DELETE FROM revision WHERE rev >= ?1 AND rev < ?2 AND type = 2"
NEWEST_AT = "SELECT at FROM revision ORDER BY rev DESC LIMIT 1"
AGE_PROBE = "SELECT rev, at FROM revision WHERE rev >= ? ORDER BY rev LIMIT 1"

# A data directory looked at from outside (`inspection`): revisions of one key, found without an
# index on the log, and what the tables say against each other.
REVISIONS_OF = """SELECT r.rev, r.type, coalesce(r.at + (
        SELECT value FROM meta WHERE name >= 'wall:' AND name <= printf('wall:%020d', r.rev)
        ORDER BY name DESC LIMIT 1), 0) FROM (
        SELECT rev FROM current WHERE key = ?1
        UNION SELECT rev FROM history WHERE key = ?1
        UNION SELECT until FROM history WHERE key = ?1
    ) AS seen JOIN revision AS r ON r.rev = seen.rev WHERE r.key = ?1 ORDER BY r.rev"""
DATE_OF = """SELECT coalesce(r.at + (
        SELECT value FROM meta WHERE name >= 'wall:' AND name <= printf('wall:%020d', r.rev)
        ORDER BY name DESC LIMIT 1), 0) FROM revision AS r WHERE r.rev = ?"""
COUNT_REVISIONS = "SELECT count(*) FROM revision"
ALL_REVISIONS = """SELECT r.rev, cast(r.key AS BLOB), r.type, r.value, c.rev IS NOT NULL,
        r.create_rev, r.prev_rev, r.checksum FROM revision AS r
    LEFT JOIN current AS c ON c.key = r.key AND c.rev = r.rev ORDER BY r.rev"""
# Each gives (key or nothing, revision) of the rows that are wrong; keys may be no text any more.
BYTES_OF_KEYS = "WITH wrong (key, rev) AS ({}) SELECT cast(key AS BLOB), rev FROM wrong"
MISSING_REVISIONS = """SELECT NULL, before + 1 FROM (
        SELECT rev, lag(rev, 1, ?1) OVER (ORDER BY rev) AS before FROM revision WHERE rev > ?1
    ) WHERE rev != before + 1"""
BEYOND_FLOOR = "SELECT NULL, ?1 WHERE ?1 > (SELECT coalesce(max(rev), 0) FROM revision)"
CURRENT_WITHOUT_REVISION = """SELECT c.key, c.rev FROM current AS c
    LEFT JOIN revision AS r ON r.rev = c.rev AND r.key = c.key AND r.type != 2
    WHERE r.rev IS NULL"""
CURRENT_OF_ANOTHER_SIZE = """SELECT c.key, c.rev FROM current AS c
    JOIN revision AS r ON r.rev = c.rev WHERE r.key = c.key AND c.size != length(r.value)"""
NEWEST_NOT_CURRENT = """SELECT r.key, r.rev FROM
    (SELECT key, max(rev) AS rev, type FROM revision GROUP BY key) AS r
    LEFT JOIN current AS c ON c.key = r.key
    WHERE (r.type = 2) != (c.rev IS NULL) OR c.rev != r.rev"""
HISTORY_WITHOUT_REVISION = """SELECT h.key, h.rev FROM history AS h
    LEFT JOIN revision AS r ON r.rev = h.rev AND r.key = h.key AND r.type != 2
    LEFT JOIN revision AS u ON u.rev = h.until AND u.key = h.key AND u.prev_rev = h.rev
    WHERE r.rev IS NULL OR u.rev IS NULL OR h.size != length(r.value)"""
REPLACED_WITHOUT_HISTORY = """SELECT r.key, r.rev FROM revision AS r
    LEFT JOIN history AS h ON h.key = r.key AND h.rev = r.prev_rev AND h.until = r.rev
    WHERE r.rev > ?1 AND r.prev_rev IS NOT NULL AND h.rev IS NULL"""
CREATED_OTHERWISE = """SELECT r.key, r.rev FROM revision AS r
    LEFT JOIN revision AS p ON p.rev = r.prev_rev
    WHERE (r.type = 0) != (r.create_rev = r.rev) OR (r.type = 0) != (r.prev_rev IS NULL)
        OR r.create_rev > r.rev OR p.create_rev != r.create_rev OR r.type NOT IN (0, 1, 2)"""
LEASE_IN_THE_FUTURE = "SELECT NULL, rev FROM lease WHERE rev > (SELECT max(rev) FROM revision)"
CURRENT_OF_ANOTHER_CHECKSUM = """SELECT c.key, c.rev FROM current AS c
    JOIN revision AS r ON r.rev = c.rev
    WHERE r.key = c.key AND c.checksum & 4294967295 IS NOT r.checksum & 4294967295"""
HISTORY_OF_ANOTHER_CHECKSUM = """SELECT h.key, h.rev FROM history AS h
    JOIN revision AS r ON r.rev = h.rev
    WHERE r.key = h.key AND h.checksum & 4294967295 IS NOT r.checksum & 4294967295"""


def without_checksums(statement: str) -> str:
    """Return a read for a database of a schema version that has none of the columns."""
    return re.sub(r"\b([a-z]+\.)?checksum\b", "NULL", statement)


class Reads(NamedTuple):
    """Statements that read values."""

    get: str = GET
    get_at: str = GET_AT
    range_now: str = RANGE_NOW
    range_at: str = RANGE_AT
    join_now: str = JOIN_NOW
    join_at: str = JOIN_AT
    left_out_now: str = LEFT_OUT_NOW
    left_out_at: str = LEFT_OUT_AT
    events: str = EVENTS
    events_in: str = EVENTS_IN
    written: str = WRITTEN
    all_revisions: str = ALL_REVISIONS


def reads_of(schema: int) -> Reads:
    """Return the statements for a database of a schema version."""
    reads = Reads()
    return reads if schema >= CHECKSUMS_SINCE else Reads(*map(without_checksums, reads))
