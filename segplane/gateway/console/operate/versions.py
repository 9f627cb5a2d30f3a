"""Versions of a dataset: what is visible at one, the latest ones, pins that hold the past."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import quote, urlencode

from meta.client import MetaClient
from meta.errors import InvalidArgument, RoleRefused, VersionExpired
from meta.v1 import catalog_pb2, resources_pb2
from meta.v1 import operations_pb2 as pb
from segplane.gateway.console.kql_text import quoted_name
from segplane.gateway.management.times import text_of
from segplane.terminal.plain_text import size_text

VERSIONS_PATH = "/ui/dataset/versions"
VERSIONS_ROWS = 20
PINS_MAX = 50
# Versions are those of all datasets: further and further back, until there are enough of this one.
_SPANS = (100, 1_000, 10_000, 100_000)
_CHANGES_MAX = 1_000


@dataclass(frozen=True, slots=True)
class VersionAsk:
    """A dataset and a version of it; None = the current one."""

    dataset: str
    version: int | None = None

    def query_address(self, version: int) -> str:
        """Return the address of a query at a version."""
        text = f"{quoted_name(self.dataset)} | sort by timestamp desc | take 100"
        values = {"lang": "kql", "q": text, "version": str(version), "dataset": self.dataset}
        return f"/ui/query?{urlencode(values, quote_via=quote)}"

    def address(self, version: int) -> str:
        """Return the address of the page at a version."""
        values = {"dataset": self.dataset, "version": str(version)}
        return f"{VERSIONS_PATH}?{urlencode(values, quote_via=quote)}"


@dataclass(frozen=True, slots=True)
class ShownVersion:
    """Changes of the dataset in one version, and the records that were added."""

    version: int
    added: int
    merged: int
    removed: int
    records: int
    size: str

    @property
    def text(self) -> str:
        """Return the change in words."""
        segments = ("segment", "segments")
        parts = [
            f"{number:,} {segments[number != 1]} {verb}"
            for number, verb in (
                (self.added, "added"),
                (self.merged, "made by merges"),
                (self.removed, "removed"),
            )
            if number
        ]
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class VersionsPage:
    """All that the page shows; `refusal` is why the version cannot be read, "" = it can."""

    ask: VersionAsk
    current: int
    numbers: resources_pb2.GetDatasetNumbersResponse | None
    refusal: str
    versions: Sequence[ShownVersion]
    is_past_forgotten: bool
    pins: Sequence[pb.Pin]
    more_pins: int

    @property
    def size(self) -> str:
        """Return the bytes of the objects that are visible."""
        return size_text(self.numbers.segment_size) if self.numbers is not None else ""

    @property
    def times(self) -> tuple[str, str] | None:
        """Return the first and the last time of the records that are visible."""
        numbers = self.numbers
        if numbers is None or not numbers.HasField("start_time_nanos"):
            return None
        return text_of(numbers.start_time_nanos), text_of(numbers.end_time_nanos)


def read_versions(client: MetaClient, ask: VersionAsk) -> VersionsPage:
    """Read what is visible at a version, and the latest ones. Raises MetaError."""
    now = resources_pb2.GetDatasetNumbersRequest(name=ask.dataset)
    current = client.resources.GetDatasetNumbers(now)
    numbers: resources_pb2.GetDatasetNumbersResponse | None = current
    refusal = ""
    if ask.version is not None:
        request = resources_pb2.GetDatasetNumbersRequest(name=ask.dataset, version=ask.version)
        try:
            numbers = client.resources.GetDatasetNumbers(request)
        except (VersionExpired, InvalidArgument) as error:
            numbers, refusal = None, str(error)
    versions, is_past_forgotten = _latest(client, ask.dataset, current.version)
    pins, more_pins = _pins(client, ask.dataset)
    return VersionsPage(
        ask, current.version, numbers, refusal, versions, is_past_forgotten, pins, more_pins
    )


def _latest(client: MetaClient, name: str, current: int) -> tuple[list[ShownVersion], bool]:
    """Return the latest versions that changed the dataset, and whether older ones are forgotten."""
    latest: list[ShownVersion] = []
    for span in _SPANS:
        since = max(0, current - span)
        request = pb.ListDatasetChangesRequest(
            dataset_name=name, since_version=since, limit=_CHANGES_MAX
        )
        try:
            reply = client.operations.ListDatasetChanges(request)
        except VersionExpired:
            return latest, True
        if reply.through_version < reply.current_version:
            # There are more changes than one reply has, and these are the oldest ones.
            return latest or _shown(reply.changes), False
        latest = _shown(reply.changes)
        if len(latest) >= VERSIONS_ROWS or not since:
            break
    return latest, False


def _shown(changes: Sequence[pb.DatasetChange]) -> list[ShownVersion]:
    """Return the newest versions of some changes, newest first."""
    versions = []
    for version, group in groupby(changes, lambda change: change.version):
        listed = list(group)
        added = [each.segment for each in listed if not (each.is_removed or each.is_merge)]
        versions.append(
            ShownVersion(
                version,
                len(added),
                sum(each.is_merge for each in listed),
                sum(each.is_removed for each in listed),
                sum(segment.number_of_events for segment in added),
                size_text(sum(segment.compressed_size_bytes for segment in added)),
            )
        )
    return versions[: -VERSIONS_ROWS - 1 : -1]


def _pins(client: MetaClient, name: str) -> tuple[Sequence[pb.Pin], int]:
    pagination = catalog_pb2.PaginationRequest(limit=PINS_MAX)
    try:
        reply = client.operations.ListPins(
            pb.ListPinsRequest(dataset_name=name, pagination=pagination)
        )
    except RoleRefused:
        return (), 0
    return reply.pins, reply.pagination.total - len(reply.pins)
