"""Chooses among files whose batches are known to be registered. Pure.

The content of a file is stated in days of parts of batches. A merge's outputs supersede its inputs,
all together: one output alone holds some days of them only.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise

from segments.parquet.lineage import BatchPart
from segments.rebuild.batches import Dropped
from segments.rebuild.exact_cover import choose, components, greedy

# A part of a batch from a day to the next day at which any file begins or ends.
Days = tuple[str, int, int]


def disjoint(
    dataset_id: str, proven: Mapping[str, Sequence[BatchPart]]
) -> tuple[frozenset[str], list[Dropped], list[str]]:
    """Choose files, by key, such that each day of each part is in one of them.

    A merge that was never completed may overlap others that were: then one of them has to go, such
    that nothing is lost. Returns the chosen keys, the others, and warnings.
    """
    # If nothing is missing, outputs are chosen: they have more parts than their inputs.
    contested = sorted(_contested(proven), key=lambda key: (-len(proven[key]), key))
    held = _days({key: proven[key] for key in contested})
    order = {key: index for index, key in enumerate(held)}
    live = {key for key in proven if key not in held}
    warnings = []
    for group in components(held):
        options = {key: held[key] for key in sorted(group, key=order.__getitem__)}
        every = frozenset[Days]().union(*options.values())
        chosen = choose(options)
        if chosen is None:
            chosen = greedy(options)
        lost = every.difference(*(options[key] for key in chosen))
        if lost:
            parts = len({(batch_id, part) for batch_id, part, _ in lost})
            warnings.append(
                f"dataset {dataset_id}: {parts} parts of batches are only in files that"
                f" overlap others, such as {sorted(options.keys() - chosen)[0]}"
            )
        live |= chosen
    dropped = [Dropped(key, "superseded") for key in sorted(held.keys() - live)]
    return frozenset(live), dropped, warnings


def _contested(proven: Mapping[str, Sequence[BatchPart]]) -> set[str]:
    """The files that have a part of a batch in common with another: few, unlike all.

    Parts are compared by their hashes. Two that are equal by chance cost a choice and change none.
    """
    parts = sorted(_hash(batch) for batches in proven.values() for batch in batches)
    shared = {first for first, second in pairwise(parts) if first == second}
    return {
        key for key, batches in proven.items() if any(_hash(batch) in shared for batch in batches)
    }


def _hash(batch: BatchPart) -> int:
    return hash((batch.batch_id, batch.part))


def _days(proven: Mapping[str, Sequence[BatchPart]]) -> dict[str, frozenset[Days]]:
    """Cut the contents of files such that any two of them share a piece or do not overlap."""
    cuts: dict[tuple[str, int], set[int]] = {}
    for batches in proven.values():
        for batch in batches:
            part_cuts = cuts.setdefault((batch.batch_id, batch.part), set())
            part_cuts.update((batch.first_day, batch.last_day + 1))
    ordered = {part: sorted(days) for part, days in cuts.items()}
    return {
        key: frozenset(
            (batch.batch_id, batch.part, day)
            for batch in batches
            for day in _between(ordered[batch.batch_id, batch.part], batch)
        )
        for key, batches in proven.items()
    }


def _between(cuts: Sequence[int], batch: BatchPart) -> Sequence[int]:
    return cuts[bisect_left(cuts, batch.first_day) : bisect_right(cuts, batch.last_day)]
