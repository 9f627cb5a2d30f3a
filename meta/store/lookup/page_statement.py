"""A page of segments in one statement: version, datasets, segments, and the bytes of the reply.

A statement is one snapshot and one round trip. It answers what is regular; the rest, from a dataset
that does not exist to a row that an older server wrote, is left to the statements of
`meta.store.lookup.lookup`, which have the same order and rules, and the errors.

A frame is a segment as the reply holds it, behind its tag: the length, the fields of its location
around the bytes that its row keeps (`meta.store.segments.segments`), then what may change. Varints
have a fixed number of bytes, which protobuf allows: lengths two, versions six. A row that does not
fit, or whose object a client registered without facts, has no frame; its page is put together in
Python (`meta.services.lookup.segment_bytes`).

An operation and a concatenation cost Postgres 10 and 50 ns a row, so tags and lengths that stand
side by side are one integer. (Operators on bits have one precedence, hence the brackets.)
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from meta.store.engine import dataset_scope, driver_statements, pg_arrays
from meta.store.engine.pool import Database
from meta.store.engine.timelines import IS_CURRENT
from meta.store.lookup import lookup
from meta.store.lookup.held_classes import NEW_SEGMENTS_MAX, KnownClasses
from meta.store.lookup.lookup import CLASSES, DATASETS, DATASETS_PROBED_MAX, Position, Query
from meta.store.versions.versions import IS_LOST
from segments.protowire import FIXED32, LENGTH_DELIMITED, VARINT

# Fields of segments in both replies, of SegmentInfo, and of CloudObjectKey.
_SEGMENTS, _OBJECT_KEY, _KEY_PREFIX = 1, 7, 1
_CREATED, _TOMBSTONE, _FACTS, _CRC32C, _LAYOUT = 100, 101, 103, 104, 105
SEGMENT_TAG = bytes([_SEGMENTS << 3 | LENGTH_DELIMITED])
# Tag and length of a segment.
HEAD_BYTES = 3
# The rows have signals in front of the ids of promoted columns; a parser in SQL is written out.
_SIGNALS_MAX = 3


def _tag(field: int, kind: int) -> int:
    """Two bytes of a tag, as a number."""
    return (field << 3 & 127 | kind | 128) << 8 | field >> 4


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 else value


def _lanes(sql: str) -> str:
    """A version's three groups of 14 bits, the lowest first, in lanes of 16 bits."""
    return f"((({sql} & 16383) << 32) | (({sql} << 2) & 1073676288) | ({sql} >> 28))"


def _version(sql: str) -> str:
    """Six bytes of the lanes of a version, without the bits that say that more follow."""
    low = 0x7F007F007F
    return f"((({sql} & {low}) << 8) | (({sql} >> 7) & {low}))"


def _shown_bytes(at: str = "2", signals: int = _SIGNALS_MAX) -> str:
    """The length of facts without the ids at their end, from a place behind some signals on."""
    length = f"get_byte(facts, {at} + 1)"
    behind = f"({at} + 2 + {length})"
    signal = f"WHEN 18 THEN {_shown_bytes(behind, signals - 1)}" if signals else ""
    return (
        f"CASE WHEN {at} + 1 < facts_bytes THEN CASE WHEN {length} < 128 THEN"
        f" CASE get_byte(facts, {at}) {signal}"
        f" WHEN 26 THEN CASE WHEN {behind} = facts_bytes THEN {at} END END END"
        f" WHEN {at} = facts_bytes THEN {at} END"
    )


_VERSION_END = 2**42
_VERSION_TAG = _tag(_CREATED, VARINT)
_MORE = 0x808080808000
_HEAD = _signed(
    0x8000_0080_0000_8000 | (_OBJECT_KEY << 3 | 2) << 40 | (_KEY_PREFIX << 3 | 2) << 16, 64
)
_CREATED_HEAD = _signed(_VERSION_TAG << 48 | _MORE, 64)
_TOMBSTONE_HEAD = _signed(_tag(_TOMBSTONE, VARINT) << 48 | _MORE, 64)
_CHECKSUM_HEAD = _signed(_tag(_CRC32C, FIXED32) << 48 | _VERSION_TAG, 64)
_VERSION_LONG = _signed((_MORE | 0x80) << 16 | 0x8000, 64)
_FACTS_HEAD = _signed(_tag(_FACTS, LENGTH_DELIMITED) << 16, 32)
_LAYOUT_ZERO = (_tag(_LAYOUT, VARINT) << 16 | 0x8000).to_bytes(4, "big").hex()

# What is used more than once; OFFSET 0 keeps it from being computed anew in each place.
_MEASURED = f"""
    SELECT *, octet_length(message) AS message_bytes, get_byte(message, 1) AS prefix_bytes,
      CASE WHEN get_byte(message, 1) < 128 THEN get_byte(message, get_byte(message, 1) + 3)
           ELSE 128 END AS name_bytes,
      {_lanes("created_version")} AS created_lanes,
      CASE WHEN facts IS NULL THEN 0
           WHEN facts_bytes NOT BETWEEN 2 AND 8000 OR get_byte(facts, 0) <> 8 THEN NULL
           WHEN get_byte(facts, 1) = 1 THEN facts_bytes
           WHEN get_byte(facts, 1) < 128 THEN {_shown_bytes()} END AS shown_bytes,
      CASE WHEN facts_bytes > 1 THEN get_byte(facts, 1) > 1 END AS has_layout
    FROM ({{rows}}) r OFFSET 0
"""  # noqa: S608
# Three lengths of 14 bits each: of the segment from bit 48 on, of its object key from 24 on, and of
# its prefix.
SIZED = f"""
    SELECT *, CASE
      WHEN prefix_bytes | name_bytes < 128 AND created_version < {_VERSION_END}
           AND foreign_state IS NULL
           AND message_bytes < 8000 - {{bucket_bytes}}
      THEN ((14 + {{bucket_bytes}} + message_bytes + shown_bytes
         + CASE WHEN crc32c IS NULL THEN 0 ELSE 8 END
         + CASE WHEN tombstone_version IS NULL THEN 0
                WHEN tombstone_version < {_VERSION_END} THEN 8 END
         + CASE WHEN has_layout THEN 8 WHEN facts IS NULL THEN 0 ELSE 4 END)::bigint << 48)
         + prefix_bytes * {2**24 + 1}::bigint + name_bytes * {2**24}::bigint
         + ((7 + {{bucket_bytes}})::bigint << 24) + 2 + {{bucket_bytes}} END AS lengths
    FROM ({_MEASURED}) r OFFSET 0
"""  # noqa: S608
_TAIL = f"""
    CASE WHEN crc32c IS NULL THEN int8send({_CREATED_HEAD} | {_version("created_lanes")})
         ELSE int8send({_CHECKSUM_HEAD} | ((crc32c & 255) << 40)
                | ((crc32c & 65280) << 24) | ((crc32c & 16711680) << 8)
                | ((crc32c >> 8) & 16711680))
           || int8send({_VERSION_LONG} | ({_version("created_lanes")} << 16)) END"""
_REMOVED = f"int8send({_TOMBSTONE_HEAD} | {_version(_lanes('tombstone_version'))})"
_SHOWN = (
    f"int4send({_FACTS_HEAD} | 32768 | ((shown_bytes & 127) << 8) | (shown_bytes >> 7))"
    " || substr(facts, 1, shown_bytes)"
)
FRAME = f"""
    int8send({_HEAD} | ((lengths << 8) & {0x7F00_007F_0000_7F00})
             | ((lengths >> 7) & {0x007F_0000_7F00_007F}))
    || {{bucket}} || message ||
    CASE WHEN facts IS NULL AND tombstone_version IS NULL THEN {_TAIL}
         ELSE {_TAIL} || CASE WHEN tombstone_version IS NULL THEN '' ELSE {_REMOVED} END
              || CASE WHEN facts IS NULL THEN '' WHEN has_layout
                      THEN {_SHOWN} || '\\x{_LAYOUT_ZERO}' ELSE {_SHOWN} END END
"""


# Visible datasets that a statement looks into; a page that more of them fill is not regular.
DATASETS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class PageQuery:
    """A checked lookup; `requested` is the version to read at, None for the current one.

    `query.version` is not used.
    """

    query: Query
    requested: int | None
    min_version: int
    names: Sequence[str]
    limit: int
    known: KnownClasses


class AssembledPage(NamedTuple):
    """A page as its statement answers it, with the segment behind it, if there is one.

    `frames` are the segments without the first one's tag, None for no segments. `layout_keys` has
    for each segment its dataset's key in four bytes and the ids of its promoted columns, None for
    one without a layout; it is None where no segment has one. `datasets` has the key in four bytes
    and the id in 16 of each dataset; `new_masks` the key, from bit 18 on, and classes of one with
    new segments. Of a page that is not regular only the first six are answers.
    """

    is_regular: bool
    counter: int
    now_secs: int
    version: int
    new_masks: Sequence[int]
    unknown_keys: Sequence[int]
    has_all_datasets: bool
    datasets: bytes | None
    num_found: int
    num_framed: int
    frames: bytes | None
    surplus_bytes: int | None
    layout_keys: Sequence[bytes | None] | None
    last_pair: int | None
    last_start_ns: int | None
    last_id: UUID | None

    def position(self) -> Position:
        """The last segment of a page that has one more behind it."""
        assert self.last_pair is not None
        assert self.last_start_ns is not None
        assert self.last_id is not None
        return Position(self.last_pair >> 5, self.last_pair & 31, self.last_start_ns, self.last_id)


# One range of the index after the other, as in `lookup`. Rows come in the order of the page: joined
# by nested loops alone, since each part refers to the one before it, with `place` on the outside
# and start and id as the innermost part sorts them. Postgres knows the first of these and sorts
# nothing; if the last ORDER BY named all, it would sort what is sorted, 0.5 ms of a thousand rows.
# A test looks at the plan.
_PAGE = f"""
WITH asked AS MATERIALIZED ({{asked}}),
state AS MATERIALIZED (
  SELECT {IS_CURRENT} IS TRUE AS is_current, version AS counter,
         extract(epoch FROM now())::bigint AS now_secs,
         coalesce(:requested, version) AS version FROM meta_state),
visible AS MATERIALIZED ({DATASETS.format(version="(SELECT version FROM state)")}),
batch AS MATERIALIZED (
  SELECT v.key, v.id, coalesce(k.mask, {2 ** len(CLASSES) - 1}) | coalesce(n.mask, 0) AS mask,
         k.key IS NULL AS is_unknown, n.num_segments AS num_new
  FROM (SELECT key, id FROM visible WHERE key >= :key_behind
        ORDER BY key LIMIT {DATASETS_MAX}) v
  LEFT JOIN unnest(:known_keys, :known_versions, :known_masks)
            k (key, version, mask)
         ON k.key = v.key AND k.version <= (SELECT counter FROM state)
  LEFT JOIN LATERAL (
    SELECT count(*) AS num_segments, bit_or(1 << dur_class) AS mask
    FROM (SELECT s.dur_class FROM segments s
          WHERE s.dataset_key = v.key AND s.created_version > k.version
          ORDER BY s.created_version LIMIT {NEW_SEGMENTS_MAX}) r) n ON k.key IS NOT NULL),
rules AS MATERIALIZED (
  SELECT is_current AND counter >= :min_version AND version <= counter
     AND (:requested IS NULL OR NOT ({IS_LOST.format(version="state.version")}))
     AND (:names IS NULL
          OR (SELECT count(DISTINCT name) FROM visible) = cardinality(:names))
     AND NOT EXISTS (SELECT FROM visible
                     WHERE deletion_horizon > state.version AND NOT is_pinned)
     AND (SELECT count(*) FILTER (WHERE is_unknown) <= {DATASETS_PROBED_MAX}
             AND coalesce(max(num_new), 0) < {NEW_SEGMENTS_MAX} FROM batch) AS is_regular
  FROM state),
page AS (
  SELECT s.*, d.pair
  FROM (SELECT (packed >> 18)::integer AS key, c::smallint AS dur_class, place,
               packed >> 18 << 5 | c AS pair,
               packed >> 18 << 5 | c = :key_behind << 5 | :class_behind AS is_begun
        FROM unnest(ARRAY(
               SELECT key::bigint << 18 | mask FROM batch WHERE (SELECT is_regular FROM rules)
               ORDER BY key)) WITH ORDINALITY u (packed, place)
             CROSS JOIN LATERAL generate_series((packed & 0)::integer, {CLASSES[-1]}) c
        WHERE packed >> c & 1 = 1
          AND packed >> 18 << 5 | c >= :key_behind << 5 | :class_behind) d
  CROSS JOIN LATERAL (
    SELECT start_ns, id, message, created_version, tombstone_version, crc32c, foreign_state,
           nullif(facts, '') AS facts, octet_length(nullif(facts, '')) AS facts_bytes
    FROM segments
    WHERE dataset_key = d.key AND dur_class = d.dur_class
      AND (start_ns, id) > (
        CASE WHEN d.is_begun THEN :start_behind
             ELSE (:lows)[d.dur_class + 1] END,
        CASE WHEN d.is_begun THEN :id_behind ELSE :id_max END)
      AND start_ns <= :last_ns
      AND end_ns >= :start_ns AND created_version <= (SELECT version FROM state)
      AND (tombstone_version IS NULL OR tombstone_version > (SELECT version FROM state))
      AND (:signals IS NULL OR signals IS NULL OR signals & :signals <> 0)
    ORDER BY start_ns, id LIMIT :most) s
  ORDER BY d.place LIMIT :most)
SELECT (SELECT is_regular FROM rules), (SELECT counter FROM state), (SELECT now_secs FROM state),
  (SELECT version FROM state),
  ARRAY(SELECT key::bigint << 18 | mask FROM batch WHERE num_new > 0),
  ARRAY(SELECT key FROM batch WHERE is_unknown OR num_new >= {NEW_SEGMENTS_MAX}),
  (SELECT count(*) FROM visible WHERE key >= :key_behind) <= {DATASETS_MAX},
  (SELECT string_agg(int4send(key) || uuid_send(id), '') FROM batch),
  count(*), count(lengths), string_agg({FRAME}, '\\x{SEGMENT_TAG.hex()}') AS frames,
  (array_agg(lengths >> 48))[:behind],
  CASE WHEN bool_or(has_layout) THEN array_agg(CASE WHEN has_layout THEN
    int4send((pair >> 5)::integer) || substr(facts, shown_bytes + 1) END) END,
  (array_agg(pair))[:shown], (array_agg(start_ns))[:shown],
  (array_agg(id))[:shown]
FROM ({SIZED.replace("{rows}", "SELECT * FROM page")}) r
"""  # noqa: S608
# In the order of the parameters.
_TYPES = {
    "requested": "bigint",
    "min_version": "bigint",
    "names": "text[]",
    "visible": "uuid[]",
    "known_keys": "integer[]",
    "known_versions": "bigint[]",
    "known_masks": "integer[]",
    "key_behind": "bigint",
    "class_behind": "bigint",
    "start_behind": "bigint",
    "id_behind": "uuid",
    "id_max": "uuid",
    "lows": "bigint[]",
    "start_ns": "bigint",
    "last_ns": "bigint",
    "signals": "smallint",
    "most": "bigint",
    "shown": "integer",
    "behind": "integer",
}
_PARAMETERS = {name: f"${n}::{kind}" for n, (name, kind) in enumerate(_TYPES.items(), 1)}
# What plans are estimated by is read through a row, so that one for the values of a call never
# seems cheaper than that for all: to make a plan takes longer than to run it.
_ASKED = {"names", "visible", "known_keys", "known_versions", "known_masks"} | {
    "start_ns",
    "last_ns",
    "most",
}
_STATEMENT = re.sub(
    r"(?<!:):([a-z]\w*)",
    lambda m: f"(SELECT {m[1]} FROM asked)" if m[1] in _ASKED else _PARAMETERS[m[1]],  # noqa: S608
    _PAGE,
).replace("{asked}", "SELECT " + ", ".join(f"{_PARAMETERS[n]} AS {n}" for n in sorted(_ASKED)))


class PageStatement:
    """The statement of one location, whose bytes `bucket` stand in each segment."""

    def __init__(self, bucket: bytes) -> None:
        sql = _STATEMENT.replace("{bucket_bytes}", str(len(bucket)))
        self._sql = sql.replace("{bucket}", f"'\\x{bucket.hex()}'::bytea").encode()

    def read(self, database: Database, page: PageQuery) -> AssembledPage:
        """Read a page. Raises Conflict where a migration is under way, and Unavailable."""
        return AssembledPage._make(driver_statements.fetch_row(database, *self.bound(page)))

    def bound(self, page: PageQuery) -> tuple[bytes, list[str | None]]:
        """The statement and the values of its parameters."""
        visible = dataset_scope.visible_ids()
        values = lookup.bounds(page.query) | {
            "requested": page.requested,
            "min_version": page.min_version,
            "names": pg_arrays.quoted(page.names) if page.names else None,
            "visible": None if visible is None else pg_arrays.uuids(visible),
            "known_keys": page.known.keys,
            "known_versions": page.known.versions,
            "known_masks": page.known.masks,
            "most": page.limit + 1,
            "shown": page.limit,
            "behind": page.limit + 1,
        }
        # As texts, so that their types do not depend on their sizes: one prepared statement.
        return self._sql, [None if values[n] is None else str(values[n]) for n in _TYPES]
