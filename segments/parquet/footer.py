"""The footer of a merged segment, as Parquet key-value metadata.

A catalog can be rebuilt from footers alone: segments are chosen such that each day of each part of
a batch is in one of them, and a batch without its last part is dropped.
"""

import binascii
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from segments.errors import CorruptObject
from segments.facts import written
from segments.facts.feature import NO_FACTS, Facts
from segments.offsets import OffsetSpan, Quarantined, coalesce
from segments.parquet import footer_columns, lineage
from segments.parquet.lineage import BatchPart
from segments.parquet.spec import PromotedColumn
from segments.signals import SIGNALS, Signal

# Written by this release, and the latest that it reads.
FORMAT_VERSION = 2
FORMAT_VERSION_MAX = 2
_PREFIX = b"segplane."


@dataclass(frozen=True, slots=True)
class SegmentFooter:
    """The part of a footer that is known before the first row: dataset, producer and lineage.

    `producer` names the program and its version. `quarantined` are baby segments whose records are
    not all in the file, because others of the same payloads were quarantined. `deduplication` is
    the column by which its nursery skipped duplicates; "" = it skipped none. `unusable`
    are automatic columns that do not stand for their attribute in the file, by name.
    """

    dataset_id: str
    producer: str
    batches: tuple[BatchPart, ...] = ()
    ranges: tuple[OffsetSpan, ...] = ()
    format_version: int = FORMAT_VERSION
    quarantined: Quarantined = ()
    deduplication: str = ""
    unusable: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class StoredFooter:
    """A footer as read back: the writer's part, and the facts it gathered while writing.

    `rows_by_signal` names every signal whose columns the file has, also those without rows;
    `times_by_signal` are the time bounds of those with rows, None if the file does not say.
    Times are nanoseconds, both ends inclusive. `sort_order` is the order of the whole file,
    `sharding_fields` are the dataset's, heaviest first, also those that the file has no column for.
    `entries` belong to the features of `segments.facts`.
    """

    footer: SegmentFooter
    rows_by_signal: Mapping[Signal, int]
    start_time: int
    end_time: int
    sort_order: tuple[str, ...]
    promoted: tuple[PromotedColumn, ...]
    sharding_fields: tuple[str, ...] = ()
    times_by_signal: Mapping[Signal, tuple[int, int]] | None = None
    entries: Mapping[str, object] = field(default_factory=dict)

    @property
    def unusable(self) -> frozenset[str]:
        """Names of automatic columns that do not stand for their attribute."""
        return self.footer.unusable

    @property
    def declared(self) -> tuple[PromotedColumn, ...]:
        """The promoted columns that are not automatic."""
        return tuple(column for column in self.promoted if not column.is_automatic)

    @property
    def rows(self) -> int:
        """Rows of all signals."""
        return sum(self.rows_by_signal.values())


@dataclass(frozen=True, slots=True)
class SectionContent:
    """Rows of one signal, and their time bounds in nanoseconds, both ends inclusive."""

    rows: int
    start_time: int
    end_time: int


@dataclass(frozen=True, slots=True)
class SegmentContent:
    """The content of a file that the catalog knows.

    These are its signals with rows, its promoted columns, and the facts that features open.
    """

    format_version: int
    sections: Mapping[Signal, SectionContent]
    promoted_field_ids: tuple[int, ...] = ()
    written: Facts = NO_FACTS


@dataclass(frozen=True, slots=True)
class SegmentFacts:
    """Counts, sizes and time bounds of a finished file. Times are nanoseconds, both ends inclusive.

    `size_bytes` is the size before compression, `compressed_size_bytes` the file's.
    """

    rows: int
    rows_by_signal: Mapping[Signal, int]
    size_bytes: int
    compressed_size_bytes: int
    start_time: int
    end_time: int
    crc32c: int
    content: SegmentContent

    @classmethod
    def of(
        cls, stored: StoredFooter, size_bytes: int, compressed_size_bytes: int, crc32c: int
    ) -> "SegmentFacts":
        """Facts of a file that has this footer; one without time bounds a signal has no content."""
        content = content_of(stored) or SegmentContent(stored.footer.format_version, {})
        counts, times = (stored.rows, stored.rows_by_signal), (stored.start_time, stored.end_time)
        return cls(*counts, size_bytes, compressed_size_bytes, *times, crc32c, content)


class RegisteredFacts(NamedTuple):
    """A segment's registration, as far as its footer repeats it; times in nanoseconds."""

    dataset_id: str
    rows: int
    start_time: int
    end_time: int


def differences(stored: StoredFooter, registered: RegisteredFacts) -> Iterator[str]:
    """Name what a footer says otherwise than the registration of its segment, a line for each."""
    says = (stored.footer.dataset_id, stored.rows, stored.start_time, stored.end_time)
    names = ("dataset", "rows", "start time", "end time")
    for name, in_file, expected in zip(names, says, registered, strict=True):
        if in_file != expected:
            yield f"{name} in the file is {in_file}, registered is {expected}"


def content_of(stored: StoredFooter) -> SegmentContent | None:
    """Return a footer's facts of the content; None for one without time bounds a signal."""
    times = stored.times_by_signal
    if times is None:
        return None
    return SegmentContent(
        stored.footer.format_version,
        {
            signal: SectionContent(rows, *times[signal])
            for signal, rows in stored.rows_by_signal.items()
            if rows
        },
        footer_columns.field_ids(stored.promoted),
        written.state(stored),
    )


def merged_footer(dataset_id: str, producer: str, inputs: Iterable[SegmentFooter]) -> SegmentFooter:
    """Make the footer of a merge's output: all the batches and ranges of its inputs.

    Raises LineageTooLarge: before the merge, not when its last row is written.
    """
    footers = list(inputs)
    footer = SegmentFooter(
        dataset_id,
        producer,
        batches=lineage.joined(batch for footer in footers for batch in footer.batches),
        ranges=coalesce(item for footer in footers for item in footer.ranges),
        quarantined=lineage.joined_quarantined(
            item for footer in footers for item in footer.quarantined
        ),
        deduplication=next((f.deduplication for f in footers if f.deduplication), ""),
        unusable=frozenset().union(*(footer.unusable for footer in footers)),
    )
    judged = [span for _, spans in footer.quarantined for span in spans]
    lineage.check_size(footer.batches, (*footer.ranges, *judged))
    return footer


def footer_of_days(footer: SegmentFooter, first_day: int, last_day: int) -> SegmentFooter:
    """Make the footer of the output of a merge that holds some UTC days; both ends inclusive.

    All ranges stay: that they were merged is true of each output.
    """
    return replace(footer, batches=lineage.of_days(footer.batches, first_day, last_day))


def encode_footer(stored: StoredFooter) -> dict[bytes, bytes]:
    """Turn a footer into Parquet key-value metadata, all of it printable text."""
    footer = stored.footer
    fields: dict[str, object] = {
        "format_version": footer.format_version,
        "dataset_id": footer.dataset_id,
        "producer": footer.producer,
        "rows": dict(stored.rows_by_signal),
        "start_time": stored.start_time,
        "end_time": stored.end_time,
        "sort_order": stored.sort_order,
        "sharding_fields": stored.sharding_fields,
        **footer_columns.encode(stored.promoted, footer.unusable),
        **stored.entries,
    }
    if footer.deduplication:
        fields["deduplication"] = footer.deduplication
    if stored.times_by_signal is not None:
        fields["signal_times"] = dict(stored.times_by_signal)
    metadata = {_PREFIX + name.encode(): _json(value) for name, value in fields.items()}
    metadata[_PREFIX + b"lineage"] = lineage.pack(footer.batches, footer.ranges)
    if footer.quarantined:
        metadata[_PREFIX + b"quarantined"] = lineage.pack_quarantined(footer.quarantined)
    return metadata


def decode_footer(metadata: Mapping[bytes, bytes] | None) -> StoredFooter:
    """Read a footer back; raises CorruptObject for a file that is not a segment."""
    try:
        texts = {k.removeprefix(_PREFIX).decode(): v for k, v in (metadata or {}).items()}
        version = _int(json.loads(texts["format_version"]))
        if version > FORMAT_VERSION_MAX:
            raise CorruptObject(
                f"segment has format version {version}, "
                f"this release reads up to {FORMAT_VERSION_MAX}"
            )
        rows = json.loads(texts["rows"])
        batches, ranges = lineage.unpack(texts["lineage"])
        sort_order = tuple(map(str, json.loads(texts["sort_order"])))
        sharding = texts.get("sharding_fields")
        quarantined = texts.get("quarantined")
        promoted, unusable = footer_columns.decode(texts)
        return StoredFooter(
            SegmentFooter(
                str(json.loads(texts["dataset_id"])),
                str(json.loads(texts["producer"])),
                batches,
                ranges,
                version,
                () if quarantined is None else lineage.unpack_quarantined(quarantined),
                # Builds before 0.3.0 wrote it by another name.
                str(json.loads(texts.get("deduplication", texts.get("event_identity", b'""')))),
                unusable,
            ),
            {signal: _int(rows[signal]) for signal in SIGNALS if signal in rows},
            _int(json.loads(texts["start_time"])),
            _int(json.loads(texts["end_time"])),
            sort_order,
            promoted,
            _fields_of(sort_order) if sharding is None else tuple(map(str, json.loads(sharding))),
            _signal_times(texts.get("signal_times"), rows),
            written.read_entries(texts),
        )
    except (KeyError, ValueError, TypeError, binascii.Error, zlib.error) as error:
        raise CorruptObject(f"the footer is not that of a merged segment: {error!r}") from error


def _fields_of(sort_order: tuple[str, ...]) -> tuple[str, ...]:
    """The sharding fields of a file from before they were written down, as far as it has them."""
    fields = [name for name in sort_order if name != "signal"]
    for last in ("timestamp", "service_name"):
        if fields and fields[-1] == last:
            fields.pop()
    return tuple(fields)


def _signal_times(
    encoded: bytes | None, rows: Mapping[str, object]
) -> dict[Signal, tuple[int, int]] | None:
    if encoded is None:
        return None
    times = json.loads(encoded)
    return {
        signal: (_int(times[signal][0]), _int(times[signal][1]))
        for signal in SIGNALS
        if rows.get(signal)
    }


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _int(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is not a whole number")
    return value
