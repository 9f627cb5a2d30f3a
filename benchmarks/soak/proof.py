"""Whether the records that were numbered 0 to n - 1 are there, each exactly once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb

from benchmarks.soak.load import NUMBER
from meta.client import MetaClient
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest
from segplane.read.lookup import find_all, segment_url

# A sum of hashes tells two bags of numbers apart in constant memory.
NUMBERS = """
    SELECT signal, json_extract_string(attributes, $path)::BIGINT AS number
    FROM read_parquet($files, union_by_name = true)
"""
BAGS = f"SELECT signal, count(*), sum(hash(number)) FROM ({NUMBERS}) GROUP BY signal"  # noqa: S608
DISTINCT = f"SELECT signal, count(DISTINCT number) FROM ({NUMBERS}) GROUP BY signal"  # noqa: S608
WANTED = (
    "SELECT count(*), sum(hash(number)) FROM (SELECT range::BIGINT AS number FROM range($sent))"
)


@dataclass(frozen=True, slots=True)
class Found:
    """Records found of one dataset and signal, and the number that was sent.

    `distinct` numbers are counted only where something is wrong, else -1.
    """

    name: str
    sent: int
    records: int
    is_once_each: bool
    distinct: int = -1


def read_back(client: MetaClient, sent: Mapping[str, int]) -> list[Found]:
    """Read all segments of the datasets in `sent`, which is by "dataset/signal"."""
    found: list[Found] = []
    for dataset in sorted({name.partition("/")[0] for name in sent}):
        segments = find_all(client, FindSegmentsRequest(dataset_names=[dataset]))
        files = [segment_url(segment) for segment in segments]
        own = {n.partition("/")[2]: c for n, c in sent.items() if n.startswith(f"{dataset}/")}
        found += count_numbers(files, dataset, own)
    return found


def count_numbers(files: Sequence[str], dataset: str, sent: Mapping[str, int]) -> list[Found]:
    """Count what the files hold; `sent` is by signal."""
    values: dict[str, object] = {"files": list(files), "path": f'$."{NUMBER}"'}
    with duckdb.connect() as database:
        bags = _by_signal(database, BAGS, values)
        found = []
        for signal in sorted(sent.keys() | bags.keys()):
            count = sent.get(signal, 0)
            wanted = database.execute(WANTED, {"sent": count}).fetchone()
            bag = bags.get(signal, (0, None))
            found.append(Found(f"{dataset}/{signal}", count, int(str(bag[0])), bag == wanted))
        if all(one.is_once_each for one in found):
            return found
        distinct = _by_signal(database, DISTINCT, values)
    return [
        replace(one, distinct=int(str(distinct.get(one.name.partition("/")[2], (0,))[0])))
        for one in found
    ]


def _by_signal(
    database: duckdb.DuckDBPyConnection, query: str, values: Mapping[str, object]
) -> dict[str, tuple[object, ...]]:
    if not values["files"]:
        return {}
    rows = database.execute(query, values).fetchall()
    return {str(signal): tuple(rest) for signal, *rest in rows}
