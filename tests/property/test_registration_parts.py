"""Parts of registrations: a batch in which each refuses a call equals the calls one by one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from meta.errors import MetaError
from meta.services.merging.janitor import JanitorServicer
from meta.store.catalog import datasets
from meta.store.deduplication.windows import DayKeys
from meta.store.engine.pool import Transaction
from meta.store.merging.merge_completions import Completion, Rejected, complete_batch
from meta.store.registration import conservation, deduplication, quarantined_ranges
from meta.store.registration.calls import Merge
from meta.store.registration.conservation import Conservation
from meta.store.registration.deduplication import EventClaims
from meta.store.registration.parts import PARTS
from meta.store.registration.registrations import register_batch
from meta.store.streams.stream_datasets import EntryMove
from meta.store.versions import clock
from meta.store.versions.versions import Version
from meta.v1 import janitor_pb2
from segments.offsets import OffsetSpan
from tests.support.interleaving.in_process_calls import (
    InProcessScene,
    new_segment,
    output_of,
)
from tests.support.meta.deduplication_keys import hash_of

# Records of a baby segment, and events that an operator allows beyond them.
RECORDS, ALLOWED = 10, 5
# Segments of a merge.
INPUTS = 4
VERDICT = "0123456789abcdef"
Answers = list[Version | MetaError]


@dataclass
class Dataset:
    """A dataset of a world, and calls that register segments of its streams."""

    scene: InProcessScene
    id: UUID = field(init=False)
    streams: list[UUID] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.id = self.scene.dataset()
        self.key = self.scene.transactions.read(lambda tx: datasets.get(tx, self.id).key)
        self.today = self.scene.transactions.read(clock.now_nanos) // (86_400 * 10**9)

    def bound(self) -> "Dataset":
        """Bind it to a column that segments of these tests lack."""
        self.scene.execute("UPDATE datasets SET bound_field_ids = '{7}' WHERE key = :k", k=self.key)
        return self

    def deduplicated(self, *claimed: int) -> "Dataset":
        """Deduplicate its events, some of which are rows already."""
        self.scene.execute("INSERT INTO dataset_deduplication VALUES (:k, 7, 'k')", k=self.key)
        self.scene.execute("UPDATE datasets SET deduplication_rule = 1 WHERE key = :k", k=self.key)
        if claimed:
            (answer,) = one_by_one(self.scene, [self.call(*claimed, rows=len(claimed))])
            assert not isinstance(answer, MetaError)
        return self

    def allowed(self) -> "Dataset":
        """Allow some events more than there are records."""
        work: Callable[[Transaction], None] = lambda tx: conservation.set_allowance(  # noqa: E731
            tx, self.id, ALLOWED
        )
        self.scene.transactions.write(work)
        return self

    def call(
        self,
        *names: int,
        rows: int = RECORDS,
        has_facts: bool = False,
        is_quarantined: bool = False,
    ) -> Merge:
        """A registration of a further stream's baby segment, with events of these names."""
        stream_id = self.scene.stream(self.id, committed=0)
        self.streams.append(stream_id)
        segment = new_segment(self.id, events=rows)
        stated: dict[str, object] = {}
        if names:
            day = DayKeys(self.today, b"".join(map(hash_of, names)))
            stated[deduplication.FIELD] = EventClaims(1, (day,))
        if is_quarantined:
            stated[quarantined_ranges.FIELD] = {stream_id: VERDICT}
        return Merge(
            self.id,
            (segment._replace(facts=b"\x08\x02" if has_facts else None),),
            (EntryMove(self.id, OffsetSpan(str(stream_id), 0, 0), 1),),
            is_audited=True,
            stated=stated,
        )

    def state(self) -> list[object]:
        """Its rows in all tables that a registration writes, without ids and versions."""
        return [
            [self.scene.merged_offset(stream, self.id) for stream in self.streams],
            self._rows("SELECT number_of_events FROM segments WHERE dataset_key = :k ORDER BY 1"),
            self._rows(
                "SELECT count(*) FROM object_identities WHERE object_key LIKE :p", p=f"%{self.id}%"
            ),
            self._rows(
                "SELECT live_segments, all_segments FROM dataset_stats WHERE dataset_key = :k"
            ),
            self._rows("SELECT records FROM dataset_duplicates WHERE dataset_key = :k"),
            self._rows(
                "SELECT day, sum(deduplication_keys) FROM deduplication_runs"
                " WHERE dataset_key = :k GROUP BY day"
            ),
            [
                self._rows(
                    "SELECT verdict, first_offset, last_offset FROM quarantined_ranges"
                    " WHERE stream_id = :s",
                    s=stream,
                )
                for stream in self.streams
            ],
            self._rows("SELECT events FROM excess_allowances WHERE dataset_id = :d", d=self.id),
            self._rows(
                "SELECT regexp_replace(detail, '\\[[^]]*\\]', '') FROM audit_log"
                " WHERE subject_id = :t AND rpc = 'RegisterMergedSegment' ORDER BY 1",
                t=str(self.id),
            ),
        ]

    def _rows(self, statement: str, **values: object) -> list[tuple[object, ...]]:
        return self.scene.rows(
            statement, **({"k": self.key} if ":k" in statement else {}), **values
        )


World = Callable[[InProcessScene], tuple[list[Dataset], list[Merge]]]


def _bound_columns(scene: InProcessScene) -> tuple[list[Dataset], list[Merge]]:
    plain, bound = Dataset(scene), Dataset(scene).bound().allowed()
    calls = [
        plain.call(is_quarantined=True),
        bound.call(has_facts=True, rows=RECORDS + 1, is_quarantined=True),
        bound.call(rows=RECORDS + 2),
    ]
    return [plain, bound], calls


def _deduplication(scene: InProcessScene) -> tuple[list[Dataset], list[Merge]]:
    plain, clean = Dataset(scene), Dataset(scene).deduplicated()
    claimed = Dataset(scene).deduplicated(1, 2).allowed()
    calls = [
        claimed.call(3, 2, rows=RECORDS + 1, is_quarantined=True),
        plain.call(),
        clean.call(1, 2, 3),
        clean.call(),
    ]
    return [plain, clean, claimed], calls


def _conservation(scene: InProcessScene) -> tuple[list[Dataset], list[Merge]]:
    plain, allowed = Dataset(scene), Dataset(scene).allowed()
    calls = [
        allowed.call(rows=RECORDS + ALLOWED - 1),
        allowed.call(rows=RECORDS + 2, is_quarantined=True),
        plain.call(is_quarantined=True),
        plain.call(rows=RECORDS + 1),
        allowed.call(rows=RECORDS + 1),
    ]
    return [plain, allowed], calls


def _each(scene: InProcessScene) -> tuple[list[Dataset], list[Merge]]:
    worlds = [_bound_columns(scene), _deduplication(scene), _conservation(scene)]
    own = [dataset for some, _ in worlds for dataset in some]
    return own, [call for _, calls in worlds for call in calls]


def one_by_one(scene: InProcessScene, calls: Sequence[Merge]) -> Answers:
    """Register each call in its own transaction."""
    return [
        scene.transactions.write(lambda tx, call=call: register_batch(tx, [call]))[0]  # type: ignore[misc]
        for call in calls
    ]


@pytest.mark.parametrize(
    ("world", "refused"),
    [
        (_bound_columns, ["", "LAYOUT_CHANGED", ""]),
        (_deduplication, ["DUPLICATE_EVENTS", "", "", "LAYOUT_CHANGED"]),
        (_conservation, ["", "EXCESS_EVENTS", "", "EXCESS_EVENTS", ""]),
        (_each, None),
    ],
    ids=["bound columns", "deduplication", "conservation", "each"],
)
def test_a_batch_with_refused_calls_equals_the_calls_one_by_one(
    scene: InProcessScene, world: World, refused: list[str] | None
) -> None:
    batched, batch = world(scene)
    single, calls = world(scene)

    answers = scene.transactions.write(lambda tx: register_batch(tx, batch))
    expected = one_by_one(scene, calls)

    reasons = [a.reason if isinstance(a, MetaError) else "" for a in answers]
    assert reasons == [a.reason if isinstance(a, MetaError) else "" for a in expected]
    assert refused in (None, reasons)
    assert [dataset.state() for dataset in batched] == [dataset.state() for dataset in single]


def test_calls_with_and_without_events_of_a_dataset_share_a_batch(scene: InProcessScene) -> None:
    dataset = Dataset(scene).deduplicated()
    with_events, without = dataset.call(1, 2), dataset.call()
    empty = Merge(
        dataset.id,
        without.segments,
        without.moves,
        stated={deduplication.FIELD: EventClaims(1)},
    )

    answers = scene.transactions.write(lambda tx: register_batch(tx, [with_events, empty]))

    assert not [answer for answer in answers if isinstance(answer, MetaError)]


def merges(scene: InProcessScene) -> tuple[list[Dataset], list[Completion]]:
    """Completions of claimed tasks: of their outputs the third, fourth and fifth are refused."""
    made = [Dataset(scene), *(Dataset(scene).bound() for _ in range(3)), Dataset(scene)]
    scene.execute("UPDATE merge_tasks SET state = 3 WHERE state = 1")
    janitor = JanitorServicer(scene.transactions, scene.settings)
    completions = []
    for dataset in made:
        scene.save(*(new_segment(dataset.id, events=RECORDS) for _ in range(INPUTS)))
        request = janitor_pb2.CreateMergeTasksRequest(dataset_name=scene.name_of(dataset.id))
        assert janitor.CreateMergeTasks(request).tasks_created == 1
        task = scene.claim()
        assert task is not None
        output = output_of(dataset.id, task.id, task.attempt, events=RECORDS * INPUTS)
        completions.append(Completion(task.id, (output._replace(facts=b"\x08\x02"),)))
    outputs = [completion.outputs[0] for completion in completions]
    outputs[1] = outputs[1]._replace(promoted_field_ids=(7,))
    outputs[3] = outputs[3]._replace(facts=None)
    scene.save(outputs[4])
    return made, [Completion(c.task_id, (o,)) for c, o in zip(completions, outputs, strict=True)]


def test_a_batch_with_refused_completions_equals_them_one_by_one(scene: InProcessScene) -> None:
    batched, batch = merges(scene)
    answers = scene.transactions.write(lambda tx: complete_batch(tx, batch))
    single, completions = merges(scene)
    expected = [scene.complete(c.task_id, c.outputs[0]) for c in completions]

    reasons = [a.reason if isinstance(a, Rejected) else "DONE" for a in answers]
    assert reasons == expected
    assert reasons == ["DONE", "DONE", "LAYOUT_CHANGED", "LAYOUT_CHANGED", "KEY_TAKEN"]
    assert [dataset.state() for dataset in batched] == [dataset.state() for dataset in single]


def test_the_part_that_takes_from_an_allowance_checks_last() -> None:
    assert PARTS[-1] is Conservation
    assert len(set(PARTS)) == len(PARTS)
