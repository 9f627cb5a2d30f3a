"""Records that are committed and not merged yet: the baby segments beyond a version."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import TYPE_CHECKING

from dataplane.babies.reads import Period, TaskRead, period_of
from meta.client import MetaClient, location
from meta.errors import RoleRefused, VersionExpired
from meta.v1 import operations_pb2 as ops
from segments.location import StoreLocation
from segplane.read import gateway
from segplane.read.gateway import GatewayRefused

if TYPE_CHECKING:
    from segplane.read.rows.passed_payloads import PassedPayloads

_PAGE = 10_000
MERGED_ONLY = (
    "the dataset is deduplicated: fresh records are skipped, since which of them are rows is"
    " known once they are merged"
)


class MergedRecordsOnly(UserWarning):
    """Fresh records were asked for of a dataset that is deduplicated: there are none."""


class TooManyBabies(Exception):
    """There are more baby segments than the reader may list."""


@dataclass(slots=True)
class FreshRecords:
    """Records that were committed at one moment and are beyond a version.

    With the version's segments these are all records of that moment, each once. `rows` are those of
    all babies at most, records of other datasets included. Babies without stamps are routed by the
    `periods` of their stream. A caller who may not read babies has `passed` in their place.
    """

    dataset_id: str
    store: StoreLocation | None = None
    rows: int = 0
    babies: list[TaskRead] = field(default_factory=list)
    periods: dict[str, list[Period]] = field(default_factory=dict)
    is_merged_only: bool = False
    passed: PassedPayloads | None = None

    @property
    def cut(self) -> Mapping[str, int]:
        """The last baby segment of each stream that is read in addition to the version."""
        return {baby.stream_id: baby.offset for baby in self.babies}

    @property
    def has_any(self) -> bool:
        """Whether there may be records."""
        return bool(self.babies) or (self.passed is not None and len(self.passed) > 0)


def find_fresh(
    client: MetaClient,
    dataset_id: str,
    version: int,
    page_babies: int = _PAGE,
    on_page: Callable[[], None] = lambda: None,
) -> FreshRecords:
    """Find records that are committed now and beyond a version.

    meta lists no baby segments to callers of a tenant or of some datasets: these get their payloads
    from a gateway. Raises MetaError, GatewayRefused.
    """
    try:
        fresh = list_babies(client, dataset_id, version, page_babies, on_page)
    except RoleRefused as refusal:
        fresh = _passed_on(client, dataset_id, version, refusal)
    if fresh.is_merged_only:
        warnings.warn(MERGED_ONLY, MergedRecordsOnly, stacklevel=2)
    return fresh


def list_babies(
    client: MetaClient,
    dataset_id: str,
    version: int,
    page_babies: int = _PAGE,
    on_page: Callable[[], None] = lambda: None,
    babies_max: int | None = None,
) -> FreshRecords:
    """List babies that are committed now and beyond a version. Raises MetaError, TooManyBabies."""
    fresh = FreshRecords(dataset_id)
    request = ops.ListUnmergedBabiesRequest(
        dataset_id=dataset_id, version=version, limit=page_babies
    )
    while True:
        page = client.operations.ListUnmergedBabies(request)
        on_page()
        fresh.is_merged_only |= page.merged_only
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
        if babies_max is not None and len(fresh.babies) > babies_max:
            raise TooManyBabies
        if not page.next_cursor:
            return fresh
        request.cursor = page.next_cursor


def _passed_on(
    client: MetaClient, dataset_id: str, version: int, refusal: RoleRefused
) -> FreshRecords:
    """Get the payloads of a dataset from a gateway, all of them before any is read."""
    from segplane.read.rows.passed_payloads import PassedPayloads

    path = f"/v1/dataset-ids/{dataset_id}/fresh?version={version}"
    try:
        with gateway.opened(client, "GET", path) as answer:
            passed = PassedPayloads(answer)
    except GatewayRefused as error:
        if error.reason == VersionExpired.reason:
            raise VersionExpired(str(error)) from error
        message = f"fresh records of this caller come from a gateway: {error}"
        raise GatewayRefused(message, error.reason, error.status) from refusal
    except (OSError, HTTPException) as error:
        raise GatewayRefused(f"the gateway's answer was cut off: {error}") from error
    return FreshRecords(
        dataset_id, rows=passed.rows, is_merged_only=passed.is_merged_only, passed=passed
    )
