"""Finds the dataset of every payload in a baby segment, without decoding any. Pure."""

from bisect import bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass

from nursery.tasks import Routes, Task, TaskRead
from segments.baby import Baby, TokenPart
from segments.otlp.split import records_at_most
from segments.signals import Signal

# Columns of a record without any content: an empty record is 2 bytes of OTLP.
ROW_BYTES = 128


@dataclass(frozen=True, slots=True)
class Payload:
    """One OTLP payload and where it stands. `received_at` serves records without a time.

    `weight` is about the bytes that its columns will take, for bounding memory. A validated one
    was accepted by the official classes before it was stored.
    """

    stream_id: str
    offset: int
    token_id: str
    signal: Signal
    slice_index: int
    body: bytes
    received_at: int
    weight: int
    is_validated: bool


@dataclass(frozen=True, slots=True)
class Routed:
    """A payload of one of the task's works, by index; `work` None: put aside, for `cause`."""

    payload: Payload
    work: int | None
    cause: str = ""


class Router:
    """Routes the baby segments of one task."""

    def __init__(self, task: Task) -> None:
        self._routes = {routes.stream_id: routes for routes in task.routes}
        # Per (stream, dataset) the ranges in order: (first, last, work).
        self._works: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
        for index, work in enumerate(task.works):
            for span in work.ranges:
                ranges = self._works.setdefault((span.stream_id, work.dataset_id), [])
                insort(ranges, (span.start, span.end, index))

    def route(self, read: TaskRead, baby: Baby, received_at: int) -> Iterator[Routed]:
        """Yield the payloads that are this task's: its datasets', and strays if it owns them."""
        routes = self._routes[read.stream_id]
        for part in baby.parts:
            dataset_id = _dataset_of(part, baby, routes, read.offset)
            work = self._work_of(read, dataset_id)
            cause = "" if work is not None else _cause(dataset_id, routes, read)
            if work is None and not cause:
                continue
            stamped_records = part.num_records // len(part.slices)
            for index, body in enumerate(part.slices):
                records = stamped_records
                if not baby.is_stamped:
                    records = records_at_most(part.signal, body)
                payload = Payload(
                    read.stream_id,
                    read.offset,
                    part.token_id,
                    part.signal,
                    index,
                    body,
                    part.received_at(index, received_at),
                    max(len(body), records * ROW_BYTES),
                    # Whoever stamps a baby has parsed what is in it.
                    baby.is_stamped,
                )
                yield Routed(payload, work, cause)

    def _work_of(self, read: TaskRead, dataset_id: str | None) -> int | None:
        ranges = self._works.get((read.stream_id, dataset_id or ""), [])
        place = bisect_right(ranges, read.offset, key=lambda found: found[0])
        if place == 0:
            return None
        _, last, work = ranges[place - 1]
        return work if read.offset <= last else None


def _dataset_of(part: TokenPart, baby: Baby, routes: Routes, offset: int) -> str | None:
    if baby.is_stamped:
        return part.dataset_id
    periods = [p for p in routes.periods if p.token_id == part.token_id and p.from_offset <= offset]
    if not periods:
        return None
    return max(periods, key=lambda p: p.from_offset).routes.get(part.signal)


def _cause(dataset_id: str | None, routes: Routes, read: TaskRead) -> str:
    """Why a payload that no work takes must be put aside; "" if it is another task's or merged."""
    if not read.is_owner:
        return ""
    if dataset_id is None:
        return "no_route"
    if dataset_id not in routes.merged:
        return "no_entry"
    is_announced = not read.dataset_ids or dataset_id in read.dataset_ids
    if is_announced or read.offset <= routes.merged[dataset_id]:
        return ""
    # The commit did not name this dataset, so no task was told to look for it here.
    return "unannounced"
