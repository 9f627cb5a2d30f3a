"""The comparison of a database with its witness: pure functions of what both say.

The witness is a row of immutable objects in the bucket, `witness/<history>/<number>`. The one with
the highest number of the newest history counts. A restored database, or a copy of one, is told by
a tick or a number behind it, or by a term that the database has never begun.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from meta.store.engine.timelines import VERSION_JUMP

# A running server continues for as many versions while the bucket does not answer.
CEILING_STEP = 2**24
# A file that the database knows to be in the bucket is not there.
LOST = "the bucket has lost the witness"
SEEN = "the database went back: a server has seen it further on"
BEHIND = "the witness is behind the database"


@dataclass(frozen=True, slots=True)
class Mark:
    """One object of the witness."""

    history: int
    number: int
    # The highest tick that was committed, and the highest version that may be drawn.
    tick: int
    ceiling: int
    term: UUID


@dataclass(frozen=True, slots=True)
class Side:
    """The database's own facts; history None = it never had a witness."""

    version: int
    ceiling: int
    # Draws are allowed: this incarnation was compared, and the ceiling is not reached.
    has_room: bool
    history: int | None
    number: int
    tick: int
    term: UUID | None
    next_term: UUID | None
    superseded_by: int | None
    # A server has seen a higher version or tick of it committed.
    went_back: bool = False

    @property
    def is_due(self) -> bool:
        """True if the database has to be compared with the witness before it draws."""
        return self.went_back or not self.has_room

    def has_moved(self, before: "Side") -> bool:
        """True if another server has written since: its file says nothing of a restore."""
        return _place(self) != _place(before)

    def has_begun(self, mark: Mark) -> bool:
        """True for a mark that this database has written."""
        return mark.term in (self.term, self.next_term)


def _place(side: Side) -> tuple[object, ...]:
    return side.history, side.number, side.tick, side.term, side.next_term


@dataclass(frozen=True, slots=True)
class WitnessView:
    """The bucket's facts: the highest number of each history, and the marks that were read."""

    numbers: Mapping[int, int]
    newest: Mark | None = None
    # The highest mark of the history that the database says it is in.
    mark: Mark | None = None
    # The highest of all ceilings that may be in use.
    ceiling: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a comparison: the history to continue in, and the least version to continue at.

    With a reason, the database counts as restored and the history is a new one.
    """

    history: int
    version: int
    reason: str = ""

    @property
    def is_restored(self) -> bool:
        """True if the database went back, or nobody can tell that it did not."""
        return bool(self.reason)


@dataclass(frozen=True, slots=True)
class Superseded:
    """Another database has begun a newer history: this one stops."""

    history: int


def compare(side: Side, view: WitnessView) -> Verdict | Superseded:
    """Compare a database that begins a term with the witness."""
    newest = view.newest
    if side.superseded_by is not None:
        return Superseded(side.superseded_by)
    if newest is not None and newest.term == side.next_term:
        return _attempted(side, view, newest)
    if newest is not None and _is_original(side, view, newest):
        return Superseded(newest.history)
    if reason := _loss(side, newest):
        return _restored(side, view, reason)
    if newest is None:
        return Verdict(1, side.version)
    return Verdict(newest.history, _above(side, view))


def _is_original(side: Side, view: WitnessView, newest: Mark) -> bool:
    """True for a database that lost nothing, and of which a restored copy began a history."""
    mark = view.mark
    has_all = mark is not None and side.has_begun(mark) and mark.tick <= side.tick
    return has_all and newest.history > (side.history or 0)


def _loss(side: Side, newest: Mark | None) -> str:
    """The reason why the database counts as restored, "" if it does not."""
    local, history = side.history or 0, newest.history if newest else 0
    if newest is None or history < local:
        return LOST if local else ""
    if history > local:
        return "the bucket has a newer history" if local else "the bucket has a witness already"
    if newest.number < side.number:
        return BEHIND
    if newest.tick > side.tick:
        lost = f"its tick is {side.tick}, that of the witness {newest.tick}"
        return f"the database went back: {lost}"
    if not side.has_begun(newest):
        return "another copy of the database went on"
    return SEEN if side.went_back else ""


def is_overtaken(side: Side, newest: Mark) -> bool:
    """True if a running database, which has begun its term, is not the newest any more."""
    if side.history is None or newest.history < side.history:
        return False
    return not side.has_begun(newest)


def first_mark(side: Side, view: WitnessView, verdict: Verdict) -> Mark:
    """The first mark of a term: above all that was seen, in a history that may be new."""
    assert side.next_term is not None
    number = view.numbers.get(verdict.history, -1) + 1
    tick = max(side.tick, view.newest.tick if view.newest else 0) + int(verdict.is_restored)
    ceiling = max(verdict.version, view.ceiling) + CEILING_STEP
    return Mark(verdict.history, number, tick, ceiling, side.next_term)


def is_in_force(mark: Mark, before: WitnessView, after: WitnessView) -> bool:
    """True if a mark that was written counts, and no other history has continued since.

    A server of another history writes its mark and then looks, as this one does: at least one of
    the two sees the other.
    """
    newest = after.newest
    others = {h: n for h, n in after.numbers.items() if h != mark.history}
    return (
        newest is not None
        and newest.history == mark.history
        and newest.ceiling >= mark.ceiling
        and all(before.numbers.get(history) == number for history, number in others.items())
    )


def _attempted(side: Side, view: WitnessView, newest: Mark) -> Verdict:
    """Finish the attempt that this database began; a newer history was begun for a reason."""
    reason = "" if newest.history == (side.history or 1) else "a restore was being taken up"
    if newest.tick > side.tick and not reason:
        return _restored(side, view, "the database went back while a term began")
    return Verdict(newest.history, _above(side, view), reason)


def _restored(side: Side, view: WitnessView, reason: str) -> Verdict:
    """Begin a new history, above all that may have been drawn in the earlier ones.

    If the witness is lost, nobody knows how far that was: the jump is that of a failover.
    """
    history = max(side.history or 0, *view.numbers, 0) + 1
    version = _above(side, view) + (VERSION_JUMP if reason in (LOST, BEHIND) else 0)
    return Verdict(history, version, reason)


def _above(side: Side, view: WitnessView) -> int:
    """Above every version that may have been drawn under a known ceiling."""
    return max(side.version, side.ceiling + 1, view.ceiling + 1)
