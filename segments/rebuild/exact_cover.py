"""Exact-cover search that minimises uncovered elements. Pure."""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

Name = TypeVar("Name", bound=Hashable)
Atom = TypeVar("Atom", bound=Hashable)

# Overlaps come from crashes and fences, a few at a time: real ones need a handful of steps.
STEPS_MAX = 20_000


@dataclass(frozen=True, slots=True)
class _State(Generic[Name, Atom]):
    """A choice under way: the atoms before `position` are decided."""

    position: int = 0
    losses: int = 0
    chosen: frozenset[Name] = frozenset()
    covered: frozenset[Atom] = frozenset()
    skipped: frozenset[Atom] = frozenset()


def components(options: Mapping[Name, Collection[Atom]]) -> Iterator[tuple[Name, ...]]:
    """Group options that share an atom, directly or through others; each is a separate problem."""
    holders = _holders(options)
    seen: set[Name] = set()
    for first in options:
        if first in seen:
            continue
        seen.add(first)
        group = [first]
        # It grows while it is read.
        for name in group:
            for atom in options[name]:
                # Taken out: an atom brings the same neighbours once.
                fresh = [other for other in holders.pop(atom, ()) if other not in seen]
                seen.update(fresh)
                group.extend(fresh)
        yield tuple(group)


def choose(
    options: Mapping[Name, frozenset[Atom]],
    may_skip: Callable[[Atom], bool] = lambda _: False,
    is_sound: Callable[[frozenset[Name], frozenset[Atom]], bool] = lambda _, __: True,
) -> frozenset[Name] | None:
    """Choose options that share no atom and cover every atom, except those that `may_skip`.

    If that is impossible, as few others as can be stay uncovered. `is_sound` judges a whole choice
    by its chosen options and the atoms that it leaves uncovered. None: not found within STEPS_MAX.
    """
    # Forced moves first. Atoms of the same options are decided together, unless they may be
    # skipped: `is_sound` wants to hear of each of those.
    groups: dict[tuple[object, ...], list[Atom]] = {}
    names_of = _holders(options)
    for atom, names in names_of.items():
        groups.setdefault((atom,) if may_skip(atom) else (None, *names), []).append(atom)
    atoms = sorted((group[0] for group in groups.values()), key=lambda atom: len(names_of[atom]))
    costs = {group[0]: 0 if may_skip(group[0]) else len(group) for group in groups.values()}
    steps_left, losses_max = STEPS_MAX, 0
    while steps_left > 0:
        beyond: set[int] = set()
        states: list[_State[Name, Atom]] = [_State()]
        while states and steps_left > 0:
            steps_left -= 1
            state = _skip_covered(states.pop(), atoms)
            if state.position < len(atoms):
                atom = atoms[state.position]
                for way in _ways(state, atom, names_of[atom], options, costs[atom]):
                    if way.losses <= losses_max:
                        states.append(way)
                    else:
                        beyond.add(way.losses)
            elif is_sound(state.chosen, state.skipped):
                return state.chosen
        if not beyond:
            break
        # Nothing was found with less; the least that was refused is tried next.
        losses_max = min(beyond)
    return None


def greedy(options: Mapping[Name, frozenset[Atom]]) -> frozenset[Name]:
    """Take whatever fits, in order."""
    chosen, covered = set[Name](), set[Atom]()
    for name, atoms in options.items():
        if not atoms & covered:
            chosen.add(name)
            covered |= atoms
    return frozenset(chosen)


def _skip_covered(state: _State[Name, Atom], atoms: list[Atom]) -> _State[Name, Atom]:
    position = state.position
    while position < len(atoms) and atoms[position] in state.covered:
        position += 1
    return _State(position, state.losses, state.chosen, state.covered, state.skipped)


def _ways(
    state: _State[Name, Atom],
    atom: Atom,
    names: tuple[Name, ...],
    options: Mapping[Name, frozenset[Atom]],
    cost: int,
) -> Iterator[_State[Name, Atom]]:
    """Leave an atom out, or cover it one way or another; the first to try comes last."""
    after, skipped = state.position + 1, state.skipped | {atom}
    yield _State(after, state.losses + cost, state.chosen, state.covered, skipped)
    for name in reversed(names):
        # A skipped atom stays out: another branch covers it.
        if not options[name] & (state.covered | state.skipped):
            chosen, covered = state.chosen | {name}, state.covered | options[name]
            yield _State(after, state.losses, chosen, covered, state.skipped)


def _holders(options: Mapping[Name, Collection[Atom]]) -> dict[Atom, tuple[Name, ...]]:
    holders: dict[Atom, list[Name]] = {}
    for name, atoms in options.items():
        # Sets have no order of their own, and a dry run must decide as the real one does.
        for atom in sorted(atoms, key=repr):
            holders.setdefault(atom, []).append(name)
    return {atom: tuple(names) for atom, names in holders.items()}
