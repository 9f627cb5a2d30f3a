"""Time as tests let it pass: by what meta and the object store have recorded."""

import os
from pathlib import Path

import psycopg

from segments.keys import baby_prefix
from tests.support.nursery.drivers import CollectorDriver


def let_pass(collector: CollectorDriver, database_url: str, seconds: float) -> None:
    """Make a stream's commits and objects that much older."""
    values = {"id": collector.stream_id, "secs": seconds}
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "UPDATE stream_heads SET last_activity_at = last_activity_at"
            " - make_interval(secs => %(secs)s) WHERE stream_id = %(id)s",
            values,
        )
        connection.execute(
            "UPDATE baby_segments SET committed_at = committed_at"
            " - make_interval(secs => %(secs)s) WHERE stream_id = %(id)s",
            values,
        )
    root = Path("/") / collector.store.location.path
    for info in collector.store.list(baby_prefix(collector.stream_id)):
        modified_at = info.modified_at_nanos - int(seconds * 1e9)
        os.utime(root / info.key, ns=(modified_at, modified_at))
