"""Fills the kept messages of rows that a test inserts without one."""

from uuid import UUID

from sqlalchemy import Connection, text

from meta.store.engine import pg_arrays
from meta.store.segments.segments import write_message

BATCH_ROWS = 2_000
_MISSING = text("""
    SELECT s.id, d.id, s.start_ns, s.end_ns, s.size_bytes, s.compressed_size_bytes,
           s.number_of_events, s.prefix, s.object_name, s.merge_count
    FROM segments s JOIN datasets d ON d.key = s.dataset_key
    WHERE s.message IS NULL AND s.id > :after ORDER BY s.id LIMIT :most
""")
# Rows are locked in the order of their ids, as merges lock them.
_KEEP = text("""
    UPDATE segments s SET message = new.message
    FROM (SELECT id, message
          FROM unnest(cast(:ids AS uuid[]), cast(:messages AS bytea[])) u (id, message)
               JOIN (SELECT id FROM segments WHERE id = ANY(cast(:ids AS uuid[]))
                     ORDER BY id FOR UPDATE) locked USING (id)) new
    WHERE s.id = new.id AND s.message IS NULL
""")


def fill(connection: Connection) -> None:
    """Fill all, a batch at a time; each is its own transaction on an autocommit connection.

    Nothing that a message holds ever changes, so other writers do not matter.
    """
    after = UUID(int=0)
    while True:
        rows = connection.execute(_MISSING, {"after": after, "most": BATCH_ROWS}).all()
        if not rows:
            return
        messages = []
        for segment_id, dataset_id, start_ns, end_ns, *sizes, prefix, name, merge_count in rows:
            times, key = (start_ns, end_ns), (prefix, name)
            messages.append(
                write_message(segment_id, dataset_id, times, tuple(sizes), key, merge_count)
            )
        values = {
            "ids": pg_arrays.uuids([row[0] for row in rows]),
            "messages": pg_arrays.bytes_or_none(messages),
        }
        connection.execute(_KEEP, values)
        after = rows[-1][0]
