"""Ids: unique, and ordered by their creation."""

import uuid

from segments.ids import new_uuid7


def test_new_ids_order_by_creation() -> None:
    new_ids = [new_uuid7() for _ in range(1_000)]

    assert len(set(new_ids)) == 1_000
    assert all(id_.version == 7 and id_.variant == uuid.RFC_4122 for id_ in new_ids)
    # Equal in the first 60 bits only if made within the same quarter of a microsecond.
    assert [id_.int >> 64 for id_ in new_ids] == sorted(id_.int >> 64 for id_ in new_ids)
