"""Baby segments to read, and the routing of their records, as values.

Needs no pyarrow: a light install has none.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from meta.v1.nursery_pb2 import RoutingPeriod
from segments.offsets import OffsetSpan
from segments.parquet.spec import SegmentSpec
from segments.signals import TRAITS


@dataclass(frozen=True, slots=True)
class Period:
    """A token's routing (signal -> dataset id), from an offset of one stream onwards."""

    token_id: str
    from_offset: int
    routes: Mapping[str, str]


def period_of(period: RoutingPeriod) -> Period:
    """Return a period as meta tells it; signals without a dataset are skipped."""
    routes = {signal: getattr(period.routing, row.routing_field) for signal, row in TRAITS.items()}
    return Period(period.token_id, period.from_offset, {s: d for s, d in routes.items() if d})


@dataclass(frozen=True, slots=True)
class DatasetWork:
    """A dataset and the offsets whose records one task writes."""

    dataset_id: str
    spec: SegmentSpec
    ranges: tuple[OffsetSpan, ...]


@dataclass(frozen=True, slots=True)
class TaskRead:
    """One baby segment to read. Its owner quarantines the records that have no dataset.

    `dataset_ids` are those that its commit announced; empty = it may hold records of any dataset.
    One that `is_empty` by its commit may be missing, as the stop message is that was reaped after a
    backup.
    """

    stream_id: str
    offset: int
    is_owner: bool
    dataset_ids: frozenset[str] = frozenset()
    is_empty: bool = False


@dataclass(frozen=True, slots=True)
class Routes:
    """The routing of one stream's records.

    A stamp is valid if it names a dataset of `bases` whose entry began at an offset below the baby
    segment's; `periods` route babies without stamps.
    """

    stream_id: str
    bases: Mapping[str, int]
    periods: tuple[Period, ...]
