"""Settles which unmerged nursery batches were registered, and each stream's merged offset. Pure.

A crash leaves batches that were written and never registered; the next attempt wrote the same
babies again. So of two batches that share a baby one is kept, and a batch that lies beyond a baby
that no batch has merged is not: registered offsets have no gaps.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from segments.offsets import OffsetSpan, coalesce
from segments.rebuild.exact_cover import choose, components, greedy

# The dataset ids that a baby is stamped with, by offset; None if it has no stamps.
Stamps = Mapping[int, frozenset[str] | None]


@dataclass(frozen=True, slots=True)
class NurseryBatch:
    """The files of one nursery batch that no merge took in, and all babies that they are of."""

    batch_id: str
    keys: tuple[str, ...]
    ranges: tuple[OffsetSpan, ...]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class Tail:
    """The babies of a stream that are still there and committed: `first` to `committed`."""

    first: int
    committed: int


@dataclass(frozen=True, slots=True, order=True)
class Dropped:
    """A file that readers shall not see."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class History:
    """One dataset: the files that were live, and the merged offset of each of its streams."""

    live_keys: frozenset[str]
    merged_offsets: Mapping[str, int]
    dropped: tuple[Dropped, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Ground:
    """The given facts: the atoms of each batch and of the merged segments, and the babies' stamps.

    Ranges are cut into atoms, such that two share one or do not overlap. `proven_ends` is the last
    offset of a stream that a merge proves.
    """

    dataset_id: str
    atoms: Mapping[str, frozenset[OffsetSpan]]
    proven: frozenset[OffsetSpan]
    proven_ends: Mapping[str, int]
    tails: Mapping[str, Tail]
    stamps: Mapping[str, Stamps]

    def is_free(self, atom: OffsetSpan) -> bool:
        """True if the babies of an atom may be merged again."""
        lowest = self.proven_ends.get(atom.stream_id, -1) + 1
        return atom.start >= max(lowest, self.tails[atom.stream_id].first)


def settle(
    dataset_id: str,
    batches: Sequence[NurseryBatch],
    proven: Sequence[OffsetSpan],
    tails: Mapping[str, Tail],
    stamps: Mapping[str, Stamps],
) -> History:
    """Choose among a dataset's unmerged batches; its merged ones cover `proven`."""
    ground = _ground(dataset_id, batches, proven, tails, stamps)
    by_id = {batch.batch_id: batch for batch in batches}
    reasons = dict(_overlapped(ground, batches))
    reasons |= _incomplete(ground, [b for b in batches if b.batch_id not in reasons])
    unsettled = {i: ground.atoms[i] for i in by_id if i not in reasons}
    required_atoms = {atom for atoms in unsettled.values() for atom in atoms}
    # Beyond a gap that no choice fills: not to be chosen in another batch's place.
    ahead = _ahead(ground, set(unsettled), required_atoms)
    unsettled = {i: atoms for i, atoms in unsettled.items() if i not in ahead}
    chosen: set[str] = set()
    for group in components(unsettled):
        chosen |= _of_component(ground, {i: unsettled[i] for i in group})
    reasons |= {i: "duplicate" for i in unsettled if i not in chosen}
    ahead |= _ahead(ground, chosen, required_atoms)
    reasons |= dict.fromkeys(ahead, "ahead of babies that are not merged")
    chosen -= ahead
    lost = _lost(ground, ahead, _covered(ground, chosen))
    return History(
        frozenset(key for i in chosen for key in by_id[i].keys),
        _merged_offsets(ground, chosen, required_atoms),
        tuple(Dropped(key, reason) for i, reason in reasons.items() for key in by_id[i].keys),
        tuple(
            f"dataset {dataset_id}: batch {i} is ahead of babies that are not merged, and its own"
            " are gone: a segment must be missing"
            for i in lost
        ),
    )


def _ground(
    dataset_id: str,
    batches: Sequence[NurseryBatch],
    proven: Sequence[OffsetSpan],
    tails: Mapping[str, Tail],
    stamps: Mapping[str, Stamps],
) -> _Ground:
    proven_atoms = coalesce(proven)
    cuts = {stream_id: {tail.first} for stream_id, tail in tails.items()}
    for span in (*proven_atoms, *(r for batch in batches for r in batch.ranges)):
        cuts[span.stream_id] |= {span.start, span.end + 1}
    ends: dict[str, int] = {}
    for span in proven_atoms:
        ends[span.stream_id] = max(ends.get(span.stream_id, -1), span.end)
    for stream_id, end in ends.items():
        cuts[stream_id].add(end + 1)
    ordered = {stream_id: sorted(offsets) for stream_id, offsets in cuts.items()}
    return _Ground(
        dataset_id,
        {batch.batch_id: _cut(batch.ranges, ordered) for batch in batches},
        _cut(proven_atoms, ordered),
        ends,
        tails,
        stamps,
    )


def _cut(ranges: Iterable[OffsetSpan], cuts: Mapping[str, Sequence[int]]) -> frozenset[OffsetSpan]:
    atoms = []
    for span in ranges:
        bounds = cuts[span.stream_id]
        inner = bounds[bisect_right(bounds, span.start) : bisect_right(bounds, span.end)]
        starts = (span.start, *inner)
        ends = (*(start - 1 for start in inner), span.end)
        atoms += [OffsetSpan(span.stream_id, a, b) for a, b in zip(starts, ends, strict=True)]
    return frozenset(atoms)


def _overlapped(ground: _Ground, batches: Iterable[NurseryBatch]) -> dict[str, str]:
    """Batches with babies that are in segments that were certainly registered."""
    return {
        batch.batch_id: "duplicate"
        for batch in batches
        if ground.atoms[batch.batch_id] & ground.proven
    }


def _incomplete(ground: _Ground, batches: Sequence[NurseryBatch]) -> dict[str, str]:
    """Batches of which files are missing, unless only their remaining files hold the records.

    Retention deletes single days, so a registered batch without its babies may be incomplete too.
    """
    others = {a for b in batches if b.is_complete for a in ground.atoms[b.batch_id]}
    return {
        batch.batch_id: "incomplete"
        for batch in batches
        if not batch.is_complete
        and all(ground.is_free(a) or a in others for a in ground.atoms[batch.batch_id])
    }


def _of_component(ground: _Ground, options: dict[str, frozenset[OffsetSpan]]) -> frozenset[str]:
    """Choose among batches that share babies; one without neighbours is taken."""
    if len(options) == 1:
        return frozenset(options)
    # The newer of two twins counts: a crash is followed by another try, which is registered.
    newest_first = sorted(options.items(), reverse=True)
    largest_first = dict(sorted(newest_first, key=lambda item: -_offsets(item[1])))
    chosen = choose(largest_first, ground.is_free, _without_gaps(ground, largest_first))
    return greedy(largest_first) if chosen is None else chosen


def _without_gaps(
    ground: _Ground, options: Mapping[str, frozenset[OffsetSpan]]
) -> Callable[[frozenset[str], frozenset[OffsetSpan]], bool]:
    def is_sound(chosen: frozenset[str], skipped: frozenset[OffsetSpan]) -> bool:
        lowest: dict[str, int] = {}
        for atom in skipped:
            if ground.is_free(atom):
                lowest[atom.stream_id] = min(lowest.get(atom.stream_id, atom.start), atom.start)
        return all(
            atom.start < lowest.get(atom.stream_id, atom.start + 1)
            for name in chosen
            for atom in options[name]
        )

    return is_sound


def _offsets(atoms: Iterable[OffsetSpan]) -> int:
    return sum(atom.end - atom.start + 1 for atom in atoms)


def _ahead(ground: _Ground, chosen: set[str], required_atoms: set[OffsetSpan]) -> set[str]:
    """Chosen batches beyond a gap; to drop one may open another gap."""
    ahead: set[str] = set()
    while True:
        gaps = _gaps(ground, chosen - ahead, required_atoms)
        fresh = {
            i
            for i in chosen - ahead
            if any(a.end > gaps.get(a.stream_id, a.end) for a in ground.atoms[i])
        }
        if not fresh:
            return ahead
        ahead |= fresh


def _lost(ground: _Ground, ahead: Iterable[str], covered: "_Covered") -> list[str]:
    """Batches with missing babies that are in no chosen file."""
    return sorted(
        i
        for i in ahead
        if any(
            not ground.is_free(atom) and not covered.holds(atom.stream_id, atom.start)
            for atom in ground.atoms[i]
        )
    )


def _gaps(ground: _Ground, chosen: set[str], required_atoms: set[OffsetSpan]) -> dict[str, int]:
    """By stream, the lowest offset that holds records of the dataset and is in no chosen file."""
    covered = _covered(ground, chosen)
    gaps: dict[str, int] = {}
    for atom in required_atoms:
        if ground.is_free(atom) and not covered.holds(atom.stream_id, atom.start):
            gaps[atom.stream_id] = min(gaps.get(atom.stream_id, atom.start), atom.start)
    for stream_id, stamps in ground.stamps.items():
        lowest = ground.proven_ends.get(stream_id, -1) + 1
        for offset, dataset_ids in stamps.items():
            if dataset_ids is None or ground.dataset_id not in dataset_ids or offset < lowest:
                continue
            if not covered.holds(stream_id, offset):
                gaps[stream_id] = min(gaps.get(stream_id, offset), offset)
    return gaps


def _merged_offsets(
    ground: _Ground, chosen: set[str], required_atoms: set[OffsetSpan]
) -> dict[str, int]:
    """The merged offset of every stream that holds or held records of the dataset.

    A baby of which nothing says whose records it holds waits, unless later ones are merged.
    """
    gaps = _gaps(ground, chosen, required_atoms)
    covered = _covered(ground, chosen)
    streams = covered.ends.keys() | gaps.keys()
    offsets = {}
    for stream_id in sorted(streams):
        tail, end = ground.tails[stream_id], covered.ends.get(stream_id, -1)
        unknown = (o for o, s in ground.stamps.get(stream_id, {}).items() if s is None and o > end)
        gap = min(gaps.get(stream_id, tail.committed + 1), *unknown, tail.committed + 1)
        offsets[stream_id] = max(gap - 1, tail.first - 1, ground.proven_ends.get(stream_id, -1))
    return offsets


@dataclass(frozen=True, slots=True)
class _Covered:
    """Offsets that are in chosen files."""

    starts: Mapping[str, Sequence[int]]
    ranges: Mapping[str, Sequence[OffsetSpan]]

    @property
    def ends(self) -> dict[str, int]:
        return {stream_id: spans[-1].end for stream_id, spans in self.ranges.items()}

    def holds(self, stream_id: str, offset: int) -> bool:
        index = bisect_right(self.starts.get(stream_id, ()), offset)
        return index > 0 and self.ranges[stream_id][index - 1].end >= offset


def _covered(ground: _Ground, chosen: Iterable[str]) -> _Covered:
    ranges: dict[str, list[OffsetSpan]] = {}
    for span in coalesce((*ground.proven, *(a for i in chosen for a in ground.atoms[i]))):
        ranges.setdefault(span.stream_id, []).append(span)
    return _Covered({s: [r.start for r in spans] for s, spans in ranges.items()}, ranges)
