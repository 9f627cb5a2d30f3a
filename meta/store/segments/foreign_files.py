"""Objects that clients registered without facts: the state of each.

The registration of an object and one reading of it set a state, never its key. Objects of nurseries
and merges have none: if they cannot be read, that is damage.
"""

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import text

from meta.errors import ForeignRefused
from meta.store.engine.pool import Transaction
from segments.protowire import VARINT, length_prefix, varint

# The numbers of ForeignState.
UNREAD, MAPPED, UNREADABLE = 1, 2, 3
# Fields of ForeignFile.
_STATE, _TIME_COLUMN = 1, 3
# An object that no nursery registered and no merge wrote, and whose writer named no format.
WAS_SAVED = """
    s.merge_count = 0 AND s.format_version IS NULL
    AND NOT EXISTS (SELECT FROM registrations r WHERE r.segment_id = s.id)
    AND NOT EXISTS (SELECT FROM registration_segments r WHERE r.segment_id = s.id)
"""
_SETTINGS = text("""
    SELECT id, refuses_foreign, foreign_time_column FROM datasets WHERE id = ANY(:ids)
""")
_MARK = text("""
    UPDATE segments s SET foreign_state = :state, foreign_file = new.file
    FROM unnest(:ids, :files) AS new (id, file) WHERE s.id = new.id AND s.facts IS NULL
""")
_TIME_COLUMN_OF = text("""
    SELECT d.foreign_time_column FROM segments s JOIN datasets d ON d.key = s.dataset_key
    WHERE s.id = :id
""")
_READ_AGAIN = text("""
    UPDATE segments SET foreign_state = :unread, foreign_file = :file
    WHERE id = :id AND foreign_state = :unreadable
""")


def unread_file(time_column: str = "") -> bytes:
    """A serialized ForeignFile that nobody has read."""
    name = time_column.encode()
    column_field = length_prefix(_TIME_COLUMN, len(name)) + name if name else b""
    return varint(_STATE << 3 | VARINT) + varint(UNREAD) + column_field


def mark_unread(tx: Transaction, saved: Mapping[UUID, UUID]) -> None:
    """Record that some new segments have not been read yet; `saved` are their datasets, by segment.

    The datasets are locked. Raises ForeignRefused.
    """
    if not saved:
        return
    columns: dict[UUID, str] = {}
    for dataset_id, is_refused, time_column in tx.execute(
        _SETTINGS, {"ids": list(set(saved.values()))}
    ):
        if is_refused:
            raise ForeignRefused(
                "the dataset takes no object that is registered without facts: send what is in it"
                " (CreateSegment.facts), or change its settings (foreign_files)",
                dataset_id=dataset_id,
            )
        columns[dataset_id] = time_column
    files = [unread_file(columns[dataset_id]) for dataset_id in saved.values()]
    tx.execute(_MARK, {"ids": list(saved), "files": files, "state": UNREAD})


def read_again(tx: Transaction, segment_id: UUID) -> None:
    """Let an object that readers skip be read once more; nothing for others."""
    time_column = tx.execute(_TIME_COLUMN_OF, {"id": segment_id}).scalar_one()
    values = {"id": segment_id, "unread": UNREAD, "unreadable": UNREADABLE}
    tx.execute(_READ_AGAIN, values | {"file": unread_file(time_column)})
