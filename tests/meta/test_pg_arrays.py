"""Arrays as text: Postgres reads what was written."""

from uuid import UUID

import psycopg

from meta.store.engine import pg_arrays

TEXTS = [
    ["a"],
    ['"'],
    ["a", 'b"c', "d\\"],
    ["", "NULL", "{x,y}", " z "],
    ['","'],
    ['","', "\\"],
    [],
]
IDS = [UUID(int=0), None, UUID(int=2**128 - 1), UUID("0a1b2c3d-0000-7000-8000-0123456789ab")]


def test_texts_come_back_whatever_they_hold(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        for texts in TEXTS:
            row = connection.execute("SELECT %s::text[]", [pg_arrays.quoted(texts)]).fetchone()
            assert row == (texts,)


def test_ids_come_back(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        for ids in (IDS, []):
            row = connection.execute("SELECT %s::uuid[]", [pg_arrays.uuids(ids)]).fetchone()
            assert row == (ids,)
