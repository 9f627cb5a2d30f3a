"""One dataset of a task while the task runs: from decoded rows to written files."""

from dataclasses import dataclass, field

from dataplane.babies.columns import DatasetColumns, DecodedDataset
from dataplane.babies.deduplication import SeenEvents
from dataplane.babies.reads import DatasetWork
from nursery.parts import deduplication, quarantined
from nursery.results import DatasetResult
from segments.ids import new_uuid7
from segments.keys import new_merged_key
from segments.parquet.columns.automatic import automatic_columns
from segments.parquet.footer import SegmentFooter
from segments.parquet.lineage import quarantined_of
from segments.parquet.upload import WrittenSegment

PRODUCER = "segplane-nursery/1"


@dataclass(slots=True)
class OpenBatch:
    """The id that a batch's files share, and how many of them are written."""

    batch_id: str = field(default_factory=lambda: str(new_uuid7()))
    parts: int = 0

    def key(self, work: DatasetWork, part: int) -> str:  # noqa: ARG002 - a replay names it by part
        """The key of one of its files; a fresh one for each attempt to write it."""
        return new_merged_key(work.dataset_id, work.spec.store)


@dataclass(slots=True, eq=False)
class DatasetExecution(DecodedDataset):
    """State of one dataset: rows held, files written, or the error that ended it.

    `batch` is set while a baby is written in several files:
    they share one batch id, as a catalog's rebuild takes two batches that share a baby for
    repetitions of each other. `quarantined` are streams with records that violate the schema, each
    with the verdict.
    """

    batch: OpenBatch | None = None
    segments: list[WrittenSegment] = field(default_factory=list)
    error: str = ""
    quarantined: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.work.spec.deduplication is not None:
            self.events = SeenEvents(self.work.spec.deduplication)

    @property
    def unusable(self) -> frozenset[str]:
        """Automatic columns that do not stand for their attribute in what is decoded so far."""
        automatic = automatic_columns(self.work.spec.promoted)
        return frozenset(c.name for c in automatic if self.unconverted[c.name])

    @property
    def dataset_id(self) -> str:
        """The dataset's id."""
        return self.work.dataset_id

    def fail(self, error: Exception) -> None:
        """Keep the first error; rows of a failed dataset are dropped."""
        self.error = self.error or f"{type(error).__name__}: {error}"
        self.columns = DatasetColumns()

    def take_columns(self) -> DatasetColumns:
        """Take all rows held; nothing is held afterwards."""
        columns, self.columns = self.columns, DatasetColumns()
        return columns

    def footer(self, columns: DatasetColumns) -> SegmentFooter:
        """The footer of files of these columns, but for their batch."""
        ranges = columns.lineage()
        return SegmentFooter(
            dataset_id=self.dataset_id,
            producer=PRODUCER,
            ranges=ranges,
            quarantined=quarantined_of(self.quarantined, ranges) if self.quarantined else (),
            deduplication=self.work.spec.deduplication_column,
            unusable=self.unusable,
        )

    def reads(self, stream_id: str) -> bool:
        """Whether records of a stream are this dataset's in this task."""
        return any(span.stream_id == stream_id for span in self.work.ranges)

    def result(self) -> DatasetResult:
        """The outcome, once the task is done."""
        unusable = self.unusable
        return DatasetResult(
            self.dataset_id,
            tuple(self.segments),
            self.error,
            tuple(sorted((n, k) for n, k in self.unconverted.items() if n not in unusable)),
            self._stated(),
        )

    def _stated(self) -> dict[str, object]:
        """The gathered values of the parts of the registration."""
        stated: dict[str, object] = {}
        if self.quarantined:
            stated[quarantined.FIELD] = dict(sorted(self.quarantined.items()))
        if self.events is not None:
            stated[deduplication.FIELD] = deduplication.gathered(self.work.spec, self.events)
        return stated
