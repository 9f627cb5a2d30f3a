"""The pipeline as a page shows it: its stages, the freshness of datasets, and the processes."""

from collections.abc import Sequence
from dataclasses import dataclass

from meta.client import MetaClient
from meta.v1 import status_pb2 as pb
from segplane.health.freshness import Freshness, JudgedDataset, read_freshness
from segplane.health.processes import Judged, Status, is_shown, read_status, span, tenths
from segplane.terminal.plain_text import size_text

DATASETS_MAX, PROCESSES_MAX = 50, 200
# The width and height of a line over the last hour, and the seconds of a period.
LINE_WIDTH, LINE_HEIGHT = 100, 20
_HOUR, _PERIOD = 3_600, 600
_NANOS = 10**9
_STAGES = {
    pb.PIPELINE_STAGE_COMMITTED: ("Committed", "baby segments that a nursery has to merge"),
    pb.PIPELINE_STAGE_COMPACTING: ("Compacting", "segments in open merge tasks"),
    pb.PIPELINE_STAGE_VISIBLE: ("Visible", "segments that readers see"),
    pb.PIPELINE_STAGE_TOMBSTONED: ("Tombstoned", "segments that the janitor has to delete"),
}


@dataclass(frozen=True, slots=True)
class ShownStage:
    """One stage in words."""

    name: str
    content: str
    items: str
    size: str
    lag: str


@dataclass(frozen=True, slots=True)
class LatePoint:
    """Flushes of ten minutes: its begin, their number, and the 99th percentile of their times."""

    start_nanos: int
    flushes: int
    p99: str


@dataclass(frozen=True, slots=True)
class ShownDataset:
    """Freshness of a dataset at a time of the database."""

    judged: JudgedDataset
    now_nanos: int

    @property
    def age(self) -> str:
        """Return the age of its oldest records that readers do not see; "" = none wait."""
        return span(self.judged.age_nanos) if self.judged.age_nanos else ""

    @property
    def stage(self) -> str:
        """Return the stage of these in words."""
        return self.judged.stage.text if self.judged.stage else ""

    @property
    def waiting(self) -> str:
        """Return the number and bytes of the baby segments that wait."""
        dataset = self.judged.dataset
        at_least = "at least " if dataset.is_at_least else ""
        return f"{at_least}{dataset.babies:,} ({size_text(dataset.size_bytes)})"

    @property
    def last_hour(self) -> str:
        """Return the percentiles of the last hour in words; "" = nothing was measured."""
        dataset = self.judged.dataset
        if not dataset.flushes:
            return ""
        return f"p50 {tenths(dataset.p50_nanos)}, p99 {tenths(dataset.p99_nanos)}"

    @property
    def points(self) -> Sequence[LatePoint]:
        """Return what the line shows, for its table."""
        return [
            LatePoint(each.start_nanos, each.flushes, tenths(each.p99_nanos))
            for each in self.judged.dataset.periods
        ]

    @property
    def line(self) -> str:
        """Return the 99th percentiles of the last hour as points of a line; "" = fewer than two."""
        periods = self.judged.dataset.periods
        if len(periods) < 2:
            return ""
        high = max(1, *(each.p99_nanos for each in periods))
        begin = self.now_nanos - _HOUR * _NANOS
        length = (_HOUR - _PERIOD) * _NANOS
        return " ".join(
            f"{min(1.0, max(0.0, (each.start_nanos - begin) / length)) * LINE_WIDTH:.1f},"
            f"{(1 - each.p99_nanos / high) * (LINE_HEIGHT - 2) + 1:.1f}"
            for each in periods
        )


@dataclass(frozen=True, slots=True)
class PipelinePage:
    """All that the page shows."""

    stages: Sequence[ShownStage]
    streams: pb.GetPipelineSummaryResponse
    freshness: Freshness
    datasets: Sequence[ShownDataset]
    status: Status
    processes: Sequence[Judged]
    is_cut: bool

    @property
    def needs(self) -> Sequence[str]:
        """Return a sentence for each thing that needs a person."""
        parked = self.streams.parked_streams
        of_streams = [f"streams that cannot continue: {parked:,}"] if parked else []
        return [*self.freshness.needs, *of_streams, *self.status.needs]

    def age_of(self, nanos: int) -> str:
        """Return the age of a time of the database."""
        return span(self.status.now_nanos - nanos) if nanos else ""


def read_pipeline(client: MetaClient) -> PipelinePage:
    """Read and judge all of it; raises MetaError."""
    summary = client.status.GetPipelineSummary(pb.GetPipelineSummaryRequest())
    freshness = read_freshness(client, None, DATASETS_MAX, include_fresh=False)
    if freshness.reply.live_datasets <= DATASETS_MAX:
        # Few datasets are listed whole; of many, the fresh ones would cost more than they tell.
        freshness = read_freshness(client, None, DATASETS_MAX, include_fresh=True)
    status = read_status(client)
    now_nanos = summary.database_time_nanos
    shown = [each for each in status.processes if is_shown(each, status.now_nanos)]
    # Those with troubles first.
    shown.sort(key=lambda each: not each.troubles)
    return PipelinePage(
        [_stage(stage, now_nanos) for stage in summary.stages],
        summary,
        freshness,
        [ShownDataset(each, freshness.reply.database_time_nanos) for each in freshness.datasets],
        status,
        shown[:PROCESSES_MAX],
        len(shown) > PROCESSES_MAX,
    )


def _stage(stage: pb.PipelineStageSummary, now_nanos: int) -> ShownStage:
    name, content = _STAGES.get(stage.stage, ("Another stage", ""))
    at_least = "at least " if stage.is_at_least else ""
    lag = span(now_nanos - stage.oldest_nanos) if stage.oldest_nanos else ""
    return ShownStage(
        name, content, f"{at_least}{stage.items:,}", f"{at_least}{size_text(stage.size_bytes)}", lag
    )
