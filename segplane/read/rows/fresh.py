"""Records that are committed and not merged yet: the baby segments beyond a version."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dataplane.babies.reads import Period, TaskRead, period_of
from meta.client import MetaClient, location
from meta.v1 import operations_pb2 as ops
from segments.location import StoreLocation

_PAGE = 10_000
MERGED_ONLY = (
    "the dataset is deduplicated: fresh records are skipped, since which of them are rows is"
    " known once they are merged"
)


class MergedRecordsOnly(UserWarning):
    """Fresh records were asked for of a dataset that is deduplicated: there are none."""


@dataclass(slots=True)
class FreshRecords:
    """Baby segments that were committed at one moment and are beyond a version.

    With the version's segments these are all records of that moment, each once. `rows` are those of
    all babies at most, records of other datasets included. Babies without stamps are routed by the
    `periods` of their stream.
    """

    dataset_id: str
    store: StoreLocation | None = None
    rows: int = 0
    babies: list[TaskRead] = field(default_factory=list)
    periods: dict[str, list[Period]] = field(default_factory=dict)

    @property
    def cut(self) -> Mapping[str, int]:
        """The last baby segment of each stream that is read in addition to the version."""
        return {baby.stream_id: baby.offset for baby in self.babies}


def find_fresh(
    client: MetaClient,
    dataset_id: str,
    version: int,
    page_babies: int = _PAGE,
    on_page: Callable[[], None] = lambda: None,
) -> FreshRecords:
    """List babies that are committed now and beyond a version; raises MetaError."""
    fresh = FreshRecords(dataset_id)
    request = ops.ListUnmergedBabiesRequest(
        dataset_id=dataset_id, version=version, limit=page_babies
    )
    while True:
        page = client.operations.ListUnmergedBabies(request)
        on_page()
        if page.merged_only:
            warnings.warn(MERGED_ONLY, MergedRecordsOnly, stacklevel=2)
        for stream in page.streams:
            fresh.store = location(stream.cloud_object_prefix.bucket)
            fresh.rows += sum(baby.num_records for baby in stream.babies)
            # Records without a dataset are for a nursery to keep: no reader owns a baby segment.
            fresh.babies += (
                TaskRead(stream.stream_id, b.offset, False, frozenset(b.dataset_ids))
                for b in stream.babies
            )
        for period in page.routing_history:
            fresh.periods.setdefault(period.stream_id, []).append(period_of(period))
        if not page.next_cursor:
            return fresh
        request.cursor = page.next_cursor
