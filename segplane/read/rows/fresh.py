"""Records that are committed and not merged yet: the baby segments beyond a version."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from meta.client import MetaClient, location
from meta.v1 import operations_pb2 as ops
from meta.v1.nursery_pb2 import RoutingPeriod
from segments.location import StoreLocation
from segments.signals import TRAITS

_PAGE = 10_000
MERGED_ONLY = (
    "the dataset is deduplicated: fresh records are left out, since which of them are rows is"
    " known once they are merged"
)


class MergedRecordsOnly(UserWarning):
    """Fresh records were asked for of a dataset that is deduplicated: there are none."""


@dataclass(frozen=True, slots=True)
class FreshBaby:
    """A committed baby segment that the version does not show.

    `dataset_ids` is empty for one without stamps, which its stream's routing decides about.
    """

    stream_id: str
    offset: int
    rows: int
    dataset_ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class TokenPeriod:
    """A token's datasets by signal, from an offset of a stream on."""

    stream_id: str
    token_id: str
    from_offset: int
    routes: Mapping[str, str]


@dataclass(slots=True)
class FreshRecords:
    """Baby segments that were committed at one moment and are beyond a version.

    With the version's segments these are all records of that moment, each once.
    """

    dataset_id: str
    store: StoreLocation | None = None
    babies: list[FreshBaby] = field(default_factory=list)
    periods: list[TokenPeriod] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Records of all babies at most, those of other datasets included."""
        return sum(baby.rows for baby in self.babies)

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
    for page in _pages(client, dataset_id, version, page_babies):
        on_page()
        if page.merged_only:
            warnings.warn(MERGED_ONLY, MergedRecordsOnly, stacklevel=2)
        for stream in page.streams:
            fresh.store = location(stream.cloud_object_prefix.bucket)
            fresh.babies += (
                FreshBaby(stream.stream_id, b.offset, b.num_records, frozenset(b.dataset_ids))
                for b in stream.babies
            )
        fresh.periods += map(_period, page.routing_history)
    return fresh


def _pages(
    client: MetaClient, dataset_id: str, version: int, limit: int
) -> Iterator[ops.ListUnmergedBabiesResponse]:
    request = ops.ListUnmergedBabiesRequest(dataset_id=dataset_id, version=version, limit=limit)
    while True:
        reply = client.operations.ListUnmergedBabies(request)
        yield reply
        if not reply.next_cursor:
            return
        request.cursor = reply.next_cursor


def _period(period: RoutingPeriod) -> TokenPeriod:
    routes = {s: getattr(period.routing, row.routing_field) for s, row in TRAITS.items()}
    return TokenPeriod(
        period.stream_id,
        period.token_id,
        period.from_offset,
        {signal: dataset for signal, dataset in routes.items() if dataset},
    )
