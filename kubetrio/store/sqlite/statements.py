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

APPLICATION_ID = 0x6B747269  # "ktri", in the database header (sqlite.org/pragma.html)
SCHEMA_VERSION = 2

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
NEWEST_RELEASE = """SELECT substr(name, 9) FROM meta
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
FIND = """SELECT c.rev, r.create_rev, c.size, r.value
    FROM current AS c JOIN revision AS r ON r.rev = c.rev WHERE c.key = ?"""
SIZE = "SELECT size FROM current WHERE key = ?"
KEY_AND_VALUE = "SELECT key, value FROM revision WHERE rev = ?"
WHAT_WAS_DONE = "SELECT key, type, prev_rev FROM revision WHERE rev = ?"
APPEND = """INSERT INTO revision (rev, key, type, create_rev, prev_rev, at, value)
    VALUES (?, ?, ?, ?, ?, ?, ?)"""
ADD_CURRENT = "INSERT INTO current (key, rev, size) VALUES (?, ?, ?)"
MOVE_CURRENT = "UPDATE current SET rev = ?, size = ? WHERE key = ?"
DROP_CURRENT = "DELETE FROM current WHERE key = ?"
ADD_HISTORY = "INSERT INTO history (key, rev, until, size) VALUES (?, ?, ?, ?)"

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
GET = """SELECT r.value, c.rev, r.create_rev
    FROM current AS c JOIN revision AS r ON r.rev = c.rev WHERE c.key = ?"""
GET_AT = """SELECT r.value, r.rev, r.create_rev FROM (
        SELECT rev FROM current WHERE key = ?1 AND rev <= ?2
        UNION ALL SELECT rev FROM history WHERE key = ?1 AND rev <= ?2 AND until > ?2
    ) AS live JOIN revision AS r ON r.rev = live.rev"""
LIVE_BY_REVISION = "SELECT rev, key FROM current ORDER BY rev"
COUNT = "SELECT count(*) FROM current WHERE key >= ? AND key < ?"
COUNT_SOME = "SELECT count(*) FROM (SELECT 1 FROM current WHERE key >= ? AND key < ? LIMIT ?)"
# A creation is of type 0, an update 1, a deletion 2.
GROWN_SINCE = """SELECT coalesce(sum(1 - type), 0) FROM revision
    WHERE rev > ? AND key >= ? AND key < ?"""
COUNT_AT = """SELECT (SELECT count(*) FROM current WHERE key >= ?1 AND key < ?2 AND rev <= ?3)
    + (SELECT count(*) FROM history
        WHERE key >= ?1 AND key < ?2 AND rev <= ?3 AND until > ?3)"""

LIVE_NOW = "SELECT key, rev, size FROM current WHERE key >= ?1 AND key < ?2 ORDER BY key LIMIT ?3"
LIVE_AT = """SELECT key, rev, size FROM current WHERE key >= ?1 AND key < ?2 AND rev <= ?4
    UNION ALL
    SELECT key, rev, size FROM history WHERE key >= ?1 AND key < ?2 AND rev <= ?4 AND until > ?4
    ORDER BY key LIMIT ?3"""
RANGE_NOW = f"SELECT l.key, r.value, r.rev, r.create_rev FROM ({LIVE_NOW}) AS l JOIN revision AS r ON r.rev = l.rev ORDER BY l.key"  # noqa: E501
RANGE_AT = f"SELECT l.key, r.value, r.rev, r.create_rev FROM ({LIVE_AT}) AS l JOIN revision AS r ON r.rev = l.rev ORDER BY l.key"  # noqa: E501
# The join happens inside SQLite: one call, and no Python between rows, so that a long list in a
# worker thread does not fight for the interpreter lock.
JOIN_NOW = f"SELECT cast(group_concat(v, ?5) AS BLOB) FROM (SELECT substr(r.value, ?4) AS v FROM ({LIVE_NOW}) AS l CROSS JOIN revision AS r ON r.rev = l.rev ORDER BY l.key)"  # noqa: E501
JOIN_AT = f"SELECT cast(group_concat(v, ?6) AS BLOB) FROM (SELECT substr(r.value, ?5) AS v FROM ({LIVE_AT}) AS l CROSS JOIN revision AS r ON r.rev = l.rev ORDER BY l.key)"  # noqa: E501
# How many keys of a page fit: sizes come from the index, no value is read.
SIZES_NOW = f"SELECT count(*), coalesce(max(key), ''), coalesce(sum(size), 0) FROM ({LIVE_NOW})"
SIZES_AT = f"SELECT count(*), coalesce(max(key), ''), coalesce(sum(size), 0) FROM ({LIVE_AT})"
LARGEST = f"SELECT count(*), coalesce(max(size), 0), coalesce(sum(size), 0) FROM ({LIVE_NOW})"
EXISTS_NOW = "SELECT EXISTS (SELECT 1 FROM current WHERE key >= ?1 AND key < ?2)"
EXISTS_AT = """SELECT EXISTS (SELECT 1 FROM current WHERE key >= ?1 AND key < ?2 AND rev <= ?3)
    OR EXISTS (SELECT 1 FROM history
        WHERE key >= ?1 AND key < ?2 AND rev <= ?3 AND until > ?3)"""

EVENTS = """SELECT e.rev, e.key, e.type, e.value, p.value
    FROM revision AS e LEFT JOIN revision AS p ON p.rev = e.prev_rev
    WHERE e.rev > ? AND e.rev <= ? ORDER BY e.rev LIMIT ?"""
EVENTS_IN = """SELECT e.rev, e.key, e.type, e.value, p.value
    FROM revision AS e LEFT JOIN revision AS p ON p.rev = e.prev_rev
    WHERE e.rev > ? AND e.rev <= ? AND e.key >= ? AND e.key < ? ORDER BY e.rev LIMIT ?"""

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
ALL_REVISIONS = """SELECT r.rev, r.key, r.type, r.value, c.rev IS NOT NULL FROM revision AS r
    LEFT JOIN current AS c ON c.key = r.key AND c.rev = r.rev ORDER BY r.rev"""
# Each gives (key or nothing, revision) of the rows that are wrong.
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
