"""Records of a recording: those that were acknowledged, and those that readers see."""

import json
from collections import Counter
from collections.abc import Iterator

import pyarrow as pa

from segments.signals import Signal
from segplane.read import open_dataset
from tests.support.pipeline.sending import ID, Record
from tests.support.releases.release import Release

# Part of the ids of records that no segment holds yet.
FRESH = "-fresh-"
# Text and number of a Record by signal.
_COLUMNS: dict[Signal, tuple[str, str]] = {
    "logs": ("body", "severity_number"),
    "metrics": ("metric_name", "value_long"),
    "traces": ("name", "duration_ns"),
}


def acknowledged(release: Release, dataset: str) -> Counter[Record]:
    """Return the records of a dataset that the recording sent."""
    lines = (release.fixtures / "records.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return Counter(
        Record(**{name: value for name, value in row.items() if name != "dataset"})
        for row in rows
        if row["dataset"] == dataset
    )


def merged(records: Counter[Record]) -> Counter[Record]:
    """Return those that were in segments when the recording ended."""
    return Counter({record: n for record, n in records.items() if FRESH not in record.id})


def read(address: str, token: str, dataset: str, *, is_fresh: bool) -> Counter[Record]:
    """Read a dataset as a notebook does, with or without what is not merged yet."""
    records: Counter[Record] = Counter()
    for signal in _COLUMNS:
        with open_dataset(
            dataset, signal, fresh=is_fresh, meta_address=address, token=token
        ) as opened:
            records.update(_records(signal, opened.to_table()))
    return records


def _records(signal: Signal, table: pa.Table) -> Iterator[Record]:
    text, number = _COLUMNS[signal]
    micros = table["timestamp"].cast(pa.int64()).to_pylist()
    names = ("timestamp_nanos", "service_name", "attributes", text, number)
    columns = [table[name].to_pylist() for name in names]
    for micro, nano, service, attributes, said, value in zip(micros, *columns, strict=True):
        record_id = json.loads(attributes)[ID]
        yield Record(record_id, signal, service, micro * 1_000 + nano, said, value)
