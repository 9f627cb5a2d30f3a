"""Judgement of the stages that hold a dataset's data."""

from typing import Any

import pytest

from meta.v1 import status_pb2 as pb
from segplane.health.explanation import (
    OLD_TASK_NANOS,
    Explanation,
    judged_reply,
)
from segplane.health.freshness import LATE_NANOS
from segplane.health.processes import SECOND

NOW = 1_790_000_000 * SECOND
STAGES = [stage for stage in pb.HoldingStage.values() if stage]


def explained(*holdings: pb.Holding, name: str = "web") -> Explanation:
    reply = pb.ExplainDatasetResponse(dataset_name=name, holdings=holdings, database_time_nanos=NOW)
    return judged_reply(reply)


def needs(stage: str, **fields: Any) -> bool:
    held = pb.Holding(stage=pb.HoldingStage.Value(f"HOLDING_STAGE_{stage}"), **fields)
    return explained(held).holdings[0].needs_person


def test_a_dataset_in_order_needs_nobody() -> None:
    explanation = explained()

    assert explanation.needs == []
    assert explanation.headline == "web: nothing needs a person, all committed records are visible"


@pytest.mark.parametrize("stage", STAGES, ids=pb.HoldingStage.Name)
def test_every_stage_has_its_own_sentence_and_command(stage: Any) -> None:
    held = pb.Holding(stage=stage, subjects=["it"], amount=2, limit=3)
    (judged,) = explained(held).holdings

    assert judged.command.startswith("segplane ")
    assert "does not know" not in judged.sentence
    assert not set("{}") & set(judged.sentence + judged.command)


def test_a_stage_of_a_later_release_is_shown_and_needs_nobody() -> None:
    (judged,) = explained(pb.Holding(stage=999, detail="something new")).holdings  # type: ignore[arg-type]

    assert (judged.stage, judged.needs_person) == ("999", False)
    assert judged.sentence == "a stage that this release does not know: something new"


@pytest.mark.parametrize(
    ("stage", "fields", "is_needed"),
    [
        ("AWAITS_NURSERY", {"since_nanos": NOW - LATE_NANOS + 1}, False),
        ("AWAITS_NURSERY", {"since_nanos": NOW - LATE_NANOS}, True),
        ("OPEN_TASKS", {"since_nanos": NOW - OLD_TASK_NANOS}, False),
        ("OPEN_TASKS", {"since_nanos": NOW - OLD_TASK_NANOS - 1}, True),
        ("MERGE_DEBT", {"amount": 999, "limit": 1_000}, False),
        ("MERGE_DEBT", {"amount": 1_000, "limit": 1_000}, True),
        ("MERGE_DEBT", {"amount": 1_000, "limit": 0}, False),
        ("NO_TOKEN", {"amount": 0}, True),
        ("NO_TOKEN", {"amount": 1}, False),
        ("NO_COLLECTOR", {}, True),
        ("NO_STREAM", {"amount": 0}, True),
        ("NO_STREAM", {"amount": 1}, False),
        ("PARKED", {"amount": 1}, True),
        ("LOCKED", {"subjects": ["ann"]}, False),
    ],
)
def test_a_person_is_needed_from_a_bound_on(
    stage: str, fields: dict[str, Any], is_needed: bool
) -> None:
    assert needs(stage, **fields) == is_needed


def test_sentences_have_numbers_times_and_reasons_and_needs_come_first() -> None:
    locked = pb.Holding(
        stage=pb.HOLDING_STAGE_LOCKED,
        since_nanos=NOW - 3_600 * SECOND,
        until_nanos=NOW + 90_000 * SECOND,
        subjects=["ann"],
        detail="an audit",
    )
    parked = pb.Holding(
        stage=pb.HOLDING_STAGE_PARKED,
        since_nanos=NOW - 60 * SECOND,
        subjects=["s1"],
        amount=2,
        detail="offset 3: gone",
    )
    explanation = explained(locked, parked)

    assert explanation.headline == "web: 1 thing needs a person"
    assert [held.sentence for held in explanation.holdings] == [
        "a stream cannot pass a baby segment, for 1 min: offset 3: gone",
        "ann has locked it, so nothing is changed or deleted, for 1 h, ends in 1 d 1 h: an audit",
    ]
    assert explanation.holdings[0].command == "segplane streams show s1"


def test_a_retention_says_when_the_next_segment_expires() -> None:
    def sentence(until: int) -> str:
        held = pb.Holding(stage=pb.HOLDING_STAGE_RETENTION, until_nanos=until)
        return explained(held).holdings[0].sentence

    assert sentence(NOW + 7_200 * SECOND).endswith("expires by its retention, in 2 h")
    assert sentence(NOW - 60 * SECOND).endswith("expires by its retention, due for 1 min")


def test_the_headline_says_how_long_records_wait() -> None:
    def headline(since: int) -> str:
        return explained(
            pb.Holding(stage=pb.HOLDING_STAGE_AWAITS_NURSERY, since_nanos=since, amount=1)
        ).headline

    assert headline(NOW - 3 * SECOND).endswith("committed records wait for 3 s")


def test_readers_are_referred_to_an_admin() -> None:
    quota, parked = (
        pb.Holding(stage=stage, amount=amount)
        for stage, amount in ((pb.HOLDING_STAGE_QUOTA_REACHED, 0), (pb.HOLDING_STAGE_PARKED, 2))
    )
    told = pb.Holding(stage=pb.HOLDING_STAGE_QUOTA_REACHED, amount=11, limit=10)

    assert [held.sentence for held in explained(quota, parked).holdings] == [
        "collectors refuse its exports: the records of this month have reached the quota",
        "a stream cannot pass a baby segment: an admin is told more",
    ]
    assert explained(parked).holdings[0].command == "segplane why web"
    assert explained(told).holdings[0].sentence.endswith("have reached the quota of 10")


def test_names_are_quoted_in_commands() -> None:
    held = pb.Holding(stage=pb.HOLDING_STAGE_NO_TOKEN)
    (judged,) = explained(held, name="a b").holdings

    assert judged.command == "segplane tokens create 'a b-token' --dataset 'a b'"
