"""Merged offsets of entries, stored or implied: see docs/adr/0020-implied-offsets.md.

An entry's row says how far registrations have moved it. Beyond that it has merged whatever holds
nothing of its dataset: its merged offset is the one before the first baby segment that may hold
something, or the committed offset. That is computed when it is asked for, so an entry that receives
nothing costs no row, no version and no statement.

A baby segment may hold records of the datasets that it is stamped with. One without stamps, or with
a stamp of a dataset that had no entry when it was committed, has to be read by a nursery before
anything passes it: it counts for every entry of its stream, and each of them is moved past it by a
registration. The stop message that MarkStreamStopped commits counts for none.

`stream_heads.merged_floor` only shortens the search: at or below it every entry has merged all that
may be its own. It is raised behind the lock of the head, under which entries are created.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import text

from meta.store.engine.pool import Transaction

# Entries of a stream that a poll has because they have to pass a foreign stamp.
PASSING_MAX = 1_000


@dataclass(frozen=True, slots=True)
class EntryRow:
    """One dataset of a stream, and how far it has merged, stored or implied."""

    stream_id: UUID
    dataset_id: UUID
    merged_offset: int
    merged_ingest_time_nanos: int
    created_at_nanos: int
    # Nothing at or below it is merged from here, whatever is stamped there.
    base_offset: int


@dataclass(frozen=True, slots=True)
class Passed:
    """Streams with unmerged baby segments that every entry has to pass.

    `whole` have some without stamps, which may be of any entry. `foreign` are stamps of datasets
    that had no entry then, by stream: a nursery reads these baby segments for the quarantine alone.
    """

    whole: frozenset[UUID] = frozenset()
    foreign: Mapping[UUID, tuple[UUID, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Backlogs:
    """Streams whose entries are asked for, and the search for what they have to merge.

    A search begins above the stream's floor, at which every entry has merged everything, and takes
    `babies_max` baby segments, or all (None). Entries that have nothing to merge among these have
    merged up to the last of them at least, which is what is answered.
    """

    floors: Mapping[UUID, int]
    babies_max: int | None = None

    @classmethod
    def whole(cls, stream_ids: Iterable[UUID]) -> "Backlogs":
        """A search through everything that is not merged."""
        return cls(dict.fromkeys(stream_ids, -1))

    def values(self) -> dict[str, object]:
        """The parameters of its statements."""
        return {
            "streams": list(self.floors),
            "floors": list(self.floors.values()),
            "babies_max": self.babies_max,
        }


# The stop message that MarkStreamStopped commits has stamps, of no dataset; a commit without stamps
# has none.
_HAS_OBJECT = "coalesce(cardinality(b.dataset_ids), 1) > 0"
# True if the baby is one of every entry of its stream. Here and below each stamp is a look-up:
# joins would read all entries for each baby.
_IS_ANYONES = """(b.dataset_ids IS NULL OR EXISTS (
    SELECT FROM unnest(b.dataset_ids) AS stamp (id) WHERE (
      SELECT x.dataset_id FROM stream_datasets x
      WHERE x.stream_id = b.stream_id AND x.dataset_id = stamp.id
        AND x.base_offset < b."offset") IS NULL))"""
# In nanoseconds, like the times that nurseries register.
SECONDS = "extract(epoch FROM date_trunc('second', {}))::bigint * 1000000000"
_IS_UNMERGED = 'e.merged_offset < b."offset"'


def awaited_by(condition: str) -> str:
    """A condition of baby segment `b`: it may be of an entry `e` that meets `condition`."""
    return f"""({_HAS_OBJECT} AND (EXISTS (
        SELECT FROM unnest(b.dataset_ids) AS stamp (id) CROSS JOIN LATERAL (
            SELECT * FROM stream_datasets
            WHERE stream_id = b.stream_id AND dataset_id = stamp.id OFFSET 0) e
        WHERE {condition})
      OR ({_IS_ANYONES} AND EXISTS (
        SELECT FROM stream_datasets e WHERE e.stream_id = b.stream_id AND {condition}))))"""  # noqa: S608


def may_be_of(dataset: str) -> str:
    """A condition of baby segment `b`: it may hold records of a dataset that has an entry."""
    return f"({_HAS_OBJECT} AND ({dataset} = ANY(b.dataset_ids) OR {_IS_ANYONES}))"


def first_unmerged(stream: str, after: str, and_entry: str = "") -> str:
    """The first offset above `after` that some entry `e` of a stream may still have to merge."""
    return f"""(SELECT b."offset" FROM baby_segments b
      WHERE b.stream_id = {stream} AND b."offset" > {after}
        AND {awaited_by(_IS_UNMERGED + and_entry)}
      ORDER BY b."offset" LIMIT 1)"""  # noqa: S608


def of_entry(entry: str, stream: str, head: str) -> str:
    """The merged offset of an entry, whose stream and head are rows of the statement too."""
    return f"""coalesce((SELECT b."offset" FROM baby_segments b
      WHERE b.stream_id = {entry}.stream_id AND b."offset" > greatest(
          {entry}.merged_offset, {stream}.deleted_offset, {head}.merged_floor)
        AND {may_be_of(f"{entry}.dataset_id")}
      ORDER BY b."offset" LIMIT 1) - 1, {head}.committed_offset)"""  # noqa: S608


def has_entries(stream: str) -> str:
    """A condition of a stream. EXISTS might read the entries of all streams into a hash table."""
    return f"((SELECT true FROM stream_datasets n WHERE n.stream_id = {stream}.id LIMIT 1) IS TRUE)"  # noqa: S608


def lowest_in(stream: str, head: str, and_entry: str = "") -> str:
    """The smallest merged offset of a stream's entries, null if it has none.

    Of the entries `e` that meet `and_entry` only; stream and head are rows of the statement.
    """
    floor = f"greatest({stream}.deleted_offset, {head}.merged_floor)"
    return f"""(CASE WHEN {has_entries(stream)}
      THEN coalesce({first_unmerged(f"{stream}.id", floor, and_entry)} - 1,
                    {head}.committed_offset) END)"""


def lowest(stream_id: str) -> str:
    """The smallest merged offset of a stream's entries, null if it has none."""
    return f"""(SELECT {lowest_in("i", "x")} FROM ingest_streams i
      JOIN stream_heads x ON x.stream_id = i.id WHERE i.id = {stream_id})"""  # noqa: S608


# Babies of some streams are read once, however many entries there are.
_HELD = f"""
    WITH floors AS (
      SELECT w.id, h.committed_offset, greatest(w.floor, s.deleted_offset, h.merged_floor) AS floor
      FROM unnest(cast(:streams AS uuid[]), cast(:floors AS bigint[])) AS w (id, floor)
        -- Looked up, so that the streams lead.
        CROSS JOIN LATERAL (SELECT * FROM ingest_streams WHERE id = w.id OFFSET 0) s
        CROSS JOIN LATERAL (SELECT * FROM stream_heads WHERE stream_id = w.id OFFSET 0) h
    ), bounds AS MATERIALIZED (
      SELECT w.id, w.committed_offset, w.floor, coalesce(
        CASE WHEN w.committed_offset - w.floor > cast(:babies_max AS bigint) THEN (
          SELECT b."offset" FROM baby_segments b
          WHERE b.stream_id = w.id AND b."offset" > w.floor
          ORDER BY b."offset" OFFSET cast(:babies_max AS bigint) - 1 LIMIT 1) END,
        w.committed_offset) AS last, (
          SELECT committed_at FROM baby_segments b
          WHERE b.stream_id = w.id AND b."offset" = w.committed_offset) AS committed_at
      FROM floors w
    ), held AS MATERIALIZED (
      SELECT b.stream_id, b."offset", stamp.id AS stamp, e.dataset_id, e.merged_offset
      FROM bounds k CROSS JOIN LATERAL (
          SELECT * FROM baby_segments b
          WHERE b.stream_id = k.id AND b."offset" > k.floor AND b."offset" <= k.last
            AND {_HAS_OBJECT} OFFSET 0) b
        LEFT JOIN LATERAL unnest(b.dataset_ids) AS stamp (id) ON true
        -- A look-up a stamp: a join might read all entries.
        LEFT JOIN LATERAL (
          SELECT dataset_id, merged_offset FROM stream_datasets
          WHERE stream_id = b.stream_id AND dataset_id = stamp.id
            AND base_offset < b."offset" OFFSET 0) e ON true
    ), stamped AS MATERIALIZED (
      SELECT stream_id, dataset_id, min("offset") AS first FROM held
      WHERE merged_offset < "offset" GROUP BY stream_id, dataset_id
    ), anyones AS MATERIALIZED (
      SELECT DISTINCT stream_id, "offset" FROM held WHERE dataset_id IS NULL
    )"""  # noqa: S608
_MERGED = """greatest(e.merged_offset, least(k.last, o.first - 1, (
          SELECT min(a."offset") - 1 FROM anyones a
          WHERE a.stream_id = e.stream_id AND a."offset" > e.merged_offset))) AS merged"""
_COLUMNS = f"""stream_id, dataset_id, merged,
      CASE WHEN merged = merged_offset THEN merged_ingest_time_nanos ELSE
        coalesce(CASE WHEN merged = committed_offset THEN {SECONDS.format("committed_at")} ELSE (
            SELECT {SECONDS.format("b.committed_at")} FROM baby_segments b
            WHERE b.stream_id = e.stream_id AND b."offset" = merged) END,
          merged_ingest_time_nanos) END,
      (extract(epoch FROM created_at) * 1000000)::bigint * 1000, base_offset"""  # noqa: S608
_READ = text(f"""{_HELD}, entries AS (
      SELECT e.*, k.committed_offset, k.committed_at, {_MERGED}
      FROM bounds k JOIN stream_datasets e ON e.stream_id = k.id
        LEFT JOIN stamped o ON o.stream_id = e.stream_id AND o.dataset_id = e.dataset_id
      WHERE cast(:datasets AS uuid[]) IS NULL
        OR e.dataset_id = ANY(cast(:datasets AS uuid[]))
    )
    SELECT {_COLUMNS} FROM entries e ORDER BY stream_id, dataset_id
""")  # noqa: S608
_READ_UNMERGED = text(f"""{_HELD}, passed AS MATERIALIZED (
      SELECT stream_id, max("offset") AS last, bool_or(stamp IS NULL) AS is_whole
      FROM held WHERE dataset_id IS NULL GROUP BY stream_id
    ), keys AS (
      SELECT stream_id, dataset_id FROM stamped
      UNION SELECT e.stream_id, e.dataset_id FROM passed p CROSS JOIN LATERAL (
          SELECT stream_id, dataset_id FROM stream_datasets
          WHERE stream_id = p.stream_id AND (p.is_whole OR merged_offset < p.last)
          ORDER BY dataset_id LIMIT CASE WHEN NOT p.is_whole THEN {PASSING_MAX} END) e
      -- Where it has one, it began later: a nursery has to know where.
      UNION SELECT stream_id, stamp FROM held WHERE dataset_id IS NULL AND stamp IS NOT NULL
      UNION SELECT s, d FROM unnest(cast(:named_streams AS uuid[]),
                                    cast(:named_datasets AS uuid[])) AS named (s, d)
    ), entries AS (
      SELECT e.*, k.committed_offset, k.committed_at, {_MERGED}
      FROM keys q JOIN bounds k ON k.id = q.stream_id CROSS JOIN LATERAL (
          SELECT * FROM stream_datasets
          WHERE stream_id = q.stream_id AND dataset_id = q.dataset_id OFFSET 0) e
        LEFT JOIN stamped o ON o.stream_id = e.stream_id AND o.dataset_id = e.dataset_id
    )
    SELECT {_COLUMNS} FROM entries e ORDER BY stream_id, dataset_id
""")  # noqa: S608
_READ_PASSED = text(f"""{_HELD}
    SELECT stream_id, bool_or(stamp IS NULL),
      coalesce(array_agg(DISTINCT stamp) FILTER (WHERE stamp IS NOT NULL), '{{}}')
    FROM held WHERE dataset_id IS NULL GROUP BY stream_id
""")  # noqa: S608
_LOWEST = text(f"SELECT {lowest('cast(:stream AS uuid)')}")


def read(
    tx: Transaction, backlogs: Backlogs, dataset_ids: Sequence[UUID] | None = None
) -> list[EntryRow]:
    """The entries of streams by their keys, of some datasets or all."""
    values = {**backlogs.values(), "datasets": dataset_ids}
    return [EntryRow(*row) for row in tx.execute(_READ, values)]


def read_unmerged(
    tx: Transaction, backlogs: Backlogs, pairs: Sequence[tuple[UUID, UUID]] = ()
) -> list[EntryRow]:
    """The entries with something to merge, and those that are named.

    All of a stream in `Passed.whole`; some of those that have to pass a foreign stamp.
    """
    values = {
        **backlogs.values(),
        "named_streams": [stream_id for stream_id, _ in pairs],
        "named_datasets": [dataset_id for _, dataset_id in pairs],
    }
    return [EntryRow(*row) for row in tx.execute(_READ_UNMERGED, values)]


def read_passed(tx: Transaction, backlogs: Backlogs) -> Passed:
    """Unmerged baby segments that every entry of their stream has to pass."""
    rows = tx.execute(_READ_PASSED, backlogs.values()).all()
    return Passed(
        frozenset(stream_id for stream_id, is_whole, _ in rows if is_whole),
        {stream_id: tuple(foreign) for stream_id, _, foreign in rows},
    )


def of_stream(
    tx: Transaction, stream_id: UUID, dataset_ids: Sequence[UUID] | None = None
) -> dict[UUID, int]:
    """The merged offset of each dataset of a stream, or of some of them."""
    rows = read(tx, Backlogs.whole([stream_id]), dataset_ids)
    return {row.dataset_id: row.merged_offset for row in rows}


def lowest_of(tx: Transaction, stream_id: UUID) -> int | None:
    """The smallest merged offset of a stream; None if it has no entry."""
    floor: int | None = tx.execute(_LOWEST, {"stream": stream_id}).scalar_one()
    return floor
