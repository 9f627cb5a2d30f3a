"""Whether the records that were numbered 0 to n - 1 are there, each exactly once."""

from collections.abc import Mapping
from dataclasses import dataclass

import duckdb

from benchmarks._soak_load import NUMBER
from meta.client import MetaClient
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest
from segplane.lookup import find_all, segment_url

COUNT = """
    SELECT signal, count(*), count(DISTINCT number), min(number), max(number)
    FROM (
        SELECT signal, json_extract_string(attributes, $path)::BIGINT AS number
        FROM read_parquet($files, union_by_name = true)
    )
    GROUP BY signal
"""


@dataclass(frozen=True, slots=True)
class Found:
    """What is there of one dataset and signal, and how many records were sent."""

    name: str
    sent: int
    records: int
    distinct: int
    lowest: int
    highest: int

    @property
    def is_once_each(self) -> bool:
        """True if it is exactly the numbers 0 to `sent` - 1."""
        return self.records == self.distinct == self.sent == self.highest + 1 and self.lowest == 0


def read_back(client: MetaClient, sent: Mapping[str, int]) -> list[Found]:
    """Read all segments of the datasets in `sent`, which is by "dataset/signal"."""
    found: list[Found] = []
    for dataset in sorted({name.partition("/")[0] for name in sent}):
        rows = _count(client, dataset)
        signals = {name.partition("/")[2] for name in sent if name.startswith(f"{dataset}/")}
        for signal in sorted(signals | rows.keys()):
            name = f"{dataset}/{signal}"
            figures = rows.get(signal, (0, 0, 0, -1))
            found.append(Found(name, sent.get(name, 0), *figures))
    return found


def _count(client: MetaClient, dataset: str) -> dict[str, tuple[int, int, int, int]]:
    segments = find_all(client, FindSegmentsRequest(dataset_names=[dataset]))
    files = [segment_url(segment) for segment in segments]
    if not files:
        return {}
    with duckdb.connect() as database:
        rows = database.execute(COUNT, {"files": files, "path": f'$."{NUMBER}"'}).fetchall()
    # NULL where no record of a signal has a number, which then is not what was sent.
    return {
        str(signal): (n, distinct, -1 if low is None else low, -1 if high is None else high)
        for signal, n, distinct, low, high in rows
    }
