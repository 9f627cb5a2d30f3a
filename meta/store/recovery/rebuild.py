"""Fills an empty database with a catalog reconstructed from the bucket.

No RPC does this: it writes ids, offsets and history that meta otherwise makes itself. It all
happens in one transaction, and holds deletion until an operator has looked.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby, islice
from uuid import UUID

from sqlalchemy import insert, select, text

from meta.access import DEFAULT
from meta.store.catalog import dataset_counters, dataset_layouts, groups
from meta.store.catalog.dataset_layouts import Layout, PromotedColumnRow
from meta.store.damage import replays
from meta.store.engine.pool import Transaction
from meta.store.locks import resource_locks
from meta.store.recovery import restored_streams, returned_tenants
from meta.store.recovery.name_numbers import RestoredName
from meta.store.recovery.restored_streams import (
    ROWS_AT_ONCE,
    insert_rows,
    moment,
    registration_row,
)
from meta.store.recovery.returned_tenants import RestoredTenant
from meta.store.registration import quarantined_ranges
from meta.store.segments import segments
from meta.store.segments.segments import NewSegment
from meta.store.tables.catalog import dataset_visibility, datasets
from meta.store.tables.segments import registrations
from meta.store.tables.server import audit_log
from meta.store.versions.versions import Version
from segments.inventory.streams import EndedStream
from segments.offsets import Quarantined


class DatabaseNotEmpty(Exception):
    """The database is not empty; the message names the rows."""


@dataclass(frozen=True, slots=True)
class RestoredSegment:
    """A live segment; `spans` are (stream, first offset, last offset) whose records it holds."""

    new: NewSegment
    merge_count: int
    created_at_nanos: int
    spans: tuple[tuple[UUID, int, int], ...]
    quarantined: Quarantined = ()


@dataclass(frozen=True, slots=True)
class Catalog:
    """All that is written; `names` has one for every dataset, `layouts` for those with segments.

    `segments` come once, by dataset and by how often they were merged.
    `numbered_columns` are the promoted columns whose field ids segments carry; `replayed` are
    payloads of the quarantine, by object key, whose records are in segments of a dataset.
    """

    names: Mapping[UUID, RestoredName]
    segments: Iterable[RestoredSegment]
    streams: tuple[EndedStream, ...]
    layouts: Mapping[UUID, Layout]
    numbered_columns: Mapping[UUID, tuple[PromotedColumnRow, ...]]
    replayed: Mapping[str, UUID] = field(default_factory=dict)
    groups: Mapping[UUID, RestoredName] = field(default_factory=dict)
    tenants: Mapping[UUID, RestoredTenant] = field(default_factory=dict)


_HOLDS = text(
    "SELECT EXISTS (SELECT FROM segments) OR EXISTS (SELECT FROM object_identities) AS segments,"
    " EXISTS (SELECT FROM ingest_streams) AS streams, EXISTS (SELECT FROM groups) AS groups,"
    " EXISTS (SELECT FROM tenants WHERE key <> 0) AS tenants"
)
_TAKEN = select(datasets.c.id, datasets.c.name, datasets.c.deleted_at, datasets.c.is_default)
# Above every version that a lost database can have handed out: none of them counted more than a
# million changes a second since 1970. All versions below answer VERSION_EXPIRED.
_JUMP = text(
    "UPDATE meta_state SET version = v, gap_start = 0, gap_end = v, history_floor = v,"
    " removals_floor = v, deletion_held = true"
    " FROM (SELECT greatest(version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
    "  AS v FROM meta_state) AS jump RETURNING v"
)
_DATE_SEGMENT = text("UPDATE segments SET created_at = :at WHERE id = :segment")
_COMMAND = "segplane catalog rebuild"
_INSERT_DATASET = insert(datasets).returning(datasets.c.key)


def write(tx: Transaction, catalog: Catalog, default_name: str) -> Version:
    """Write a catalog into an empty database; answers the version at which readers see it.

    The dataset named `default_name` becomes the default one, unless there is one. Raises
    DatabaseNotEmpty.
    """
    # The version is drawn first here: concurrent writers wait until the rebuild has committed.
    version = Version(tx.execute(_JUMP).scalar_one())
    has_default = _check_empty(tx, catalog.names)
    keys = {DEFAULT.id: DEFAULT.key} | {
        tenant_id: returned_tenants.insert(tx, tenant_id, tenant)
        for tenant_id, tenant in catalog.tenants.items()
    }
    for entry_id, group in catalog.groups.items():
        numbers = (group.name_number, group.noted_number)
        groups.restore(tx, entry_id, group.name, numbers, version, keys[group.tenant_id])
    for dataset_id, name in sorted(catalog.names.items()):
        is_default = name.is_plain and name.name == default_name and not has_default
        tenant_key = keys[name.tenant_id]
        insert_dataset(tx, dataset_id, name, version, tenant_key, is_default=is_default)
        layout = catalog.layouts.get(dataset_id, Layout())
        dataset_layouts.replace_sharding_fields(tx, dataset_id, layout.sharding_fields)
        numbered = catalog.numbered_columns.get(dataset_id, ())
        dataset_layouts.restore_field_ids(tx, dataset_id, numbered)
        dataset_layouts.replace_promoted_columns(tx, dataset_id, layout.promoted_columns)
    num_segments = 0
    for _, restored in groupby(catalog.segments, lambda s: s.new.dataset_id):
        num_segments += _write_dataset(tx, restored, version)
    restored_streams.write_babies(tx, catalog.streams)
    # The version is the time of the rebuild, in microseconds.
    restored_streams.write_streams(tx, catalog.streams, version, stopped_at_nanos=version * 1_000)
    replays.restore(tx, catalog.replayed, version, _COMMAND)
    detail = f"{num_segments} segments, {len(catalog.streams)} streams"
    values = {"rpc": _COMMAND, "subject_id": str(version), "detail": detail}
    tx.execute(insert(audit_log), values)
    return version


def awaited_name(dataset_id: UUID | str) -> RestoredName:
    """The name of a dataset that came back, until its name is taken from the bucket."""
    return RestoredName(f"reconciled-{dataset_id}", noted_number=None)


def insert_awaited(tx: Transaction, dataset_id: UUID, version: Version) -> None:
    """Write a dataset that came back, until its name and its tenant are taken from the bucket.

    If there are several tenants, operators alone see it until then.
    """
    tenant_key = returned_tenants.awaited_key(tx)
    insert_dataset(tx, dataset_id, awaited_name(dataset_id), version, tenant_key)


def insert_dataset(
    tx: Transaction,
    dataset_id: UUID,
    name: RestoredName,
    version: Version,
    tenant_key: int,
    *,
    is_default: bool = False,
) -> None:
    """Write a dataset that the bucket knows, visible from a version on."""
    values = {"id": dataset_id, "is_default": is_default, "tenant_key": tenant_key, **asdict(name)}
    del values["tenant_id"]
    key = tx.execute(_INSERT_DATASET, values).scalar_one()
    dataset_counters.begin(tx, key)
    tx.execute(insert(dataset_visibility), {"dataset_key": key, "from_version": version})
    resource_locks.hold_again(tx, [dataset_id])


def _check_empty(tx: Transaction, names: Mapping[UUID, RestoredName]) -> bool:
    """Raise DatabaseNotEmpty, or return whether there is a default dataset."""
    for what, is_there in tx.execute(_HOLDS).mappings().one().items():
        if is_there:
            raise DatabaseNotEmpty(f"the database holds {what}: a rebuild wants an empty one")
    has_default = False
    restored_names = {name.name for name in names.values() if name.is_plain}
    for row in tx.execute(_TAKEN):
        has_default = has_default or row.is_default
        if row.id in names:
            raise DatabaseNotEmpty(f"the database knows dataset {row.id} already")
        if row.deleted_at is None and row.name in restored_names:
            raise DatabaseNotEmpty(
                f"the database has another dataset {row.name!r}: take one that no meta has used"
            )
    return has_default


def fill_segments(tx: Transaction, written: Sequence[tuple[RestoredSegment, UUID]]) -> None:
    """Give segments, by their ids, the times of their objects, and count what they omitted."""
    dates = [{"segment": i, "at": moment(segment.created_at_nanos)} for segment, i in written]
    if dates:
        tx.execute(_DATE_SEGMENT, dates)
    for segment, _ in written:
        quarantined_ranges.restore(tx, segment.new.dataset_id, segment.quarantined)


def _write_dataset(tx: Transaction, restored: Iterable[RestoredSegment], version: Version) -> int:
    """Write the segments of a dataset, some at a time; returns how many there are."""
    # Several segments may end at one offset of a stream: each gets a number.
    parts: Counter[tuple[UUID, int]] = Counter()
    number = 0
    for merge_count, equal in groupby(restored, lambda segment: segment.merge_count):
        while some := list(islice(equal, ROWS_AT_ONCE)):
            _write_segments(tx, some, merge_count, version, parts)
            number += len(some)
    return number


def _write_segments(
    tx: Transaction,
    restored: Sequence[RestoredSegment],
    merge_count: int,
    version: Version,
    parts: Counter[tuple[UUID, int]],
) -> None:
    claims = segments.claim(tx, [segment.new for segment in restored])
    segments.raise_refusal(claims)
    segments.insert(tx, claims, version, merge_count=merge_count)
    claimed = [(segment, claim.segment_id) for segment, claim in zip(restored, claims, strict=True)]
    fill_segments(tx, claimed)
    rows = []
    for segment, segment_id in claimed:
        for stream_id, first, last in segment.spans:
            key, offsets = (stream_id, last), (first - 1, last)
            row = registration_row(stream_id, segment.new.dataset_id, offsets, version, segment_id)
            rows.append({**row, "part": parts[key]})
            parts[key] += 1
    insert_rows(tx, insert(registrations), rows)
