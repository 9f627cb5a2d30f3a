"""Object keys: builds and parses the key of every object that Segplane writes.

A key is text relative to the store's base path, its parts joined by single slashes. It names the
store of its object, so an object stays where its key says, even after the configuration changes.
"""

import hashlib
import re
from dataclasses import dataclass

from segments.ids import new_uuid7
from segments.signals import SIGNALS, Signal

BABIES_ROOT = "ingest-stream/"
DATASETS_ROOT = "dataset/"
QUARANTINE_ROOT = "quarantine/"
HIDDEN_ROOT = "hidden/"
REPLACED_ROOT = "replaced/"
TABLES_ROOT = "iceberg/"
WITNESS_ROOT = "witness/"
REVOKED_ROOT = "witness/revoked/"
# Folder that names a store in the keys of a dataset's merged segments, and where it begins: behind
# dataset/<uuid>/merged/.
FOLDER = "store-"
FOLDER_AT = 52
OFFSET_DIGITS = 20
KEY_BYTES_MAX = 900  # S3 allows 1,024 with the base path.
PART_BYTES_MAX = 255  # The limit of file systems for one name.
_NO_PARTS = frozenset(("", ".", ".."))

_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_IS_UUID = re.compile(_UUID)
_STORE_NAME = re.compile("[a-z0-9][a-z0-9-]{0,30}")
_STORE_FOLDER = rf"(?:{FOLDER}({_STORE_NAME.pattern})/)?"
_IN_STORE = re.compile(rf"dataset/[0-9a-f-]{{36}}/merged/{_STORE_FOLDER}")
_BABY = re.compile(rf"ingest-stream/({_UUID})/([0-9]{{20}})")
_MERGED = re.compile(rf"dataset/({_UUID})/merged/{_STORE_FOLDER}({_UUID})\.parquet")
_ATTEMPT = re.compile(
    rf"dataset/({_UUID})/merged/{_STORE_FOLDER}({_UUID})-([1-9][0-9]{{0,8}})/({_UUID})\.parquet"
)
_SIGNAL = "|".join(SIGNALS)
_QUARANTINE = re.compile(
    rf"quarantine/({_UUID})/([0-9]{{20}})/(?:whole|({_UUID}|x[0-9a-f]{{32}})-({_SIGNAL})"
    rf"-([0-9]{{1,9}})(?:-([0-9]{{1,9}})-([0-9a-f]{{16}})(-outside)?)?)(\.json)?"
)
_TABLE = re.compile(
    rf"iceberg/({_UUID})/([0-9]{{1,12}})-{_UUID}/"
    r"(?:manifest\.avro|snapshot-[0-9]{1,19}\.avro|v[0-9]{1,19}\.metadata\.json)"
)
_MARK = re.compile(r"witness/([0-9]{20})/([0-9]{20})")
_REVOKED = re.compile(rf"witness/revoked/(access|ingest)/({_UUID})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_OFFSET_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class BabyKey:
    """A baby segment of an ingest stream."""

    stream_id: str
    offset: int


@dataclass(frozen=True, slots=True)
class MergedKey:
    """A merged segment that a nursery wrote, in a named store; "" = in the default one."""

    dataset_id: str
    object_id: str
    store: str = ""


@dataclass(frozen=True, slots=True)
class AttemptKey:
    """A merged segment that one attempt of a merge task wrote."""

    dataset_id: str
    task_id: str
    attempt: int
    object_id: str
    store: str = ""


@dataclass(frozen=True, slots=True)
class QuarantineKey:
    """Bytes that could not be merged, or the note about them.

    A whole baby has no token_id, signal and slice_index. token_id is a digest if it was not a UUID.
    Records that violate the schema, or `is_outside` the window, have a `verdict` and their `piece`.
    """

    stream_id: str
    offset: int
    token_id: str | None
    signal: str | None
    slice_index: int | None
    is_note: bool
    piece: int | None = None
    verdict: str | None = None
    is_outside: bool = False


@dataclass(frozen=True, slots=True)
class MarkerKey:
    """A note that a segment's object is not live: hidden, or replaced by another object."""

    object_key: str
    is_replaced: bool


@dataclass(frozen=True, slots=True)
class TableKey:
    """An object of a table's metadata; `epoch_secs` is the database's time when it was named."""

    dataset_id: str
    epoch_secs: int


@dataclass(frozen=True, slots=True)
class MarkKey:
    """A mark of the witness, which meta keeps of its database."""

    history: int
    number: int


@dataclass(frozen=True, slots=True)
class RevokedKey:
    """The witness of a revoked token; `kind` is "access" or "ingest"."""

    kind: str
    token_id: str


_SegmentKey = BabyKey | MergedKey | AttemptKey
ObjectKey = _SegmentKey | QuarantineKey | MarkerKey | TableKey | MarkKey | RevokedKey


def check_key(key: str) -> str:
    """Return the key if any store can hold it, else raise ValueError."""
    # A lone surrogate raises a ValueError here.
    size_bytes = len(key) if key.isascii() else len(key.encode())
    if size_bytes > KEY_BYTES_MAX:
        raise ValueError(f"object key has {size_bytes} bytes, more than {KEY_BYTES_MAX}")
    if has_control_characters(key):
        raise ValueError(f"object key {key!r} holds a control character")
    parts = key.split("/")
    if not _NO_PARTS.isdisjoint(parts):
        raise ValueError(f"object key {key!r} has an empty, '.' or '..' part")
    if size_bytes > PART_BYTES_MAX and any(len(p.encode()) > PART_BYTES_MAX for p in parts):
        raise ValueError(f"object key {key!r} has a part of more than {PART_BYTES_MAX} bytes")
    return key


def has_control_characters(text: str) -> bool:
    """Return whether a text has an ASCII or Latin-1 control character; printable text has none."""
    return not text.isprintable() and _CONTROL.search(text) is not None


def join_key(*parts: str) -> str:
    """Join path, prefix and key by exactly one slash; raises ValueError if no key results.

    Empty arguments are skipped; one slash at the end of a part and one at the start of the next
    count as the joint.
    """
    joined = "/".join([part.removesuffix("/").removeprefix("/") for part in parts if part])
    return check_key(joined)


def split_key(key: str) -> tuple[str, str]:
    """Split a key into prefix (without its last slash) and name, as CloudObjectKey carries it."""
    prefix, _, name = check_key(key).rpartition("/")
    return prefix, name


def check_store_name(name: str) -> str:
    """Return a name that a named store may have, else raise ValueError."""
    if not _STORE_NAME.fullmatch(name):
        raise ValueError(
            f"store name {name!r} must have 1 to 31 lower-case letters, digits and hyphens, and"
            " begin with no hyphen"
        )
    return name


def store_folder(store: str) -> str:
    """Return the folder of a named store with its slash; "" for the default store."""
    return f"{FOLDER}{check_store_name(store)}/" if store else ""


def store_of(key: str) -> str:
    """Return the name of the store that has an object; "" is the default store."""
    match = _IN_STORE.match(key)
    return (match[1] or "") if match else ""


def baby_prefix(stream_id: str) -> str:
    """The prefix of all baby segments of a stream, with its last slash."""
    return f"{BABIES_ROOT}{_uuid(stream_id)}/"


def baby_key(stream_id: str, offset: int) -> str:
    """The key of one baby segment; keys order as offsets do."""
    return baby_prefix(stream_id) + _digits(offset)


def merged_prefix(dataset_id: str, store: str = "") -> str:
    """The prefix of a dataset's segments in a store with its last slash; "" = in all of them."""
    return f"{DATASETS_ROOT}{_uuid(dataset_id)}/merged/{store_folder(store)}"


def new_merged_key(dataset_id: str, store: str = "") -> str:
    """A fresh key for a nursery's merged segment."""
    return f"{merged_prefix(dataset_id, store)}{new_uuid7()}.parquet"


def attempt_prefix(dataset_id: str, task_id: str, attempt: int, store: str = "") -> str:
    """The prefix that one attempt (1, 2, ...) of a merge task writes under: its fence."""
    if attempt < 1:
        raise ValueError(f"attempt is {attempt}, expected 1 or more")
    return f"{merged_prefix(dataset_id, store)}{_uuid(task_id)}-{attempt}/"


def table_prefix(dataset_id: str) -> str:
    """The prefix of the metadata of a dataset's table, with its last slash."""
    return f"{TABLES_ROOT}{_uuid(dataset_id)}/"


def new_table_key(dataset_id: str, epoch_secs: int, name: str) -> str:
    """A fresh key for an object of a table's metadata, such as `manifest.avro`."""
    return f"{table_prefix(dataset_id)}{epoch_secs}-{new_uuid7()}/{name}"


def quarantine_key(
    stream_id: str, offset: int, token_id: str, signal: Signal, slice_index: int
) -> str:
    """The key of one slice that would not decode or had no route.

    The token id comes out of the baby, so it can be any text: all but a UUID becomes a digest.
    """
    digest = hashlib.sha256(token_id.encode("utf-8", "surrogatepass")).hexdigest()
    token = token_id if _IS_UUID.fullmatch(token_id) else f"x{digest[:32]}"
    return f"{_quarantine_prefix(stream_id, offset)}{token}-{signal}-{slice_index}"


def quarantine_part_key(key: str, piece: int, verdict: str, *, is_outside: bool = False) -> str:
    """Key of records of a slice or a piece that violate the schema or are outside the window."""
    return f"{key}-{piece}-{verdict}" + "-outside" * is_outside


def quarantine_whole_key(stream_id: str, offset: int) -> str:
    """The key of a baby segment of which nothing could be read."""
    return f"{_quarantine_prefix(stream_id, offset)}whole"


def quarantine_note_key(key: str) -> str:
    """The key of the JSON note about quarantined bytes."""
    return f"{key}.json"


def hidden_key(object_key: str) -> str:
    """The key of the marker of a hidden segment."""
    return check_key(f"{HIDDEN_ROOT}{object_key}")


def replaced_key(object_key: str, new_key: str) -> str:
    """The key of the marker of an object that `new_key`, in the same folder, replaces."""
    return check_key(f"{REPLACED_ROOT}{object_key}/{new_key.rpartition('/')[2]}")


def history_prefix(history: int) -> str:
    """The prefix of one history of the witness, with its last slash."""
    return f"{WITNESS_ROOT}{_digits(history)}/"


def mark_key(history: int, number: int) -> str:
    """The key of one mark of the witness; keys order as histories and numbers do."""
    return history_prefix(history) + _digits(number)


def revoked_key(kind: str, token_id: str) -> str:
    """The key of the witness of a revoked token."""
    return f"{REVOKED_ROOT}{kind}/{_uuid(token_id)}"


def parse_key(key: str) -> ObjectKey | None:
    """Return the object that a key of Segplane names; None for any other key."""
    if match := _BABY.fullmatch(key):
        offset = int(match[2])
        return BabyKey(match[1], offset) if offset <= _OFFSET_MAX else None
    if match := _MERGED.fullmatch(key):
        return MergedKey(match[1], match[3], match[2] or "")
    if match := _ATTEMPT.fullmatch(key):
        return AttemptKey(match[1], match[3], int(match[4]), match[5], match[2] or "")
    if match := _QUARANTINE.fullmatch(key):
        index, piece = (int(match[n]) if match[n] else None for n in (5, 6))
        owner = match[1], int(match[2]), match[3], match[4]
        return QuarantineKey(*owner, index, bool(match[9]), piece, match[7], bool(match[8]))
    if match := _TABLE.fullmatch(key):
        return TableKey(match[1], int(match[2]))
    if key.startswith(HIDDEN_ROOT):
        return MarkerKey(key.removeprefix(HIDDEN_ROOT), is_replaced=False)
    if key.startswith(REPLACED_ROOT) and key.count("/") > 1:
        return MarkerKey(key.removeprefix(REPLACED_ROOT).rpartition("/")[0], is_replaced=True)
    return _parse_witness(key) if key.startswith(WITNESS_ROOT) else None


def _parse_witness(key: str) -> ObjectKey | None:
    if match := _MARK.fullmatch(key):
        return MarkKey(int(match[1]), int(match[2]))
    match = _REVOKED.fullmatch(key)
    return None if match is None else RevokedKey(match[1], match[2])


def _quarantine_prefix(stream_id: str, offset: int) -> str:
    return f"{QUARANTINE_ROOT}{_uuid(stream_id)}/{_digits(offset)}/"


def _uuid(value: str) -> str:
    if not _IS_UUID.fullmatch(value):
        raise ValueError(f"{value!r} is not a lower-case UUID")
    return value


def _digits(offset: int) -> str:
    if 0 <= offset <= _OFFSET_MAX:
        return str(offset).zfill(OFFSET_DIGITS)
    raise ValueError(f"offset is {offset}, expected 0 to 2^63-1")
