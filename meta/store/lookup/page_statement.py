"""Pages of segments, and segments by id, by one statement each.

A statement is one snapshot and one round trip: of a page it reads the version, the datasets and the
segments. It looks into a part of the datasets, if they are many; a page asks for one part after the
other, at one version. A page that may not be read is refused by `meta.store.lookup.lookup`, which
has the same rules, and the errors.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from meta.access import DEFAULT_TENANT
from meta.errors import Unavailable
from meta.store.engine import driver_statements, pg_arrays, scope
from meta.store.engine.pool import Database
from meta.store.engine.timelines import IS_CURRENT
from meta.store.lookup.held_classes import NEW_SEGMENTS_MAX, NONE_KNOWN, KnownClasses
from meta.store.lookup.lookup import INT64_MIN, Position, TenantParameters, datasets_sql
from meta.store.lookup.page_parts import PagePart, SegmentColumns
from meta.store.segments.segments import DURATION_CLASS_MAX, class_span_nanos
from meta.store.versions.versions import IS_LOST

# Visible datasets that a statement looks into.
DATASETS_MAX = 1_000
# Datasets of a part for which every class of duration is probed; further ones end the part.
DATASETS_PROBED_MAX = 50
CLASSES = range(DURATION_CLASS_MAX + 1)
ID_MAX = UUID(int=2**128 - 1)
BEFORE_ALL = Position(-1, -1, INT64_MIN, ID_MAX)


@dataclass(frozen=True, slots=True)
class PageQuery:
    """Segments in a closed range of event time, at a version, behind a position.

    `requested` is the version to read at, None for the current one. Bit n of `signals` asks for
    signal n; None for all.
    """

    start_ns: int
    last_ns: int
    limit: int
    behind: Position = BEFORE_ALL
    signals: int | None = None
    requested: int | None = None
    min_version: int = 0
    names: Sequence[str] = ()
    classes: KnownClasses = NONE_KNOWN

    def behind_dataset(self, part: "PagePart", classes: KnownClasses) -> "PageQuery":
        """The rest of a page, behind the datasets of its part."""
        assert part.last_key is not None
        return replace(
            self,
            limit=self.limit - len(part.pairs),
            behind=Position(part.last_key + 1, -1, INT64_MIN, ID_MAX),
            requested=part.version,
            classes=classes,
        )


_COLUMNS = ", ".join(SegmentColumns._fields)
# Null for no rows.
_ARRAYS = ", ".join(f"array_agg({column})" for column in SegmentColumns._fields)
# If it is false, another server was configured with a store that this one does not know, and
# would give the segments there the default store's location.
_KNOWS_STORES = "NOT EXISTS (SELECT FROM object_stores WHERE name <> ALL({store_names}))"
_TYPES = {
    "store_names": "text[]",
    "names": "text[]",
    "visible": "uuid[]",
    "tenant": "integer",
    "naming_tenant": "integer",
    "requested": "bigint",
    "min_version": "bigint",
    "known_keys": "integer[]",
    "known_versions": "bigint[]",
    "known_masks": "integer[]",
    "key_behind": "bigint",
    "class_behind": "bigint",
    "start_behind": "bigint",
    "id_behind": "uuid",
    "id_max": "uuid",
    "lows": "bigint[]",
    "start_ns": "bigint",
    "last_ns": "bigint",
    "signals": "smallint",
    "most": "bigint",
}
_PARAMETERS = {name: f"${n}::{kind}" for n, (name, kind) in enumerate(_TYPES.items(), 1)}
# One range of the index after the other, in the order of the page: a range begins behind `low` of
# its class, that of the position behind that, and ranges behind the limit are never read. Rows come
# in that order: joined by nested loops alone, since each part refers to the one before it, with
# `place` on the outside and start and id as the innermost part sorts them. Postgres knows the first
# of these and sorts nothing; an ORDER BY that named all would sort rows in order, for 0.5 ms of a
# thousand. A test looks at the plan.
# `asked` has the values that the planner estimates by: read through a row, they never make a custom
# plan seem cheaper than the generic one, and planning takes longer than running.
_PAGE = f"""
WITH asked AS MATERIALIZED (
  SELECT :names AS names, :visible AS visible, :tenant AS tenant,
         :naming_tenant AS naming_tenant, :known_keys AS known_keys,
         :known_versions AS known_versions, :known_masks AS known_masks,
         :start_ns AS start_ns, :last_ns AS last_ns, :most AS most),
state AS MATERIALIZED (
  SELECT {IS_CURRENT} IS TRUE AS is_current, version AS counter,
         extract(epoch FROM now())::bigint AS now_secs,
         coalesce(:requested, version) AS version FROM meta_state),
visible AS MATERIALIZED ({
    datasets_sql(
        version="(SELECT version FROM state)",
        names="(SELECT names FROM asked)",
        visible="(SELECT visible FROM asked)",
        tenants=TenantParameters(":is_reached", "(SELECT naming_tenant FROM asked)"),
    )
}),
batch AS MATERIALIZED (
  SELECT v.key, n.num_segments AS num_new,
         k.key IS NULL OR n.num_segments >= {NEW_SEGMENTS_MAX} AS is_unknown,
         CASE WHEN k.key IS NULL OR n.num_segments >= {NEW_SEGMENTS_MAX}
              THEN {2 ** len(CLASSES) - 1} ELSE k.mask | coalesce(n.mask, 0) END AS mask
  FROM (SELECT key FROM visible WHERE key >= :key_behind
        ORDER BY key LIMIT {DATASETS_MAX}) v
  LEFT JOIN unnest((SELECT known_keys FROM asked), (SELECT known_versions FROM asked),
                   (SELECT known_masks FROM asked)) k (key, version, mask)
         ON k.key = v.key AND k.version <= (SELECT counter FROM state)
  LEFT JOIN LATERAL (
    SELECT count(*) AS num_segments, bit_or(1 << dur_class) AS mask
    FROM (SELECT s.dur_class FROM segments s
          WHERE s.dataset_key = v.key AND s.created_version > k.version
          ORDER BY s.created_version LIMIT {NEW_SEGMENTS_MAX}) r) n ON k.key IS NOT NULL),
part AS MATERIALIZED (
  SELECT coalesce((SELECT key FROM batch WHERE is_unknown
                   ORDER BY key OFFSET {DATASETS_PROBED_MAX} LIMIT 1) - 1,
                  (SELECT max(key) FROM batch)) AS last_key),
rules AS MATERIALIZED (
  SELECT {_KNOWS_STORES.format(store_names=":store_names")}
     AND is_current AND counter >= :min_version AND version <= counter
     AND (:requested IS NULL OR NOT ({IS_LOST.format(version="state.version")}))
     AND (SELECT names IS NULL
            OR (SELECT count(DISTINCT name) FROM visible) = cardinality(names) FROM asked)
     AND NOT EXISTS (SELECT FROM visible
                     WHERE deletion_horizon > state.version AND NOT is_pinned) AS is_readable
  FROM state),
page AS (
  SELECT s.*, d.pair
  FROM (SELECT (packed >> 18)::integer AS key, c::smallint AS dur_class, place,
               packed >> 18 << 5 | c AS pair,
               packed >> 18 << 5 | c = :key_behind << 5 | :class_behind AS is_begun
        FROM unnest(ARRAY(
               SELECT key::bigint << 18 | mask FROM batch
               WHERE (SELECT is_readable FROM rules) AND key <= (SELECT last_key FROM part)
               ORDER BY key)) WITH ORDINALITY u (packed, place)
             CROSS JOIN LATERAL generate_series((packed & 0)::integer, {CLASSES[-1]}) c
        WHERE packed >> c & 1 = 1
          AND packed >> 18 << 5 | c >= :key_behind << 5 | :class_behind) d
  CROSS JOIN LATERAL (
    SELECT start_ns, id, {_COLUMNS}
    FROM segments
    WHERE dataset_key = d.key AND dur_class = d.dur_class
      AND (start_ns, id) > (
        CASE WHEN d.is_begun THEN :start_behind
             ELSE (:lows)[d.dur_class + 1] END,
        CASE WHEN d.is_begun THEN :id_behind ELSE :id_max END)
      AND start_ns <= (SELECT last_ns FROM asked)
      AND end_ns >= (SELECT start_ns FROM asked) AND created_version <= (SELECT version FROM state)
      AND (tombstone_version IS NULL OR tombstone_version > (SELECT version FROM state))
      AND (:signals IS NULL OR signals IS NULL OR signals & :signals <> 0)
    ORDER BY start_ns, id LIMIT (SELECT most FROM asked)) s
  ORDER BY d.place LIMIT (SELECT most FROM asked))
SELECT (SELECT is_readable FROM rules), (SELECT is_current FROM state),
  (SELECT counter FROM state), (SELECT now_secs FROM state), (SELECT version FROM state),
  ARRAY(SELECT key::bigint << 18 | mask FROM batch WHERE num_new > 0 AND NOT is_unknown),
  ARRAY(SELECT key FROM batch WHERE is_unknown),
  (SELECT last_key FROM part WHERE EXISTS (SELECT FROM visible WHERE key > last_key)),
  array_agg(pair), {_ARRAYS}
FROM page
"""  # noqa: S608
_TENANT = "(SELECT tenant FROM asked)"
_OF_TENANT = f"d.tenant_key = {_TENANT}"
# The planner takes each tenant for one of average size, and so would read all datasets to find
# those of a small one. It expects few keys of an array.
_OF_SMALL_TENANT = f"""{_OF_TENANT} AND v.dataset_key = ANY(ARRAY(
      SELECT o.key FROM datasets o WHERE o.tenant_key = {_TENANT}))"""  # noqa: S608


def _page(is_reached: str) -> bytes:
    sql = _PAGE.replace(":is_reached", is_reached)
    return re.sub(r"(?<!:):([a-z]\w*)", lambda m: _PARAMETERS[m[1]], sql).encode()


# For operators who name no tenant, and for callers of `default`; the last is for other tenants.
_PAGES = {None: _page("true"), DEFAULT_TENANT: _page(_OF_TENANT)}
_PAGE_OF_TENANT = _page(_OF_SMALL_TENANT)
_BY_IDS = f"""
SELECT {_KNOWS_STORES.format(store_names="$3::text[]")}, {_ARRAYS}
FROM (SELECT {_COLUMNS}
      FROM unnest($1::uuid[]) WITH ORDINALITY asked (segment_id, place)
           JOIN segments ON id = segment_id
      WHERE ($2::uuid[] IS NULL
             OR dataset_key IN (SELECT key FROM datasets WHERE id = ANY($2::uuid[])))
        AND ($4::integer IS NULL
             OR EXISTS (SELECT FROM datasets d
                        WHERE d.key = dataset_key AND d.tenant_key = $4::integer))
      ORDER BY place) r
""".encode()  # noqa: S608


@dataclass(frozen=True, slots=True)
class SegmentStatements:
    """The statements of a server that knows some named stores.

    Both raise Conflict while a migration is under way, and Unavailable.
    """

    store_names: Sequence[str] = ()

    def read_page(self, database: Database, query: PageQuery) -> PagePart:
        """Read a page, or the first part of it."""
        return to_part(driver_statements.fetch_row(database, *self.bound(query)))

    def read_by_ids(self, database: Database, ids: Sequence[UUID]) -> SegmentColumns:
        """The segments that the caller may see, in the order of distinct `ids`.

        Tombstoned ones too.
        """
        tenant = scope.tenant_key()
        values = [
            pg_arrays.uuids(ids),
            _visible(),
            pg_arrays.quoted(self.store_names),
            None if tenant is None else str(tenant),
        ]
        knows_stores, *arrays = driver_statements.fetch_row(database, _BY_IDS, values)
        if not knows_stores:
            raise Unavailable("this server lacks an object store of another one")
        return _columns(arrays)

    def bound(self, query: PageQuery) -> tuple[bytes, list[str | None]]:
        """The statement of a page and the values of its parameters."""
        values = _bounds(query) | {
            "store_names": pg_arrays.quoted(self.store_names),
            "requested": query.requested,
            "min_version": query.min_version,
            "names": pg_arrays.quoted(query.names) if query.names else None,
            "visible": _visible(),
            "tenant": scope.tenant_key(),
            "naming_tenant": scope.naming_key(),
            "known_keys": query.classes.keys,
            "known_versions": query.classes.versions,
            "known_masks": query.classes.masks,
            "most": query.limit + 1,
        }
        # As texts their types do not depend on their sizes, so one prepared statement is enough.
        return _PAGES.get(scope.tenant_key(), _PAGE_OF_TENANT), [
            None if values[n] is None else str(values[n]) for n in _TYPES
        ]


def to_part(row: Sequence[Any]) -> PagePart:
    """The answer of the statement of a page."""
    *state, pairs = row[: -len(SegmentColumns._fields)]
    return PagePart._make((*state, pairs or (), _columns(row[-len(SegmentColumns._fields) :])))


def _columns(arrays: Sequence[Any]) -> SegmentColumns:
    columns = SegmentColumns() if arrays[0] is None else SegmentColumns._make(arrays)
    count, missing = len(columns.message), columns.message.count(None)
    assert not missing, f"{missing} of {count} segments do not keep their message"
    return columns


def _visible() -> str | None:
    visible = scope.visible_ids()
    return None if visible is None else pg_arrays.uuids(visible)


def _bounds(query: PageQuery) -> dict[str, object]:
    """The values of the beginning of each class, and of the page."""
    lows = [max(INT64_MIN, query.start_ns - class_span_nanos(c)) for c in CLASSES]
    behind = query.behind
    start_behind, id_behind = INT64_MIN, ID_MAX
    if behind.dur_class in CLASSES:
        start_behind, id_behind = max(
            (lows[behind.dur_class], ID_MAX), (behind.start_ns, behind.segment_id)
        )
    return {
        "lows": pg_arrays.numbers(lows),
        "key_behind": behind.dataset_key,
        "class_behind": behind.dur_class,
        "start_behind": start_behind,
        "id_behind": id_behind,
        "id_max": ID_MAX,
        "start_ns": query.start_ns,
        "last_ns": query.last_ns,
        "signals": query.signals,
    }
