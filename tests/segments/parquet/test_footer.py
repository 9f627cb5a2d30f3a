"""The footer: what is written is what is read, and garbage is refused."""

import json
from dataclasses import replace
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segments.errors import CorruptObject
from segments.facts.written import state
from segments.offsets import OffsetSpan, coalesce
from segments.parquet import lineage
from segments.parquet.footer import (
    FORMAT_VERSION_MAX,
    SectionContent,
    SegmentContent,
    SegmentFooter,
    StoredFooter,
    content_of,
    decode_footer,
    encode_footer,
    merged_footer,
)
from segments.parquet.lineage import BatchPart, LineageTooLarge
from segments.parquet.spec import PromotedColumn

ranges = st.lists(
    st.builds(
        lambda stream, start, length: OffsetSpan(stream, start, start + length),
        st.sampled_from(["a", "b", "c"]),
        st.integers(0, 60),
        st.integers(0, 9),
    ),
    max_size=12,
)


def stored(footer: SegmentFooter) -> StoredFooter:
    promoted = (PromotedColumn("c", "long", "record", 'a "key"'),)
    return StoredFooter(
        footer,
        {"logs": 3, "traces": 0},
        -5,
        7,
        ("signal", "timestamp"),
        promoted,
        ("severity_text", "no column"),
        {"logs": (-5, 7)},
    )


def offsets(items: list[OffsetSpan] | tuple[OffsetSpan, ...]) -> set[tuple[str, int]]:
    return {(r.stream_id, n) for r in items for n in range(r.start, r.end + 1)}


@settings(deadline=None)
@given(ranges)
def test_a_footer_survives_the_file(found: list[OffsetSpan]) -> None:
    part = BatchPart("x", 2, 2)
    footer = SegmentFooter(
        "dataset", "producer", (part,), coalesce(found), deduplication="order_id"
    )

    assert decode_footer(encode_footer(stored(footer))) == stored(footer)


@settings(deadline=None)
@given(ranges, ranges)
def test_a_merge_carries_everything_of_its_inputs(
    first: list[OffsetSpan], second: list[OffsetSpan]
) -> None:
    inputs = [
        SegmentFooter("d", "p", (BatchPart("x", 1),), coalesce(first)),
        SegmentFooter(
            "d",
            "p",
            (BatchPart("x", 1), BatchPart("x", 2, 2)),
            coalesce(second),
            deduplication="order_id",
        ),
    ]

    merged = merged_footer("d", "m", inputs)

    assert merged.batches == (BatchPart("x", 1), BatchPart("x", 2, 2))
    assert offsets(merged.ranges) == offsets(first) | offsets(second)
    assert merged.deduplication == "order_id"


def test_a_merge_of_more_lineage_than_a_footer_takes_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lineage, "LINEAGE_BYTES_MAX", 3_000)
    inputs = [
        SegmentFooter("d", "p", (), tuple(OffsetSpan(str(uuid4()), n, n) for n in range(60)))
        for _ in range(2)
    ]

    assert len(merged_footer("d", "m", inputs[:1]).ranges) == 60
    with pytest.raises(LineageTooLarge, match="120 offset ranges"):
        merged_footer("d", "m", inputs)


def test_many_streams_pack_small() -> None:
    many = tuple(OffsetSpan(f"{n:032x}", n, n + 9) for n in range(10_000))

    metadata = encode_footer(stored(SegmentFooter("d", "p", (), many)))

    assert len(metadata[b"segplane.lineage"]) < 200_000


@pytest.mark.parametrize(
    "change",
    [
        {b"segplane.rows": None},
        {b"segplane.rows": b'{"logs":"three"}'},
        {b"segplane.rows": b"\xff"},
        {b"segplane.lineage": b"no base64!"},
        {b"segplane.lineage": b"aGVsbG8="},
        {b"segplane.promoted": b"[[1,2]]"},
        {b"segplane.start_time": b"now"},
        {b"segplane.format_version": json.dumps(FORMAT_VERSION_MAX + 1).encode()},
        {b"segplane.\xff": b"x"},
    ],
)
def test_a_footer_that_is_not_ours_is_corrupt(change: dict[bytes, bytes | None]) -> None:
    metadata = {**encode_footer(stored(SegmentFooter("d", "p"))), **change}

    with pytest.raises(CorruptObject):
        decode_footer({k: v for k, v in metadata.items() if v is not None})


@pytest.mark.parametrize(
    ("order", "fields"),
    [
        (["signal", "service_name", "timestamp"], ()),
        (["signal", "severity_text", "service_name", "timestamp"], ("severity_text",)),
        (["signal", "timestamp", "service_name"], ("timestamp",)),
        (["signal", "service_name", "name", "timestamp"], ("service_name", "name")),
    ],
)
def test_sharding_fields_of_a_file_that_does_not_name_them_follow_from_its_order(
    order: list[str], fields: tuple[str, ...]
) -> None:
    metadata = encode_footer(stored(SegmentFooter("d", "p")))
    del metadata[b"segplane.sharding_fields"]
    metadata[b"segplane.sort_order"] = json.dumps(order).encode()

    assert decode_footer(metadata).sharding_fields == fields


def test_a_file_without_metadata_is_corrupt() -> None:
    with pytest.raises(CorruptObject):
        decode_footer(None)


def test_the_content_of_a_file_is_its_signals_with_rows_and_its_numbered_columns() -> None:
    known = stored(SegmentFooter("d", "p", format_version=2))
    columns = [replace(known.promoted[0], name=f"c{n}", field_id=n) for n in (1_002, 1_000)]
    known = replace(known, promoted=(*columns, *known.promoted))

    content = content_of(decode_footer(encode_footer(known)))

    assert content == SegmentContent(
        2, {"logs": SectionContent(3, -5, 7)}, (1_000, 1_002), state(known)
    )


def test_the_content_of_a_file_has_the_number_of_a_later_name() -> None:
    known = stored(SegmentFooter("d", "p", format_version=2))
    column = replace(known.promoted[0], field_id=1_000, name_id=1_002)
    known = replace(known, promoted=(column,))

    decoded = decode_footer(encode_footer(known))

    assert decoded.promoted == (column,)
    content = content_of(decoded)
    assert content is not None
    assert content.promoted_field_ids == (1_002,)


def test_the_content_of_a_file_without_times_of_its_signals_is_unknown() -> None:
    unknown = replace(stored(SegmentFooter("d", "p")), times_by_signal=None)

    assert content_of(decode_footer(encode_footer(unknown))) is None
