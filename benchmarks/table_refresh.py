"""Description of a table after one more segment, against that of all its segments.

100,000 segments over 90 days; a commit adds one to the newest day. Both are the CPU time of
dividing segments into manifests and encoding what changed, as a gateway does between its calls.
"""

import random
import time
from collections.abc import Callable
from uuid import UUID

from benchmarks.harness.results import Result, compare
from segplane.gateway.iceberg.metadata.data_files import DataFile
from segplane.gateway.iceberg.metadata.manifest_groups import ManifestGroups
from segplane.gateway.iceberg.metadata.manifests import (
    StoredManifest,
    encode_list,
    encode_manifest,
    list_digest,
)
from segplane.gateway.iceberg.metadata.schema import table_schema

SEGMENTS = 100_000
DAYS = 90
REFRESHES = 50
_FIRST_DAY = 20_000
_DAY_NANOS = 86_400 * 10**9
_SCHEMA = table_schema(())


def run() -> list[Result]:
    """Measure both, on one table."""
    rng, groups = random.Random(7), ManifestGroups()
    files = [_file(rng, version, version * DAYS // SEGMENTS) for version in range(SEGMENTS)]
    stored: dict[bytes, StoredManifest] = {}
    full_secs, written = _timed(lambda: groups.add_all(files), groups, stored, SEGMENTS)
    refresh_secs = refresh_bytes = 0.0
    for version in range(SEGMENTS + 1, SEGMENTS + 1 + REFRESHES):
        added = _file(rng, version, DAYS - 1)
        secs, size = _timed(lambda: groups.add(added), groups, stored, version)  # noqa: B023
        refresh_secs += secs / REFRESHES
        refresh_bytes += size / REFRESHES
    return [
        compare(
            "table_refresh",
            1_000 * refresh_secs,
            1_000 * full_secs,
            reference_name=f"description of all {SEGMENTS} segments",
            unit="ms of CPU",
            bar=1 / 30,
            higher_is_better=False,
        ),
        compare(
            "table_refresh_bytes",
            refresh_bytes / 1e3,
            written / 1e3,
            reference_name=f"description of all {SEGMENTS} segments",
            unit="kB written",
            higher_is_better=False,
        ),
    ]


def _timed(
    change: Callable[[], None],
    groups: ManifestGroups,
    stored: dict[bytes, StoredManifest],
    version: int,
) -> tuple[float, int]:
    """CPU seconds of a change and of what follows from it, and the bytes to write."""
    began, written = time.process_time(), 0
    change()
    manifests = groups.manifests(_SCHEMA)
    for manifest in manifests:
        if manifest.digest not in stored:
            size = len(encode_manifest(manifest, _SCHEMA))
            url = f"s3://bucket/iceberg/{manifest.digest.hex()}"
            stored[manifest.digest] = StoredManifest(manifest, url, size)
            written += size
    listed = [stored[manifest.digest] for manifest in manifests]
    written += len(encode_list(version, listed, list_digest(version, listed)))
    return time.process_time() - began, written


def _file(rng: random.Random, version: int, day: int) -> DataFile:
    start = (_FIRST_DAY + day) * _DAY_NANOS + version
    name = f"dataset/{UUID(int=rng.getrandbits(128))}/merged/{UUID(int=rng.getrandbits(128))}"
    return DataFile(
        day=_FIRST_DAY + day,
        created_version=version,
        id=str(UUID(int=rng.getrandbits(128))),
        path=f"s3://bucket/{name}.parquet",
        start_ns=start,
        end_ns=start + 10**9,
        size_bytes=1_000_000,
        number_of_events=1_000,
        lowest_signal="logs",
        highest_signal="traces",
    )
