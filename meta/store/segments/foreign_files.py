"""Objects that clients registered without facts: the state of each.

A state is set by who registered an object, and by one reading of it; never by a look at its key.
Objects of nurseries and merges have none: what cannot be read of them is damage.
"""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, bindparam, text

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
_MARK = text("""
    UPDATE segments SET foreign_state = :state, foreign_file = :file
    WHERE id = ANY(:ids) AND facts IS NULL
""").bindparams(bindparam("ids", type_=ARRAY(Uuid)))
_READ_AGAIN = text("""
    UPDATE segments SET foreign_state = :unread, foreign_file = :file
    WHERE id = :id AND foreign_state = :unreadable
""")


def unread_file(time_column: str = "") -> bytes:
    """A serialized ForeignFile that nobody has read."""
    name = time_column.encode()
    named = length_prefix(_TIME_COLUMN, len(name)) + name if name else b""
    return varint(_STATE << 3 | VARINT) + varint(UNREAD) + named


def mark_unread(tx: Transaction, ids: Sequence[UUID], time_column: str = "") -> None:
    """Say that nobody has read some new segments yet; passes over those with facts."""
    file = unread_file(time_column)
    tx.execute(_MARK, {"ids": list(ids), "state": UNREAD, "file": file})


def read_again(tx: Transaction, segment_id: UUID, time_column: str = "") -> None:
    """Let an object that readers leave out be read once more; nothing for others."""
    file = unread_file(time_column)
    values = {"id": segment_id, "unread": UNREAD, "unreadable": UNREADABLE, "file": file}
    tx.execute(_READ_AGAIN, values)
