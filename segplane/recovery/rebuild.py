"""Reconstructs the catalog from the bucket and writes it into an empty database."""

from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from dataplane.registration import segment_facts
from meta import migrations
from meta.services.messages.segment_facts import signal_mask
from meta.store.catalog.dataset_layouts import Layout, PromotedColumnRow, ShardingField
from meta.store.engine.pool import Database
from meta.store.recovery import rebuild as tables
from meta.store.segments import object_stores
from meta.store.segments.segments import NewSegment
from meta.v1.common_pb2 import AttributeScope, KqlType
from segments.facts.feature import NO_FACTS
from segments.ids import uuid_of
from segments.inventory.contents import SegmentFound
from segments.inventory.listing import list_payloads
from segments.keys import split_key, store_of
from segments.parquet.spec import PromotedColumn, SegmentSpec
from segments.rebuild.batches import Dropped
from segments.rebuild.inventory import read_inventory
from segments.rebuild.plan import Rebuild, plan
from segments.rebuild.spilled_segments import merge_count_of
from segments.store.interface import ObjectStore
from segplane.recovery.rebuilt_names import RebuiltNames


def read_plan(store: ObjectStore) -> Rebuild:
    """Read the whole bucket and decide what was live in it; changes nothing."""
    inventory = read_inventory(store)
    planned = plan(inventory.segments, inventory.babies)
    hidden = [Dropped(key, "hidden") for key in inventory.segments.hide(inventory.hidden)]
    return replace(
        planned,
        dropped=(*inventory.unread, *hidden, *planned.dropped),
        replayed=_replayed(store, planned.segments),
    )


def _replayed(store: ObjectStore, live: Iterable[SegmentFound]) -> dict[str, str]:
    """The payloads that a replay has registered and not deleted, and their datasets.

    The batch of a replay follows from the key of its payload.
    """
    payloads = {str(uuid_of(info.key)): info.key for info, _ in list_payloads(store)}
    return {
        payloads[batch.batch_id]: item.footer.dataset_id
        for item in (live if payloads else ())
        for batch in item.footer.batches
        if batch.batch_id in payloads
    }


def apply(database: Database, rebuilt: Rebuild, names: RebuiltNames, default: str) -> int:
    """Write a plan into an empty database, making its tables; answers the version that shows it.

    The dataset named `default` becomes meta's default one. Raises DatabaseNotEmpty, MetaError.
    """
    migrations.upgrade(database)
    catalog = tables.Catalog(
        names.datasets,
        map(segment_row, rebuilt.segments.by_merge_count()),
        rebuilt.streams,
        {UUID(dataset_id): _layout(spec) for dataset_id, spec in rebuilt.specs.items()},
        {
            UUID(dataset_id): tuple(map(_promoted_row, columns))
            for dataset_id, columns in rebuilt.numbered.items()
        },
        {key: UUID(dataset_id) for key, dataset_id in rebuilt.replayed.items()},
        names.groups,
        names.tenants.tenants,
    )
    with database.write() as tx:
        version = tables.write(tx, catalog, default)
        # A meta that is not configured with a store of segments must not start. meta writes the URL
        # when it starts.
        for name in sorted({store_of(item.key) for item in rebuilt.segments} - {""}):
            object_stores.remember(tx, name, "")
        return version


def _layout(spec: SegmentSpec) -> Layout:
    """The settings of a dataset. Weights are not in the bucket: only their order is."""
    heaviest_first = enumerate(spec.sharding_fields)
    return Layout(
        tuple(ShardingField(n, float(len(spec.sharding_fields) - i)) for i, n in heaviest_first),
        tuple(map(_promoted_row, spec.promoted)),
    )


def _promoted_row(column: PromotedColumn) -> PromotedColumnRow:
    return PromotedColumnRow(
        column.name,
        KqlType.Value(f"KQL_TYPE_{column.kql_type.upper()}"),
        AttributeScope.Value(f"ATTRIBUTE_SCOPE_{column.scope.upper()}"),
        column.attribute,
        column.fact_id,
        is_bound=column.is_bound,
        column_id=None if column.name_id is None else column.field_id,
    )


def segment_row(segment: SegmentFound) -> tables.RestoredSegment:
    """Return the row of a segment that is in the bucket."""
    prefix, name = split_key(segment.key)
    facts = segment_facts(segment.content) if segment.content else None
    return tables.RestoredSegment(
        NewSegment(
            dataset_id=UUID(segment.footer.dataset_id),
            start_ns=segment.start_time,
            end_ns=segment.end_time,
            size_bytes=segment.size_bytes,
            compressed_size_bytes=segment.compressed_size_bytes,
            number_of_events=segment.rows,
            prefix=prefix,
            object_name=name,
            object_key=segment.key,
            facts=facts.SerializeToString(deterministic=True) if facts else None,
            signals=signal_mask(item.signal for item in facts.signals) if facts else None,
            format_version=segment.footer.format_version,
            written=segment.content.written if segment.content else NO_FACTS,
        ),
        merge_count_of(segment),
        segment.modified_at_nanos,
        tuple((UUID(span.stream_id), span.start, span.end) for span in segment.footer.ranges),
        segment.footer.quarantined,
    )
