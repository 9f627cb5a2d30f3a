"""Division into manifests: the same whatever came before, and few change with one segment."""

import io
import random
from typing import Any
from uuid import UUID

import fastavro
from hypothesis import given
from hypothesis import strategies as st

from segplane.gateway.iceberg.metadata.data_files import DataFile
from segplane.gateway.iceberg.metadata.manifest_groups import (
    FILES_MAX,
    FILES_MEAN,
    ManifestGroups,
    stretches,
)
from segplane.gateway.iceberg.metadata.manifests import encode_manifest
from segplane.gateway.iceberg.metadata.schema import SIGNAL_ID, TIMESTAMP_ID, table_schema

SCHEMA = table_schema(())
DAY_NANOS = 86_400 * 10**9


def file(day: int, version: int, number: int, days: int = 0) -> DataFile:
    return DataFile(
        day=day,
        created_version=version,
        id=str(UUID(int=number)),
        path=f"file:///data/{number}.parquet",
        start_ns=day * DAY_NANOS,
        end_ns=(day + days) * DAY_NANOS + 5,
        size_bytes=1_000,
        number_of_events=10,
        lowest_signal="logs",
        highest_signal="traces",
    )


def random_files(count: int, seed: int = 0) -> list[DataFile]:
    rng = random.Random(seed)
    return [file(rng.randrange(90), n, rng.getrandbits(120)) for n in range(count)]


def divided(files: list[DataFile]) -> list[bytes]:
    groups = ManifestGroups()
    groups.add_all(files)
    return [one.digest for one in groups.manifests(SCHEMA)]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 70), st.integers(0, 1)), max_size=60))
def test_manifests_follow_from_the_files_alone(steps: list[tuple[bool, int, int]]) -> None:
    groups, present = ManifestGroups(), list[DataFile]()
    for number, (is_removal, day, days) in enumerate(steps):
        if is_removal and present:
            groups.remove(present.pop(day % len(present)))
        else:
            # Every other one ends a manifest.
            added = file(day, number, number * FILES_MEAN // 2, days)
            present.append(added)
            groups.add(added)
        if day % 3 == 0:
            groups.manifests(SCHEMA)

    assert [one.digest for one in groups.manifests(SCHEMA)] == divided(present)
    held = [one for manifest in groups.manifests(SCHEMA) for one in manifest.files]
    assert sorted(held) == sorted(present)


def test_one_more_segment_changes_one_manifest() -> None:
    files = random_files(20_000)
    before = set(divided(files))

    after = set(divided([*files, file(40, 20_001, 7)]))

    assert len(after - before) <= 2
    assert len(before) > 30


def test_a_manifest_has_at_most_so_many_files() -> None:
    alike = [file(1, n, 2 * n * FILES_MEAN + 1) for n in range(FILES_MAX + 1)]

    assert [len(one) for one in stretches(alike[:-1])] == [FILES_MAX]
    assert [len(one) for one in stretches(alike)] == [FILES_MAX, 1]


def test_another_schema_gives_other_manifests() -> None:
    groups = ManifestGroups()
    groups.add_all(random_files(100))
    first = groups.manifests(SCHEMA)
    other = table_schema(())
    changed = type(other)(other.json_text + " ", other.name_mapping, 1, other.last_column_id)

    assert groups.manifests(other) == first
    assert not {one.digest for one in groups.manifests(changed)} & {one.digest for one in first}


def test_a_manifest_has_no_bounds_in_which_nan_is_missing() -> None:
    groups = ManifestGroups()
    groups.add_all(random_files(3))
    (manifest,) = groups.manifests(SCHEMA)

    entries: list[Any] = list(fastavro.reader(io.BytesIO(encode_manifest(manifest, SCHEMA))))

    for entry in entries:
        bounds = entry["data_file"]["lower_bounds"] + entry["data_file"]["upper_bounds"]
        assert {bound["key"] for bound in bounds} == {SIGNAL_ID, TIMESTAMP_ID}
    assert len(entries) == 3
