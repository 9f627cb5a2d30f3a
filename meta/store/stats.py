"""Maintained counters per dataset: what GetJanitorStats answers without counting."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import bindparam, update

from meta.store.engine import Transaction
from meta.store.tables import dataset_stats


@dataclass(frozen=True, slots=True)
class Change:
    """What one event adds to a dataset's counters; negative takes away. Sizes in bytes."""

    dataset_key: int
    live_segments: int
    live_size_bytes: int
    live_compressed_size_bytes: int
    all_segments: int


_ADD = (
    update(dataset_stats)
    .where(dataset_stats.c.dataset_key == bindparam("key"))
    .values(
        live_segments=dataset_stats.c.live_segments + bindparam("live"),
        live_size_bytes=dataset_stats.c.live_size_bytes + bindparam("size"),
        live_compressed_size_bytes=dataset_stats.c.live_compressed_size_bytes
        + bindparam("compressed"),
        all_segments=dataset_stats.c.all_segments + bindparam("every"),
    )
)


def add(tx: Transaction, changes: Iterable[Change]) -> None:
    """Apply changes, summed per dataset.

    Call it after the version was drawn: the counter's lock then orders everyone who touches these
    rows, and they never wait for one another.
    """
    sums: dict[int, list[int]] = {}
    for change in changes:
        total = sums.setdefault(change.dataset_key, [0, 0, 0, 0])
        total[0] += change.live_segments
        total[1] += change.live_size_bytes
        total[2] += change.live_compressed_size_bytes
        total[3] += change.all_segments
    rows = [
        {"key": key, "live": t[0], "size": t[1], "compressed": t[2], "every": t[3]}
        for key, t in sorted(sums.items())
    ]
    if rows:
        tx.execute(_ADD, rows)
