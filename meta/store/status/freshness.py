"""Baby segments that readers do not see yet, by dataset: the oldest first, counted up to a bound.

    pending heads of streams --> the first baby segments above the floor of each, a share of a bound
      --> their entries that have not merged them --> a row a dataset

The floor is raised every 15 s. Entries have merged what meta/store/streams/merged_offsets.py says.
A baby segment counts for the entries of its stamps; one without stamps, and with records, for every
entry of its stream. A stamp without an entry is of no dataset: its records go to the quarantine.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from meta.store.catalog import shown_names
from meta.store.engine import scope
from meta.store.engine.pool import Transaction
from meta.store.streams.detached_streams import IS_DETACHED
from meta.store.streams.streams import COLLECTOR_ID_SQL

STREAMS_MAX = 20_000
# Stamps that are looked up, and entries of streams with baby segments without stamps.
LOOK_UPS_MAX = 100_000
# Baby segments that are looked at for a single dataset, which needs no look-up for each.
BABIES_OF_ONE_MAX = 1_000_000
# Registrations of offsets alone that may follow the newest one with a segment.
_EMPTY_MAX = 100


@dataclass(frozen=True, slots=True)
class FreshnessRow:
    """A live dataset, and its oldest baby segment that waits; times in nanoseconds, 0 = none."""

    dataset_id: UUID
    dataset_name: str
    oldest_committed_at_nanos: int
    stream_id: UUID | None
    offset: int
    collector_id: str
    is_detached: bool
    babies: int
    size_bytes: int
    # Of whole baby segments, as the bytes are.
    waiting_records: int
    is_at_least: bool
    registered_at_nanos: int


@dataclass(frozen=True, slots=True)
class FreshnessPage:
    """The datasets that have waited longest, and the numbers of all."""

    datasets: list[FreshnessRow]
    waiting_datasets: int
    live_datasets: int
    streams_cut: int


# As nurseries have it: a commit that states a size and no record has none.
_HAS_RECORDS = "(b.num_records > 0 OR b.size_bytes = 0)"
_PENDING = """
    WITH heads AS MATERIALIZED (
      SELECT * FROM stream_heads WHERE is_pending ORDER BY stream_id LIMIT :streams_max
    ), pending AS MATERIALIZED (
      SELECT h.stream_id, h.committed_offset, greatest(h.merged_floor, s.deleted_offset) AS floor
      FROM heads h CROSS JOIN LATERAL (
          SELECT deleted_offset, retired_at FROM ingest_streams WHERE id = h.stream_id OFFSET 0) s
      WHERE h.committed_offset > h.merged_floor AND s.retired_at IS NULL
    )"""
# The oldest baby segments of each stream, as many as have its share of the stamps.
_BABIES = f"""{_PENDING}, share AS MATERIALIZED (
      SELECT cast(:look_ups_max AS bigint) / greatest(count(*), 1) AS most FROM pending
    ), babies AS MATERIALIZED (
      SELECT b.* FROM pending p CROSS JOIN LATERAL (
          SELECT stream_id, "offset", committed_at, size_bytes, num_records,
            dataset_ids[1:(SELECT most FROM share)] AS dataset_ids,
            max("offset") OVER () < p.committed_offset
              OR max(stamps) OVER () > (SELECT most FROM share) AS is_cut
          FROM (
            SELECT w.*, row_number() OVER own AS number,
              sum(coalesce(cardinality(w.dataset_ids), 1)) OVER own AS stamps
            FROM (SELECT * FROM baby_segments
                  WHERE stream_id = p.stream_id AND "offset" > p.floor
                  ORDER BY "offset" LIMIT (SELECT most FROM share)) w
            WINDOW own AS (ORDER BY w."offset")) n
          WHERE n.number = 1 OR n.stamps <= (SELECT most FROM share)) b
    )"""  # noqa: S608
# An entry may have merged some of the baby segments without stamps. The first one that it has not
# is searched in an array, and what waits from there on is summed up beforehand.
_OF_ALL = f"""{_BABIES}, stamped AS (
      SELECT e.dataset_id, b.stream_id, min(b."offset") AS "offset",
        min(b.committed_at) AS committed_at, count(*) AS babies,
        sum(b.size_bytes)::bigint AS size_bytes, sum(b.num_records)::bigint AS records,
        bool_or(b.is_cut) AS is_cut
      FROM babies b CROSS JOIN LATERAL unnest(b.dataset_ids) AS stamp (id)
        CROSS JOIN LATERAL (
          SELECT dataset_id, merged_offset FROM stream_datasets
          WHERE stream_id = b.stream_id AND dataset_id = stamp.id
            AND base_offset < b."offset" OFFSET 0) e
      WHERE e.merged_offset < b."offset" GROUP BY e.dataset_id, b.stream_id
    ), unstamped AS MATERIALIZED (
      SELECT stream_id, bool_or(is_cut) AS is_cut, array_agg("offset" ORDER BY "offset") AS offsets,
        array_agg(committed_at ORDER BY "offset") AS times,
        array_agg(size_bytes ORDER BY "offset") AS sizes,
        array_agg(records ORDER BY "offset") AS records
      FROM (SELECT b.stream_id, b.is_cut, b."offset", b.committed_at,
              (sum(b.size_bytes) OVER behind)::bigint AS size_bytes,
              (sum(b.num_records) OVER behind)::bigint AS records
            FROM babies b WHERE b.dataset_ids IS NULL AND {_HAS_RECORDS}
            WINDOW behind AS (PARTITION BY b.stream_id ORDER BY b."offset" DESC)) u
      GROUP BY stream_id
    ), carried AS MATERIALIZED (
      SELECT e.dataset_id, u.stream_id, u.offsets[p.first] AS "offset",
        u.times[p.first] AS committed_at, cardinality(u.offsets) - p.first + 1 AS babies,
        u.sizes[p.first] AS size_bytes, u.records[p.first] AS records, u.is_cut
      FROM unstamped u CROSS JOIN LATERAL (
          SELECT dataset_id, merged_offset FROM stream_datasets
          WHERE stream_id = u.stream_id OFFSET 0) e
        CROSS JOIN LATERAL (
          SELECT width_bucket(e.merged_offset, u.offsets) + 1 AS first OFFSET 0) p
      LIMIT :look_ups_max
    ), waiting AS (
      SELECT * FROM stamped UNION ALL SELECT * FROM carried WHERE "offset" IS NOT NULL
    ), cut AS MATERIALIZED (
      SELECT count(DISTINCT stream_id) FILTER (WHERE is_cut)
        + CASE WHEN (SELECT count(*) FROM carried) = :look_ups_max
               THEN (SELECT count(*) FROM unstamped WHERE NOT is_cut) ELSE 0 END AS streams
      FROM babies
    )"""  # noqa: S608
_MINE = f"(b.dataset_ids IS NULL AND {_HAS_RECORDS} OR :dataset = ANY(b.dataset_ids))"
_OF_ONE = f"""{_PENDING}, behind AS MATERIALIZED (
      SELECT p.*, greatest(e.merged_offset, p.floor) AS merged
      FROM pending p CROSS JOIN LATERAL (
          SELECT merged_offset FROM stream_datasets
          WHERE stream_id = p.stream_id AND dataset_id = cast(:dataset AS uuid) OFFSET 0) e
      WHERE e.merged_offset < p.committed_offset
    ), share AS MATERIALIZED (
      SELECT cast(:babies_max AS bigint) / greatest(count(*), 1) AS most FROM behind
    ), looked AS MATERIALIZED (
      SELECT k.stream_id, b.*, b.last < k.committed_offset AS is_cut
      FROM behind k CROSS JOIN LATERAL (
        SELECT max("offset") AS last, min("offset") FILTER (WHERE {_MINE}) AS "offset",
          min(committed_at) FILTER (WHERE {_MINE}) AS committed_at,
          count(*) FILTER (WHERE {_MINE}) AS babies,
          (sum(size_bytes) FILTER (WHERE {_MINE}))::bigint AS size_bytes,
          (sum(num_records) FILTER (WHERE {_MINE}))::bigint AS records
        FROM (SELECT * FROM baby_segments
              WHERE stream_id = k.stream_id AND "offset" > k.merged
              ORDER BY "offset" LIMIT (SELECT most FROM share)) b) b
    ), waiting AS (
      SELECT cast(:dataset AS uuid) AS dataset_id, stream_id, "offset", committed_at, babies,
        size_bytes, records, is_cut
      FROM looked WHERE babies > 0
    ), cut AS MATERIALIZED (
      SELECT count(*) FILTER (WHERE is_cut) AS streams FROM looked
    )"""  # noqa: S608
_NANOS = "(extract(epoch FROM {}) * 1000000)::bigint * 1000"
_ASKED = (
    "deleted_at IS NULL AND (cast(:dataset AS uuid) IS NULL OR id = :dataset)"
    f" AND {scope.reaches('datasets')}"
)
# Look-ups and a hashed NOT IN: no estimate makes the planner compare all pairs.
_LISTED = f""", oldest AS MATERIALIZED (
      SELECT DISTINCT ON (dataset_id) dataset_id, stream_id, "offset", committed_at,
        (sum(babies) OVER own)::bigint AS babies, (sum(size_bytes) OVER own)::bigint AS size_bytes,
        (sum(records) OVER own)::bigint AS records, bool_or(is_cut) OVER own AS is_cut
      FROM waiting WINDOW own AS (PARTITION BY dataset_id)
      ORDER BY dataset_id, committed_at, stream_id
    ), alive AS MATERIALIZED (
      SELECT d.name, o.* FROM oldest o CROSS JOIN LATERAL (
          SELECT name FROM datasets
          WHERE id = o.dataset_id AND deleted_at IS NULL AND {scope.reaches("datasets")}
          OFFSET 0) d
    ), fresh AS (
      SELECT name, id, NULL::uuid, NULL::bigint, NULL::timestamptz, 0, 0, 0, false
      FROM datasets
      WHERE {_ASKED} AND :include_fresh AND id NOT IN (SELECT dataset_id FROM alive)
      ORDER BY name, id LIMIT :most
    ), listed AS MATERIALIZED (
      SELECT * FROM (SELECT * FROM alive UNION ALL SELECT * FROM fresh) a
      ORDER BY committed_at NULLS LAST, name, dataset_id LIMIT :most
    )
    SELECT (SELECT count(*) FROM alive), (SELECT count(*) FROM datasets WHERE {_ASKED}),
      cut.streams + (SELECT greatest(count(*) - :streams_max, 0) FROM stream_heads
                     WHERE is_pending), l.*
    FROM cut LEFT JOIN (
        SELECT d.id, {shown_names.of("d")},
          coalesce({_NANOS.format("l.committed_at")}, 0) AS oldest,
          l.stream_id, coalesce(l."offset", 0), coalesce({COLLECTOR_ID_SQL}, ''),
          coalesce({IS_DETACHED.format("s")} AND s.stopped_offset IS NULL, false),
          l.babies, l.size_bytes, l.records, l.is_cut, coalesce({_NANOS.format("r.created_at")}, 0)
        FROM listed l CROSS JOIN LATERAL (
            SELECT * FROM datasets WHERE id = l.dataset_id OFFSET 0) d
          LEFT JOIN LATERAL (
            SELECT * FROM ingest_streams WHERE id = l.stream_id OFFSET 0) s ON true
          LEFT JOIN LATERAL (
            SELECT created_at FROM (
              SELECT created_at, segment_id FROM registrations WHERE dataset_id = l.dataset_id
              ORDER BY version DESC LIMIT {_EMPTY_MAX}) newest
            WHERE segment_id IS NOT NULL LIMIT 1) r ON true) l ON true
    ORDER BY nullif(l.oldest, 0) NULLS LAST, 5
"""  # noqa: S608
_ALL = scope.statement(_OF_ALL + _LISTED)
_ONE = scope.statement(_OF_ONE + _LISTED)


def read(tx: Transaction, most: int, *, include_fresh: bool) -> FreshnessPage:
    """The live datasets of which something waits, oldest first; `include_fresh`, the others too."""
    values = {"look_ups_max": LOOK_UPS_MAX, "dataset": None, "include_fresh": include_fresh}
    return _page(tx, values, most)


def read_one(tx: Transaction, dataset_id: UUID) -> FreshnessPage:
    """The same of a single live dataset, of whose baby segments more are looked at."""
    values = {"babies_max": BABIES_OF_ONE_MAX, "dataset": dataset_id, "include_fresh": True}
    return _page(tx, values, 1)


def _page(tx: Transaction, values: Mapping[str, object], most: int) -> FreshnessPage:
    statement = _ALL if values["dataset"] is None else _ONE
    rows = tx.execute(statement, {**values, "streams_max": STREAMS_MAX, "most": most}).all()
    waiting, live, cut = rows[0][:3]
    datasets = [FreshnessRow(*row[3:]) for row in rows if row[3] is not None]
    return FreshnessPage(datasets, waiting, live, cut)
