"""Judgement of datasets by the age of what waits."""

import pytest

from meta.v1 import status_pb2 as pb
from segplane.health.freshness import LATE_NANOS, Freshness, Stage, judged_freshness
from segplane.health.processes import SECOND, SILENT_NANOS

NOW = 1_790_000_000 * SECOND


def dataset(
    name: str, age_nanos: int, stage: pb.MergeStage.ValueType = pb.MERGE_STAGE_WAITING
) -> pb.DatasetFreshness:
    committed_at = NOW - age_nanos if stage else 0
    return pb.DatasetFreshness(
        dataset_name=name, oldest_committed_at_nanos=committed_at, stage=stage
    )


def judged(*datasets: pb.DatasetFreshness, seen: int = NOW, **fields: int) -> Freshness:
    waiting = sum(bool(one.oldest_committed_at_nanos) for one in datasets)
    values = {"waiting_datasets": waiting, "live_datasets": 9} | fields
    return judged_freshness(
        pb.ListFreshnessResponse(
            datasets=datasets, database_time_nanos=NOW, nursery_seen_nanos=seen, **values
        )
    )


def test_data_is_late_after_five_minutes() -> None:
    before = judged(dataset("web", LATE_NANOS - 1))
    after = judged(dataset("web", LATE_NANOS))

    assert (before.headline, before.late) == (
        "ok: no data is late; 1 of 9 datasets waits, the oldest for 4 min",
        [],
    )
    assert after.headline == "1 dataset is late; 1 of 9 datasets waits, the oldest for 5 min"
    assert [one.dataset.dataset_name for one in after.late] == ["web"]
    assert (before.needs, after.needs) == (
        [],
        ["web: records wait for 5 min, waiting to be merged"],
    )


def test_a_single_dataset_is_not_counted() -> None:
    headline = judged(dataset("web", SECOND), live_datasets=1).headline

    assert headline == "ok: no data is late; records wait, the oldest for 1 s"


def test_where_nothing_waits_all_is_well() -> None:
    fresh = dataset("web", 0, pb.MERGE_STAGE_UNSPECIFIED)

    assert judged(fresh).headline == "ok: nothing waits"
    assert judged(fresh).datasets[0].stage is None
    assert judged(streams_cut=1).headline == "ok: nothing waits among what was looked at"


def test_late_datasets_beyond_the_reply_are_not_denied() -> None:
    late = [dataset("web", 2 * LATE_NANOS), dataset("app", LATE_NANOS)]

    assert judged(*late).headline.startswith("2 datasets are late; 2 of 9")
    assert judged(*late, waiting_datasets=3).headline.startswith("at least 2 datasets are late;")
    with_young = judged(*late, dataset("db", 1), waiting_datasets=4)
    assert with_young.headline.startswith("2 datasets are late; 4 of 9")


@pytest.mark.parametrize(
    ("stage", "with_nursery", "without"),
    [
        (pb.MERGE_STAGE_GATHERING, Stage.GATHERING, Stage.NO_NURSERY),
        (pb.MERGE_STAGE_WAITING, Stage.WAITING, Stage.NO_NURSERY),
        (pb.MERGE_STAGE_PARKED, Stage.PARKED, Stage.PARKED),
        (pb.MERGE_STAGE_AWAITS_RECONCILE, Stage.AWAITS_RECONCILE, Stage.AWAITS_RECONCILE),
    ],
)
def test_what_could_be_merged_has_no_nursery_after_150_seconds(
    stage: pb.MergeStage.ValueType, with_nursery: Stage, without: Stage
) -> None:
    given = dataset("web", SECOND, stage)

    seen = judged(given, seen=NOW - SILENT_NANOS + 1)
    silent = judged(given, seen=NOW - SILENT_NANOS)

    assert [seen.datasets[0].stage, silent.datasets[0].stage] == [with_nursery, without]


@pytest.mark.parametrize("stage", [pb.MERGE_STAGE_PARKED, pb.MERGE_STAGE_AWAITS_RECONCILE])
def test_a_stage_that_only_a_person_ends_needs_one_at_once(stage: pb.MergeStage.ValueType) -> None:
    assert [late.age_nanos for late in judged(dataset("web", SECOND, stage)).late] == [SECOND]


def test_what_was_committed_this_moment_waits() -> None:
    assert judged(dataset("web", 0)).datasets[0].age_nanos == 1
