"""One collector, one nursery, one worker and one operator, each about to make a call."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from uuid import UUID, uuid4

from meta.services.merging.janitor import JanitorServicer
from meta.store.damage.replays import QuarantinedPayload
from meta.store.segments.segments import NewSegment
from meta.v1 import janitor_pb2
from tests.support.interleaving.in_process_calls import (
    InProcessScene,
    attempt_of,
    baby,
    new_segment,
    output_of,
)
from tests.support.interleaving.operators import Operator
from tests.support.interleaving.repairs import Repairs

INPUTS = 4
COMMITTED = 3

# What a state is, without what every run makes anew: ids, versions, times.
State = tuple[tuple[object, ...], ...]


@dataclass(frozen=True)
class Stage:
    """State for one pair of calls; `datasets` and `new` segments have the same names every time."""

    operator: Operator
    janitor: JanitorServicer
    datasets: Mapping[str, UUID]
    stream_id: UUID
    collector: str
    token_id: str
    plaintext: str
    task_id: UUID
    # A segment of the claimed task, and a payload whose replay was begun.
    damaged: UUID
    payload: QuarantinedPayload
    new: Mapping[str, NewSegment]

    @property
    def repairs(self) -> Repairs:
        return Repairs(self.scene)

    @property
    def scene(self) -> InProcessScene:
        return self.operator.scene

    def plan(self, dataset: str) -> int:
        name = self.scene.name_of(self.datasets[dataset])
        request = janitor_pb2.CreateMergeTasksRequest(dataset_name=name)
        return self.janitor.CreateMergeTasks(request).tasks_created

    def state(self) -> State:
        """Everything that a caller could ever tell, in rows that two runs can share."""
        names = {one: name for name, one in self.datasets.items()}
        keys = {segment.object_key: name for name, segment in self.new.items()}
        ids = list(self.datasets.values())
        found: list[tuple[object, ...]] = []
        for part, statement in _STATE.items():
            mine = statement.replace("$own", _OWN)
            rows = self.scene.rows(mine, ids=ids, collector=self.collector, keys=list(keys))
            found += sorted(
                ((part, *(_named(value, names, keys) for value in row)) for row in rows), key=repr
            )
        return tuple(found)


def _named(value: object, names: Mapping[UUID, str], keys: Mapping[str, str]) -> object:
    if isinstance(value, UUID):
        return names.get(value, "another")
    if isinstance(value, list):
        return tuple(_named(one, names, keys) for one in value)
    return keys.get(value, value) if isinstance(value, str) else value


_OWN = "stream_id IN (SELECT id FROM ingest_streams WHERE collector_id = :collector)"
_STATE = {
    "dataset": "SELECT id, deleted_at IS NULL FROM datasets WHERE id = ANY(:ids)",
    "stream": "SELECT stopped_offset, deleted_offset, committed_offset, is_stopped"
    " FROM ingest_streams JOIN stream_heads ON id = stream_id WHERE collector_id = :collector",
    "entry": "SELECT dataset_id, merged_offset, base_offset FROM stream_datasets WHERE $own",
    "baby": 'SELECT "offset", dataset_ids FROM baby_segments WHERE $own',
    "period": "SELECT from_offset, logs_dataset_id, traces_dataset_id, metrics_dataset_id"
    " FROM routing_periods WHERE $own",
    "registration": "SELECT dataset_id, start_offset, end_offset FROM registrations WHERE $own",
    # Of versions the order counts: which of a run's changes came first.
    "segment": "SELECT d.id, (SELECT object_key FROM object_identities WHERE segment_id = s.id"
    " AND object_key = ANY(:keys)), s.merge_count, dense_rank() OVER (ORDER BY created_version),"
    " tombstone_version IS NULL, tombstone_at = 'infinity'"
    " FROM segments s JOIN datasets d ON d.key = s.dataset_key WHERE d.id = ANY(:ids)",
    "swap": "SELECT i.tombstone_version = o.created_version FROM segment_lineage"
    " JOIN segments i ON i.id = input_id JOIN segments o ON o.id = output_id"
    " JOIN datasets d ON d.key = o.dataset_key WHERE d.id = ANY(:ids)",
    "object": "SELECT object_key, state FROM object_identities WHERE object_key = ANY(:keys)",
    "task": "SELECT d.id, state, attempt, worker_id IS NULL, segment_count"
    " FROM merge_tasks JOIN datasets d ON d.key = dataset_key WHERE d.id = ANY(:ids)",
    "loss": "SELECT kind, dataset_id, withdrawn_version IS NULL FROM losses"
    " WHERE dataset_id = ANY(:ids)",
    "replay": "SELECT state, dataset_id FROM replays WHERE dataset_id = ANY(:ids)",
    "stats": "SELECT d.id, live_segments, all_segments, open_tasks FROM dataset_stats s"
    " JOIN datasets d ON d.key = s.dataset_key WHERE d.id = ANY(:ids)",
}


def prepare(operator: Operator, janitor: JanitorServicer) -> Stage:
    """A stream with four babies, one of them merged; a claimed task, a free one, loose segments."""
    scene = operator.scene
    scene.execute("UPDATE merge_tasks SET state = 3 WHERE state = 1")
    datasets = {name: scene.dataset() for name in ("web", "other", "merging", "free", "loose")}
    collector = uuid4().hex
    token_id, plaintext = operator.token(datasets["web"])
    stream_id = operator.admit(collector, plaintext)
    for offset in range(COMMITTED + 1):
        scene.commit(baby(stream_id, offset, datasets["web"]))
    scene.register(stream_id, datasets["web"], -1, 0, new_segment(datasets["web"]))
    saved = {
        name: scene.save(*(new_segment(datasets[name]) for _ in range(INPUTS)))[1]
        for name in ("merging", "free", "loose")
    }
    repairs = Repairs(scene)
    repairs.park(stream_id, 1)
    stage = Stage(
        operator,
        janitor,
        datasets,
        stream_id,
        collector,
        token_id,
        plaintext,
        UUID(int=0),
        saved["merging"][0],
        repairs.begun(stream_id, datasets["web"]),
        {},
    )
    assert stage.plan("merging") == 1
    task = scene.claim()
    assert task is not None
    assert stage.plan("free") == 1
    events = 10 * INPUTS
    new = {
        "merged": new_segment(datasets["web"]),
        "saved": new_segment(datasets["merging"]),
        "output": output_of(datasets["merging"], task.id, task.attempt, events=events),
        "copy": new_segment(datasets["merging"]),
        "replayed": new_segment(datasets["web"]),
    }
    return replace(stage, task_id=task.id, new=new)


CALLS: dict[str, Callable[[Stage], object]] = {
    "commit": lambda s: s.scene.commit(baby(s.stream_id, COMMITTED + 1, s.datasets["web"])),
    "register": lambda s: s.scene.register(s.stream_id, s.datasets["web"], 0, 2, s.new["merged"]),
    "stop": lambda s: s.scene.stop(s.stream_id, COMMITTED),
    "reap": lambda s: s.scene.reap(s.stream_id, 0),
    "save": lambda s: s.scene.save(s.new["saved"]),
    "condemn": lambda s: s.scene.condemn(s.new["saved"].object_key),
    "complete": lambda s: s.scene.complete(s.task_id, s.new["output"]),
    "claim": lambda s: s.scene.claim(),
    "plan": lambda s: s.plan("loose"),
    "route": lambda s: s.operator.route(s.token_id, s.datasets["other"]),
    "skip": lambda s: s.repairs.skip(s.stream_id, 1),
    "hide": lambda s: s.repairs.hide(s.damaged),
    "replace": lambda s: s.repairs.replace(s.damaged, s.new["copy"]),
    "replay": lambda s: s.repairs.complete(s.payload, s.new["replayed"]),
    "drop": lambda s: s.repairs.drop(s.payload, s.datasets["web"]),
    "delete": lambda s: s.operator.delete(s.datasets["merging"]),
}


def verdict(call: Callable[[Stage], object], stage: Stage) -> str:
    """Outcome of a call, as far as its caller can act on it."""
    answer = attempt_of(lambda: call(stage))
    if isinstance(answer, Exception):
        return type(answer).__name__
    return answer if isinstance(answer, str) else str(bool(answer) or answer is None)
