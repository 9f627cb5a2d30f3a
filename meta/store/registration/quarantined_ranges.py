"""Offsets whose schema violations are in the quarantine, by verdict.

A nursery writes such records before it registers the others. Had it died in between, another one
could have judged by another schema, so an object counts by the registration alone.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import text

from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction
from meta.store.registration.calls import Merge
from meta.store.registration.part import Part
from segments.keys import QuarantineKey
from segments.offsets import OffsetSpan, Quarantined

# Registrations follow one another, so that most of them only move an end.
_ADD = text("""
    WITH new AS (
      SELECT s, a, e FROM unnest(cast(:streams AS uuid[]), cast(:starts AS bigint[]),
                                 cast(:ends AS bigint[])) AS new (s, a, e)
    ), moved AS (
      UPDATE quarantined_ranges SET last_offset = e FROM new
      WHERE stream_id = s AND verdict = :verdict AND last_offset = a - 1
      RETURNING stream_id
    )
    INSERT INTO quarantined_ranges (stream_id, verdict, first_offset, last_offset, dataset_id)
    SELECT s, :verdict, a, e, :dataset FROM new WHERE s NOT IN (SELECT stream_id FROM moved)
    ON CONFLICT DO NOTHING
""")
_COUNTED = text("""
    SELECT n FROM unnest(cast(:streams AS uuid[]), cast(:verdicts AS text[]),
                         cast(:offsets AS bigint[])) WITH ORDINALITY AS k (s, v, o, n)
    WHERE EXISTS (SELECT FROM quarantined_ranges
                  WHERE stream_id = s AND verdict = v AND first_offset <= o AND last_offset >= o)
""")
_IS_HELD = text("""
    SELECT EXISTS (SELECT FROM registrations WHERE stream_id = :stream AND dataset_id = :dataset
                   AND end_offset >= :offset AND start_offset < :offset AND segment_id IS NOT NULL)
        OR EXISTS (SELECT FROM quarantined_ranges WHERE stream_id = :stream
                   AND coalesce(dataset_id, :dataset) = :dataset
                   AND first_offset <= :offset AND last_offset >= :offset)
""")
# The ranges of retired streams have no entry that leads to them.
_OF_DATASET = text("""
    SELECT e.stream_id, sum(r.last_offset - r.first_offset + 1)::bigint
    FROM (SELECT stream_id FROM stream_datasets WHERE dataset_id = :dataset
          ORDER BY stream_id DESC LIMIT :streams) e
    CROSS JOIN LATERAL (
      SELECT * FROM quarantined_ranges
      WHERE stream_id = e.stream_id AND dataset_id = :dataset LIMIT :ranges) r
    GROUP BY e.stream_id ORDER BY e.stream_id
""")
_RESTORE = text("""
    INSERT INTO quarantined_ranges (stream_id, verdict, first_offset, last_offset, dataset_id)
    VALUES (:stream, :verdict, :first, :last, :dataset)
    ON CONFLICT (stream_id, verdict, first_offset)
    DO UPDATE SET last_offset = greatest(quarantined_ranges.last_offset, excluded.last_offset)
""")


FIELD = "quarantined"
# Streams of a dataset that are searched, the newest ones, and its ranges of each that are counted.
STREAMS_MAX = 1_000
RANGES_MAX = 1_000


class QuarantinedRanges(Part):
    """A call states the verdict on records of some of its streams, by stream."""

    def write(self) -> None:
        """Count the quarantined records of the streams."""
        for call in self._calls:
            if call.is_open and (verdicts := _verdicts(call.merge)):
                spans = [move.offsets for move in call.merge.moves]
                add(self._tx, call.merge.dataset_id, verdicts, spans)

    @classmethod
    def describe(cls, merge: Merge) -> Mapping[str, object]:
        """The number of streams with such records."""
        verdicts = _verdicts(merge)
        return {"quarantined_streams": len(verdicts)} if verdicts else {}


def _verdicts(merge: Merge) -> Mapping[UUID, str]:
    verdicts = merge.stated.get(FIELD, {})
    assert isinstance(verdicts, dict)
    return verdicts


def add(
    tx: Transaction, dataset_id: UUID, verdicts: Mapping[UUID, str], spans: Sequence[OffsetSpan]
) -> None:
    """Count the quarantined records of the streams among some spans that have a verdict."""
    for verdict in sorted(set(verdicts.values())):
        verdict_spans = [span for span in spans if verdicts.get(UUID(span.stream_id)) == verdict]
        values = {
            "verdict": verdict,
            "dataset": dataset_id,
            "streams": pg_arrays.uuids([UUID(span.stream_id) for span in verdict_spans]),
            "starts": pg_arrays.numbers([span.start for span in verdict_spans]),
            "ends": pg_arrays.numbers([span.end for span in verdict_spans]),
        }
        tx.execute(_ADD, values)


def restore(tx: Transaction, dataset_id: UUID, quarantined: Quarantined) -> None:
    """Count what the footer of a registered segment says was quarantined."""
    rows = [
        {
            "stream": UUID(span.stream_id),
            "verdict": verdict,
            "first": span.start,
            "last": span.end,
            "dataset": dataset_id,
        }
        for verdict, spans in quarantined
        if verdict
        for span in spans
    ]
    if rows:
        tx.execute(_RESTORE, rows)


def are_held(tx: Transaction, dataset_id: UUID, name: QuarantineKey) -> bool:
    """Return whether a registration holds the records of a payload's baby segment.

    They are rows of the dataset then, or in the quarantine by a verdict that counts.
    """
    values = {"stream": UUID(name.stream_id), "dataset": dataset_id, "offset": name.offset}
    return bool(tx.execute(_IS_HELD, values).scalar_one())


def are_counted(tx: Transaction, names: Sequence[QuarantineKey]) -> list[bool]:
    """Return for each object whether its records are the quarantine's; true without a verdict."""
    values = {
        "streams": [UUID(name.stream_id) for name in names],
        "verdicts": [name.verdict or "" for name in names],
        "offsets": [name.offset for name in names],
    }
    counted = {number - 1 for number in tx.execute(_COUNTED, values).scalars()} if names else set()
    return [name.verdict is None or index in counted for index, name in enumerate(names)]


def of_dataset(tx: Transaction, dataset_id: UUID) -> dict[UUID, int]:
    """Count the offsets with quarantined records of a dataset, by stream; of its streams of now.

    They count permanently, also once the records were replayed or dropped.
    """
    values = {"dataset": dataset_id, "streams": STREAMS_MAX, "ranges": RANGES_MAX}
    return {row[0]: row[1] for row in tx.execute(_OF_DATASET, values)}
