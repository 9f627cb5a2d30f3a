"""Segments as bytes of a reply, written by the database.

A frame is a segment as both replies of SegmentLookupService hold it, behind its tag: the length,
the fields of its location around the bytes that its row keeps (`meta.store.segments.segments`),
then what may change. Varints have a fixed number of bytes, which protobuf allows: lengths two,
versions six, or nine from 2^42 on.

An operation and a concatenation cost Postgres 10 and 50 ns a row, so tags and lengths that stand
side by side are one integer. (Operators on bits have one precedence, hence the brackets.)
"""

from collections.abc import Mapping

from segments.protowire import FIXED32, LENGTH_DELIMITED, VARINT
from segments.store_names import FOLDER, FOLDER_AT

# Fields of segments in both replies, of SegmentInfo, and of CloudObjectKey.
_SEGMENTS, _OBJECT_KEY, _KEY_PREFIX, _KEY_NAME = 1, 7, 1, 2
_CREATED, _TOMBSTONE, _FACTS, _CRC32C, _LAYOUT, _FOREIGN = 100, 101, 103, 104, 105, 106
SEGMENT_TAG = bytes([_SEGMENTS << 3 | LENGTH_DELIMITED])
# Tag and length of a segment.
HEAD_BYTES = 3
# Most rows have three signals in front of the ids of promoted columns, each of one byte's length;
# their parser is written out. Facts of other shapes are walked field by field.
_SIGNALS_WRITTEN_OUT = 3
# Bytes that a row keeps: at most its object key of 900 bytes and 200 more. A segment of all the
# longest fields that are registered has less than the 2^14 bytes that its length can say.
_MESSAGE_BYTES_MAX = 4_000


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


def _long_version(sql: str) -> str:
    """Nine bytes of a version."""
    groups = " | ".join(f"((({sql} >> {7 * n}) & 127) << {56 - 8 * n})" for n in range(8))
    more = _signed(0x8080_8080_8080_8080, 64)
    return f"int8send({more} | {groups}) || set_byte('\\x00', 0, ({sql} >> 56)::integer)"


def _field_end(column: str, at: str) -> str:
    """The place behind a field of bytes that begins at a place, and has fewer than 2^14."""
    low, high = f"get_byte({column}, {at} + 1)", f"get_byte({column}, {at} + 2)"
    return (
        f"CASE WHEN {low} < 128 THEN {at} + 2 + {low}"
        f" ELSE {at} + 3 + (({low} & 127) | ({high} << 7)) END"
    )


def _ids_start(at: str = "2", signals: int = _SIGNALS_WRITTEN_OUT) -> str:
    """The place of the ids in facts, from a place behind some signals on; null for other shapes."""
    length = f"get_byte(facts, {at} + 1)"
    behind = f"({at} + 2 + {length})"
    signal = f"WHEN 18 THEN {_ids_start(behind, signals - 1)}" if signals else ""
    return (
        f"CASE WHEN {at} + 1 < facts_bytes THEN CASE WHEN {length} < 128 THEN"
        f" CASE get_byte(facts, {at}) {signal}"
        f" WHEN 26 THEN CASE WHEN {behind} = facts_bytes THEN {at} END END END"
        f" WHEN {at} = facts_bytes THEN {at} END"
    )


# The same for any number of signals, behind a version of one to three bytes.
_WALKED_IDS_START = f"""(
    WITH RECURSIVE fields (at) AS (
      SELECT CASE WHEN get_byte(facts, 1) < 128 THEN 2 WHEN get_byte(facts, 2) < 128 THEN 3
                  ELSE 4 END
      UNION ALL
      SELECT {_field_end("facts", "at")} FROM fields
      WHERE at + 1 < facts_bytes AND get_byte(facts, at) = 18)
    SELECT max(at) FROM fields)"""  # noqa: S608
_SHORT_VERSIONS_END = 2**42
_VERSION_TAG = _tag(_CREATED, VARINT)
_MORE = 0x808080808000
_HEAD = _signed(
    0x8000_0080_0000_8000 | (_OBJECT_KEY << 3 | 2) << 40 | (_KEY_PREFIX << 3 | 2) << 16, 64
)
_CREATED_HEAD = _signed(_VERSION_TAG << 48 | _MORE, 64)
_TOMBSTONE_TAG = _tag(_TOMBSTONE, VARINT)
_TOMBSTONE_HEAD = _signed(_TOMBSTONE_TAG << 48 | _MORE, 64)
_CHECKSUM_HEAD = _signed(_tag(_CRC32C, FIXED32) << 48 | _VERSION_TAG, 64)
_VERSION_LONG = _signed((_MORE | 0x80) << 16 | 0x8000, 64)
_FACTS_HEAD = _signed(_tag(_FACTS, LENGTH_DELIMITED) << 16, 32)
_FOREIGN_HEAD = _signed(_tag(_FOREIGN, LENGTH_DELIMITED) << 16, 32)
_LAYOUT_ZERO = (_tag(_LAYOUT, VARINT) << 16 | 0x8000).to_bytes(4, "big").hex()

# OFFSET 0 keeps expressions that are used more than once from being computed in each place.
_MEASURED = f"""
    SELECT *{{placed}}, octet_length(message) AS message_bytes,
      {_field_end("message", "0")} AS prefix_end,
      {_lanes("created_version")} AS created_lanes,
      CASE WHEN facts IS NULL THEN 0
           WHEN {{with_layouts}} AND facts_bytes > 1 AND get_byte(facts, 0) = 8
                AND get_byte(facts, 1) > 1
           THEN coalesce(CASE WHEN get_byte(facts, 1) < 128 THEN {_ids_start()} END,
                         {_WALKED_IDS_START})
           ELSE facts_bytes END AS shown_bytes,
      {{with_layouts}} AND facts_bytes > 1 AND get_byte(facts, 0) = 8
        AND get_byte(facts, 1) > 1 AS has_layout
    FROM ({{rows}}) r OFFSET 0
"""  # noqa: S608
# Three lengths of 14 bits each: of the segment from bit 48 on, of its object key from 24 on, and of
# its prefix. A row that keeps no message has none.
_SIZED = f"""
    SELECT *, CASE WHEN message_bytes < {_MESSAGE_BYTES_MAX}
      THEN {{bucket_bytes}}::bigint * {1 << 48 | 1 << 24 | 1}
         + ((14 + message_bytes + shown_bytes
         + CASE WHEN created_version < {_SHORT_VERSIONS_END}
                THEN CASE WHEN crc32c IS NULL THEN 0 ELSE 8 END
                WHEN crc32c IS NULL THEN 3 ELSE 9 END
         + CASE WHEN tombstone_version IS NULL THEN 0
                WHEN tombstone_version < {_SHORT_VERSIONS_END} THEN 8 ELSE 11 END
         + CASE WHEN has_layout THEN 8 WHEN facts IS NULL THEN 0 ELSE 4 END
         + CASE WHEN foreign_file IS NULL THEN 0 ELSE 4 + octet_length(foreign_file) END
         )::bigint << 48)
         + ((3 + {_field_end("message", "prefix_end")})::bigint << 24)
         + prefix_end END AS lengths
    FROM ({_MEASURED}) r OFFSET 0
"""  # noqa: S608
_CHECKSUM = f"""int8send({_CHECKSUM_HEAD} | ((crc32c & 255) << 40)
                | ((crc32c & 65280) << 24) | ((crc32c & 16711680) << 8)
                | ((crc32c >> 8) & 16711680))"""
_LONG_TAIL = f"""CASE WHEN crc32c IS NULL THEN '\\x{_VERSION_TAG:04x}'::bytea
                 ELSE {_CHECKSUM} END || {_long_version("created_version")}"""
_TAIL = f"""
    CASE WHEN created_version >= {_SHORT_VERSIONS_END} THEN {_LONG_TAIL}
         WHEN crc32c IS NULL THEN int8send({_CREATED_HEAD} | {_version("created_lanes")})
         ELSE {_CHECKSUM}
           || int8send({_VERSION_LONG} | ({_version("created_lanes")} << 16)) END"""
_REMOVED = f"""
    CASE WHEN tombstone_version IS NULL THEN ''
         WHEN tombstone_version < {_SHORT_VERSIONS_END}
         THEN int8send({_TOMBSTONE_HEAD} | {_version(_lanes("tombstone_version"))})
         ELSE '\\x{_TOMBSTONE_TAG:04x}'::bytea || {_long_version("tombstone_version")} END"""


def _sized(head: int, length: str) -> str:
    """Tag and length of a field of bytes."""
    return f"int4send({head} | 32768 | (({length} & 127) << 8) | ({length} >> 7))"


_SHOWN = f"""
    CASE WHEN facts IS NULL THEN ''
         ELSE {_sized(_FACTS_HEAD, "shown_bytes")} || substr(facts, 1, shown_bytes)
           || CASE WHEN has_layout THEN '\\x{_LAYOUT_ZERO}'::bytea ELSE '' END END"""
_FILE = f"""
    CASE WHEN foreign_file IS NULL THEN ''
         ELSE {_sized(_FOREIGN_HEAD, "octet_length(foreign_file)")} || foreign_file END"""
# The bytes of a segment of `sized`. The number of its layout is zero, in two bytes at its end.
FRAME = f"""
    int8send({_HEAD} | ((lengths << 8) & {0x7F00_007F_0000_7F00})
             | ((lengths >> 7) & {0x007F_0000_7F00_007F}))
    || {{bucket}} || message ||
    CASE WHEN facts IS NULL AND tombstone_version IS NULL AND foreign_file IS NULL THEN {_TAIL}
         ELSE {_TAIL} || {_REMOVED} || {_FILE} || {_SHOWN} END
"""
# The columns of `sized`, from a segment.
COLUMNS = (
    "message, created_version, tombstone_version, crc32c,"
    " nullif(foreign_file, '') AS foreign_file, nullif(facts, '') AS facts,"
    " octet_length(nullif(facts, '')) AS facts_bytes"
)


# If it is false, another server was configured with a store that this one does not know, and
# would give the segments there the default store's location.
KNOWS_STORES = "NOT EXISTS (SELECT FROM object_stores WHERE name <> ALL('{store_names}'::text[]))"


def sized(rows: str, *, with_layouts: bool) -> str:
    """Rows of COLUMNS with the lengths of their frames.

    With layouts, facts of formats that have them are shown without the ids of promoted columns.
    """
    flag = "true" if with_layouts else "false"
    return _SIZED.replace("{rows}", rows).replace("{with_layouts}", flag)


# Place of the key's part that names a store, counted from 1: behind the tag and the length of the
# prefix, of one or two bytes.
_FOLDER_START = (
    f"CASE WHEN get_byte(message, 1) < 128 THEN {FOLDER_AT + 3} ELSE {FOLDER_AT + 4} END"
)
# Bytes behind the folder: a slash, or the tag of the object's name.
_FOLDER_ENDS = (b"/", bytes([_KEY_NAME << 3 | LENGTH_DELIMITED]))


def in_stores(sql: str, buckets: Mapping[str, bytes]) -> bytes:
    """The text of a statement for a server's stores.

    `buckets` are the bytes of their locations that stand in each segment, by the folder of the key
    that names the store; "" is the default store's.
    """
    named = {folder: bucket for folder, bucket in buckets.items() if folder}
    own = _literal(buckets[""])
    placed, bucket, bucket_bytes = "", own, str(len(buckets[""]))
    if named:
        cases = " ".join(f"WHEN {_is_in(folder)} THEN {_literal(b)}" for folder, b in named.items())
        placed = f", CASE {cases} ELSE {own} END AS bucket"
        bucket, bucket_bytes = "bucket", "octet_length(bucket)"
    names = ",".join(store_names(buckets))
    written = sql.replace("{placed}", placed).replace("{store_names}", f"{{{names}}}")
    return written.replace("{bucket_bytes}", bucket_bytes).replace("{bucket}", bucket).encode()


def store_names(buckets: Mapping[str, bytes]) -> list[str]:
    """The names of the named stores."""
    return [folder.removeprefix(FOLDER) for folder in buckets if folder]


def _is_in(folder: str) -> str:
    """True for a segment whose key names a store by this folder.

    Bytes are compared in place: decoding and splitting the key cost 2 µs a row.
    """
    name = folder.encode()
    texts = ", ".join(_literal(name + end) for end in _FOLDER_ENDS)
    return f"substr(message, {_FOLDER_START}, {len(name) + 1}) IN ({texts})"


def _literal(value: bytes) -> str:
    return f"'\\x{value.hex()}'::bytea"
