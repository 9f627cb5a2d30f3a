"""Registers files of merged segments in a real meta."""

from collections.abc import Iterable
from pathlib import Path

from dataplane.registration import create_segment
from meta.client import MetaClient
from meta.v1 import ingestion_pb2
from segments.keys import new_merged_key
from segments.parquet.footer import SegmentFacts


def save_files(
    client: MetaClient, dataset: str, objects: Path, files: Iterable[tuple[Path, SegmentFacts]]
) -> None:
    """Link at most 1,000 files into a bucket that is a folder, under new keys, and register them.

    A file may come several times.
    """
    config = ingestion_pb2.DownloadConfigRequest(worker_id="bench", omit_datasets=True)
    bucket = client.ingestion.DownloadConfig(config).cloud_object_prefix.bucket
    created = []
    for path, facts in files:
        key = new_merged_key(dataset)
        (objects / key).parent.mkdir(parents=True, exist_ok=True)
        (objects / key).hardlink_to(path)
        created.append(create_segment(dataset, bucket, key, facts))
    client.ingestion.SaveSegments(ingestion_pb2.SaveSegmentsRequest(segments=created))
