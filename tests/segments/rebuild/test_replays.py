"""A batch and a replay that hold the same records are never both live."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from segments.inventory.contents import SegmentFound
from segments.offsets import OffsetSpan
from segments.rebuild.batches import Tail
from segments.rebuild.lost import choose_lost
from segments.rebuild.plan import settle_dataset
from segments.rebuild.replays import replayed_babies
from tests.support.inventories import DATASET, STREAM, STREAMS, baby, live_of, merged, planned, raw

VERDICT = "0123456789abcdef"


def judged(segment: SegmentFound, *offsets: int, verdict: str = VERDICT) -> SegmentFound:
    """The file names babies with schema violations."""
    spans = tuple(OffsetSpan(STREAM, offset, offset) for offset in offsets)
    footer = replace(segment.footer, quarantined=((verdict, spans),))
    return replace(segment, footer=footer)


def replay(number: int, offset: int, verdict: str = VERDICT) -> SegmentFound:
    return judged(raw(number), offset, verdict=verdict)


def keys(segments: Iterable[SegmentFound]) -> set[str]:
    return {segment.key for segment in segments}


DEAD, ROWS, REPLAY = raw(1, (0, 1)), raw(2, (1, 1)), replay(3, 0)


@pytest.mark.parametrize(
    ("present", "live"),
    [
        pytest.param([DEAD, ROWS, REPLAY], [ROWS, REPLAY], id="the replay is kept"),
        pytest.param([DEAD, REPLAY], [DEAD], id="the batch has more that is gone"),
        pytest.param([raw(1, (0, 0)), REPLAY], [REPLAY], id="the batch has nothing more"),
        pytest.param([raw(1, (0, 0)), merged(9, ROWS, REPLAY)], [merged(9, ROWS, REPLAY)], id="m"),
        pytest.param([DEAD, merged(9, REPLAY)], [merged(9, REPLAY)], id="a merge has the replay"),
        pytest.param([judged(DEAD, 0), REPLAY], [DEAD, REPLAY], id="it left the records out"),
        pytest.param([DEAD, replay(3, 0, "")], [DEAD, replay(3, 0, "")], id="it was undecodable"),
        pytest.param([DEAD, replay(3, 2)], [DEAD, replay(3, 2)], id="of another baby"),
    ],
)
def test_records_of_a_baby_are_in_one_of_them(
    present: list[SegmentFound], live: list[SegmentFound]
) -> None:
    assert live_of(planned(present, [])) == keys(live)


def test_babies_that_are_there_are_merged_again() -> None:
    rebuilt = planned([DEAD, REPLAY], [baby(0, DATASET), baby(1, DATASET)])

    assert live_of(rebuilt) == {REPLAY.key}
    (stream,) = rebuilt.streams
    assert [entry.merged_offset for entry in stream.entries] == [0]


def test_a_batch_does_not_come_back_beside_a_live_replay() -> None:
    choice = choose_lost(DATASET, [REPLAY], [raw(1, (0, 0))], {}, {STREAM: 0}, {})

    assert (choice.chosen, choice.replaced_keys) == ((), frozenset())


def test_a_live_replay_of_a_stream_without_other_files_is_settled() -> None:
    history = settle_dataset(DATASET, [REPLAY], {STREAMS[1]: Tail(0, 0)}, {})

    assert history.live_keys == {REPLAY.key}


def test_a_baby_within_the_offsets_of_a_file_is_not_passed_as_replayed() -> None:
    batch, alone = judged(raw(1, (0, 5)), 3), replay(2, 7)

    assert replayed_babies([batch.footer]) == []
    assert replayed_babies([batch.footer, alone.footer]) == [OffsetSpan(STREAM, 7, 7)]
