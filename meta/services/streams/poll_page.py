"""One page of a poll in the making: its content, and the room that is left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.internal.containers import RepeatedCompositeFieldContainer
from google.protobuf.message import Message

from meta.services.messages import convert
from meta.v1 import nursery_pb2
from meta.v1.common_pb2 import DatasetInfo

# Tag and length of an item in its list, and the cursor that is added last.
_TAG_BYTES = 5
_CURSOR_BYTES = 128
Item = TypeVar("Item", bound=Message)


class PollPage:
    """A reply and the room that is left in it; weighing it again for every item would be slow."""

    def __init__(self, reply: nursery_pb2.GetIngestStreamsResponse) -> None:
        self.reply = reply
        self.room_bytes = convert.REPLY_BYTES_MAX - reply.ByteSize() - _CURSOR_BYTES
        # Whether one of its streams has all entries.
        self.has_whole = False
        # Datasets that the page has because entries on it are theirs.
        self.dataset_ids: set[str] = set()

    def has_room(self, *items: Message) -> bool:
        """Return whether all of the items fit."""
        return sum(item.ByteSize() + _TAG_BYTES for item in items) <= self.room_bytes

    def add(self, items: "RepeatedCompositeFieldContainer[Item]", item: Item) -> None:
        """Append an item."""
        items.append(item)
        self.room_bytes -= item.ByteSize() + _TAG_BYTES


@dataclass(slots=True)
class StreamItem:
    """One stream on a page, with what belongs to it; `dataset_infos` are by id."""

    info: nursery_pb2.IngestStreamInfo
    periods: list[nursery_pb2.RoutingPeriod]
    dataset_infos: Mapping[str, DatasetInfo]

    def messages(self) -> list[Message]:
        """Everything that has to be on one page."""
        infos = (self.dataset_infos.get(entry.dataset_id) for entry in self.info.datasets)
        return [self.info, *self.periods, *(info for info in infos if info is not None)]

    def shorten(self) -> bool:
        """Omit half of the baby segments and of the entries that none of the rest needs.

        Returns false once nothing is left to omit. A stream with all its entries keeps them.
        """
        babies, entries = self.info.unmerged_babies, self.info.datasets
        if len(babies) > 1:
            del babies[len(babies) // 2 :]
            self.periods = _needed(self.periods, babies)
        elif not self.info.merged_entries_omitted:
            return False
        if self.info.merged_entries_omitted:
            stamps = {dataset_id for baby in babies for dataset_id in baby.dataset_ids}
            needed = [entry for entry in entries if entry.dataset_id in stamps]
            others = [entry for entry in entries if entry.dataset_id not in stamps]
            if len(babies) == 1 and not others:
                return False
            del entries[:]
            entries.extend([*needed, *others[: len(others) // 2]])
        return True

    def add_to(self, page: PollPage) -> None:
        """Add it; a dataset that is on the page already is not added again."""
        page.add(page.reply.streams, self.info)
        for period in self.periods:
            page.add(page.reply.routing_history, period)
        for entry in self.info.datasets:
            info = self.dataset_infos.get(entry.dataset_id)
            if info is not None and info.id not in page.dataset_ids:
                page.dataset_ids.add(info.id)
                page.add(page.reply.datasets, info)


def _needed(
    periods: Sequence[nursery_pb2.RoutingPeriod],
    babies: Sequence[nursery_pb2.BabySegmentInfo],
) -> list[nursery_pb2.RoutingPeriod]:
    """Skip periods that ended before the first baby or began after the last."""
    first, last = babies[0].offset, babies[-1].offset
    in_force: dict[str, int] = {}
    for period in periods:
        if period.from_offset <= first:
            version = in_force.get(period.token_id, -1)
            in_force[period.token_id] = max(version, period.from_offset)
    return [
        period
        for period in periods
        if in_force.get(period.token_id, -1) <= period.from_offset <= last
    ]
