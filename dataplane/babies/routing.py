"""Routes the payloads of a baby segment to datasets, without decoding them. Pure."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from dataplane.babies.columns import DecodedDataset
from dataplane.babies.payload import ROW_BYTES, Payload
from dataplane.babies.reads import Routes, TaskRead
from segments.baby import Baby, IsWanted, TokenPart
from segments.otlp.split import records_at_most

Target = TypeVar("Target", bound=DecodedDataset)


@dataclass(frozen=True, slots=True)
class StrayPayload:
    """A payload that goes to the quarantine, for `cause`: damaged, or no dataset takes it.

    `dataset_id` is the one that it was meant for, "" if that is not known.
    """

    payload: Payload
    cause: str
    dataset_id: str = ""


@dataclass(frozen=True, slots=True)
class _OwnedOffsets(Generic[Target]):
    """Offsets of one stream whose records of one dataset are this task's."""

    first: int
    last: int
    dataset: Target


class Router(Generic[Target]):
    """Routes the baby segments of one task."""

    def __init__(self, routes: Sequence[Routes], datasets: Sequence[Target]) -> None:
        self._routes = {stream.stream_id: stream for stream in routes}
        # Ascending offsets per (stream, dataset), and apart from them the first of each.
        self._owned: dict[tuple[str, str], list[_OwnedOffsets[Target]]] = {}
        for dataset in datasets:
            for span in dataset.work.ranges:
                owned = self._owned.setdefault((span.stream_id, dataset.work.dataset_id), [])
                owned.append(_OwnedOffsets(span.start, span.end, dataset))
        # Datasets of the baby that was asked about last: each has parts of several signals.
        self._last: tuple[tuple[str, int], dict[str | None, Target | None]] | None = None
        self._firsts: dict[tuple[str, str], list[int]] = {}
        for key, owned in self._owned.items():
            owned.sort(key=_first)
            self._firsts[key] = list(map(_first, owned))

    def is_wanted(self, read: TaskRead) -> IsWanted:
        """Return whether `route` yields the payloads of a stamped dataset in this baby."""
        routes = self._routes[read.stream_id]
        return lambda dataset_id: bool(
            self._owner(read, dataset_id) or _stray_cause(dataset_id, routes, read)
        )

    def route(
        self, read: TaskRead, baby: Baby, received_at: int
    ) -> Iterator[tuple[Target, Payload] | StrayPayload]:
        """Yield the payloads of this task's datasets, and strays if the task owns the baby."""
        routes = self._routes[read.stream_id]
        for part in baby.parts:
            dataset_id = _dataset_id(part, baby, routes, read.offset)
            dataset = self._owner(read, dataset_id)
            if dataset is not None:
                for payload in _payloads(part, baby, read, received_at):
                    if payload.slice_index in part.damaged:
                        yield StrayPayload(payload, "corrupt_slice", dataset_id or "")
                    else:
                        yield dataset, payload
            elif cause := _stray_cause(dataset_id, routes, read):
                for payload in _payloads(part, baby, read, received_at):
                    yield StrayPayload(payload, cause, dataset_id or "")

    def _owner(self, read: TaskRead, dataset_id: str | None) -> Target | None:
        baby = (read.stream_id, read.offset)
        if self._last is None or self._last[0] != baby:
            self._last = (baby, {})
        owners = self._last[1]
        if dataset_id not in owners:
            owners[dataset_id] = self._find_owner(read, dataset_id)
        return owners[dataset_id]

    def _find_owner(self, read: TaskRead, dataset_id: str | None) -> Target | None:
        key = (read.stream_id, dataset_id or "")
        index = bisect_right(self._firsts.get(key, ()), read.offset)
        if index == 0:
            return None
        owned = self._owned[key][index - 1]
        return None if owned.last < read.offset else owned.dataset


def _first(owned: _OwnedOffsets[Target]) -> int:
    return owned.first


def _payloads(part: TokenPart, baby: Baby, read: TaskRead, received_at: int) -> Iterator[Payload]:
    stamped_records = part.num_records // len(part.slices)
    # A collector stamps a baby only after it has parsed the payloads.
    is_validated = baby.is_stamped
    for index, body in enumerate(part.slices):
        records = stamped_records if is_validated else records_at_most(part.signal, body)
        export = part.export(index, received_at)
        yield Payload(
            read.stream_id,
            read.offset,
            part.token_id,
            part.signal,
            index,
            body,
            export.received_at,
            max(len(body), records * ROW_BYTES),
            is_validated,
            digest=export.digest,
        )


def _dataset_id(part: TokenPart, baby: Baby, routes: Routes, offset: int) -> str | None:
    if baby.is_stamped:
        return part.dataset_id
    periods = [p for p in routes.periods if p.token_id == part.token_id and p.from_offset <= offset]
    if not periods:
        return None
    return max(periods, key=lambda p: p.from_offset).routes.get(part.signal)


def _stray_cause(dataset_id: str | None, routes: Routes, read: TaskRead) -> str:
    """Cause for which this task quarantines a payload; "" if it is another task's or merged."""
    if not read.is_owner:
        return ""
    if dataset_id is None:
        return "no_route"
    if routes.bases.get(dataset_id, read.offset) >= read.offset:
        return "no_entry"
    is_announced = not read.dataset_ids or dataset_id in read.dataset_ids
    # A dataset that the commit did not name is merged from here by no task, and its offset may
    # have passed already.
    return "" if is_announced else "unannounced"
