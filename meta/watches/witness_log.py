"""The objects of the witness in the bucket: written once, listed, and the old ones removed.

A writer may sleep for any time between two steps. It cannot lower the witness: an object is never
overwritten, and a low number is ignored if there is a higher one. So each caller looks
again after it has written, and relies on the state that it then sees.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from uuid import UUID

from meta.errors import Unavailable
from meta.store.versions.witness import Mark, WitnessView
from segments.errors import ObjectExists, ObjectMissing, StoreError
from segments.ids import is_canonical_uuid
from segments.keys import (
    REVOKED_ROOT,
    WITNESS_ROOT,
    MarkKey,
    RevokedKey,
    mark_key,
    parse_key,
    revoked_key,
)
from segments.store.interface import ObjectStore

FORMAT = 1
# Locks of resources: an object for each one, and one for its end.
HELD_ROOT = f"{WITNESS_ROOT}held/"
_LOCK, _END = "lock", "end"
# As many of the highest marks of a history are kept; at least one of each history.
MARKS_KEPT = 8
# Marks are removed when so many more are there, so that one deletion removes several.
MARKS_SPARE = 8
# A mark's key continues with a digit. Other folders of the witness have names, which sort behind.
BEHIND_MARKS = f"{WITNESS_ROOT}:"


@dataclass(frozen=True, slots=True)
class LockNotes:
    """The ids of locks that are noted without an end, and of those with one."""

    held: frozenset[UUID]
    ended: frozenset[UUID]


class WitnessLog:
    """The witness under one bucket's prefix."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        # Marks never change, so those of the last view need not be read again.
        self._read: dict[tuple[int, int], Mark] = {}

    def view(self, own_history: int | None) -> WitnessView:
        """List the marks, and read the highest of the histories that may count."""
        with translated():
            return self._view(own_history)

    def newest(self) -> Mark | None:
        """Read the highest mark of the newest history; changes nothing."""
        with translated():
            keys = [(key.history, key.number) for key in self._marks()]
            return self._mark(*max(keys)) if keys else None

    def write(self, mark: Mark) -> bool:
        """Write a mark; False if another one has its number."""
        body = {
            "format": FORMAT,
            "tick": mark.tick,
            "ceiling": mark.ceiling,
            "term": str(mark.term),
        }
        key, content = mark_key(mark.history, mark.number), json.dumps(body).encode()
        with translated():
            try:
                self._store.put_if_absent(key, content)
            except ObjectExists:
                # An attempt whose answer was lost is this very object.
                return self._store.get(key) == content
            return True

    def note_revoked(self, kind: str, token_id: str) -> None:
        """Note that a token is revoked; repeating it changes nothing."""
        with translated():
            try:
                self._store.put_if_absent(revoked_key(kind, token_id), b"{}")
            except ObjectExists:
                return

    def revoked(self) -> list[RevokedKey]:
        """List every token that was ever revoked."""
        with translated():
            keys = [parse_key(info.key) for info in self._store.list(REVOKED_ROOT)]
        return [key for key in keys if isinstance(key, RevokedKey)]

    def note_lock(self, lock_id: str, content: bytes) -> None:
        """Note a lock before it is committed; repeating it changes nothing."""
        with translated(), suppress(ObjectExists):
            self._store.put_if_absent(f"{HELD_ROOT}{lock_id}/{_LOCK}", content)

    def note_lock_ended(self, lock_id: str) -> None:
        """Note the end of a lock; repeating it changes nothing."""
        with translated(), suppress(ObjectExists):
            self._store.put_if_absent(f"{HELD_ROOT}{lock_id}/{_END}", b"{}")

    def locks(self) -> LockNotes:
        """The ids of the locks that are noted."""
        noted: dict[str, set[UUID]] = {_LOCK: set(), _END: set()}
        with translated():
            for info in self._store.list(HELD_ROOT):
                lock_id, _, part = info.key.removeprefix(HELD_ROOT).partition("/")
                if part in noted and is_canonical_uuid(lock_id):
                    noted[part].add(UUID(lock_id))
        return LockNotes(frozenset(noted[_LOCK] - noted[_END]), frozenset(noted[_END]))

    def read_lock(self, lock_id: UUID) -> bytes:
        """The content of a lock's note."""
        with translated():
            return self._store.get(f"{HELD_ROOT}{lock_id}/{_LOCK}")

    def forget_locks(self, lock_ids: Sequence[UUID]) -> None:
        """Remove what is noted of locks that ended: first the locks, then their ends."""
        with translated():
            for part in (_LOCK, _END):
                self._store.delete([f"{HELD_ROOT}{lock_id}/{part}" for lock_id in lock_ids])

    def _view(self, own_history: int | None) -> WitnessView:
        numbers: dict[int, int] = {}
        keys: dict[int, list[int]] = {}
        for info in self._marks():
            numbers[info.history] = max(info.number, numbers.get(info.history, 0))
            keys.setdefault(info.history, []).append(info.number)
        latest = sorted(numbers)[-2:]
        marks = {
            history: self._mark(history, number)
            for history, number in numbers.items()
            if history in latest or history == own_history
        }
        self._read = {(mark.history, mark.number): mark for mark in marks.values()}
        self._remove_old(keys)
        return WitnessView(
            numbers,
            marks[latest[-1]] if latest else None,
            marks.get(own_history) if own_history is not None else None,
            max((mark.ceiling for mark in marks.values()), default=0),
        )

    def _marks(self) -> Iterator[MarkKey]:
        for info in self._store.list(WITNESS_ROOT):
            if info.key > BEHIND_MARKS:
                return
            key = parse_key(info.key)
            if isinstance(key, MarkKey):
                yield key

    def _mark(self, history: int, number: int) -> Mark:
        if (history, number) in self._read:
            return self._read[history, number]
        key = mark_key(history, number)
        content = self._store.get(key)
        try:
            body = json.loads(content)
            return Mark(history, number, body["tick"], body["ceiling"], UUID(body["term"]))
        except (ValueError, KeyError, TypeError) as error:
            raise Unavailable(f"the witness {key} cannot be read: {error}") from error

    def _remove_old(self, keys: dict[int, list[int]]) -> None:
        """Remove what counts for nothing any more, of every history."""
        for history, numbers in keys.items():
            if len(numbers) > MARKS_KEPT + MARKS_SPARE:
                old = sorted(numbers)[:-MARKS_KEPT]
                self._store.delete([mark_key(history, number) for number in old])


@contextmanager
def translated() -> Iterator[None]:
    """Turn errors of the store into the error that a caller of meta gets."""
    try:
        yield
    except ObjectMissing as error:
        raise Unavailable("the witness changed while it was read; try again") from error
    except StoreError as error:
        raise Unavailable(f"the witness in the bucket cannot be used: {error}") from error
