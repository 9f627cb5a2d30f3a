"""A nursery task over babies that a test puts."""

from uuid import uuid4

from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from dataplane.babies.reads import DatasetWork, Period, Routes, TaskRead
from nursery.execution.execute import Budget
from nursery.planning.tasks import Task
from nursery.results import TaskResult
from segments.baby import Baby, BabyKind, TokenPart, encode_baby
from segments.keys import baby_key
from segments.offsets import OffsetSpan
from segments.parquet.reader import read_segment
from segments.parquet.spec import SegmentSpec
from segments.signals import Signal
from segments.store.interface import ObjectStore

DAY = 86_400 * 10**9
NOW = 1_700_000_000 * 10**9
STREAM, TOKEN, ONE, TWO = (str(uuid4()) for _ in range(4))
ROOMY = Budget(decode_bytes_max=1 << 26, held_bytes_max=1 << 28)


def logs(*texts: str, time: int = NOW) -> bytes:
    data = LogsData()
    container = data.resource_logs.add()
    container.resource.attributes.add(key="service.name").value.string_value = "web"
    records = container.scope_logs.add().log_records
    for index, text in enumerate(texts):
        record = records.add(time_unix_nano=time - index)
        record.body.string_value = text
        record.attributes.add(key="region").value.string_value = f"eu-{index}"
    return data.SerializeToString()


def part(payload: bytes, dataset_id: str | None = ONE, signal: Signal = "logs") -> TokenPart:
    return TokenPart(TOKEN, signal, (payload,), dataset_id, 1, NOW, NOW)


def put(store: ObjectStore, offset: int, *parts: TokenPart, is_stamped: bool = True) -> None:
    kind = BabyKind.DATA if is_stamped else BabyKind.UNSPECIFIED
    at = NOW if is_stamped else 0
    baby = Baby(parts, kind, b"f" * 16 if is_stamped else b"", at, is_stamped)
    store.put_if_absent(baby_key(STREAM, offset), encode_baby(baby))


def task(
    last: int, *dataset_ids: str, spec: SegmentSpec | None = None, periods: tuple[Period, ...] = ()
) -> Task:
    return Task(
        works=tuple(
            DatasetWork(d, spec or SegmentSpec(), (OffsetSpan(STREAM, 0, last),))
            for d in dataset_ids
        ),
        reads=tuple(TaskRead(STREAM, o, is_owner=True) for o in range(last + 1)),
        routes=(Routes(STREAM, dict.fromkeys(dataset_ids, -1), periods),),
    )


def bodies(store: ObjectStore, result: TaskResult, index: int = 0) -> list[str]:
    found: list[str] = []
    for segment in result.datasets[index].segments:
        found.extend(map(str, read_segment(store, segment.key)["logs"]["body"].to_pylist()))
    return found
