"""Progress figures from meta while the demo runs, and waits for conditions on them."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from dataplane.stream_poll import read_streams
from meta.client import MetaClient
from meta.v1 import janitor_pb2

POLL_SECS = 0.25


class Late(Exception):
    """A condition was not met before its deadline; the message names it."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Babies over all streams; segments and tasks of one dataset."""

    babies: int
    merged: int
    deleted: int
    segments: int
    tombstoned: int
    tasks: int


def read_figures(client: MetaClient, dataset: str, dataset_id: str) -> Figures:
    """Read the figures from meta."""
    streams = read_streams(client)
    stats = client.janitor.GetJanitorStats(janitor_pb2.GetJanitorStatsRequest(dataset_name=dataset))
    merged = sum(
        entry.merged_offset + 1
        for stream in streams
        for entry in stream.datasets
        if entry.dataset_id == dataset_id
    )
    return Figures(
        babies=sum(stream.committed_offset + 1 for stream in streams),
        merged=merged,
        deleted=sum(stream.deleted_offset + 1 for stream in streams),
        segments=stats.segment_count,
        tombstoned=stats.segments_incl_tombstoned - stats.segment_count,
        tasks=stats.outstanding_merge_tasks,
    )


def wait_for(what: str, is_done: Callable[[], bool], deadline_secs: float) -> None:
    """Poll a condition; raises Late at the deadline."""
    deadline = time.monotonic() + deadline_secs
    while not is_done():
        if time.monotonic() > deadline:
            raise Late(f"{what} did not happen within {deadline_secs:.0f} s")
        time.sleep(POLL_SECS)
