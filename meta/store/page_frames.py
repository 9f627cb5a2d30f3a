"""SQL that puts a page of segments together, so that meta does nothing for each of them.

A frame is a segment as the reply holds it, behind its tag: the length, the fields of its location
around the bytes that its row keeps (`meta.store.segment_message`), then what may change. Varints
have a fixed number of bytes, which protobuf allows: lengths two, versions six. A row that does not
fit has no frame; its page is put together in Python (`meta.services.segment_bytes`).

An operation and a concatenation cost Postgres 10 and 50 ns a row, so tags and lengths that stand
side by side are one integer. (Operators on bits have one precedence, hence the brackets.)
"""

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
