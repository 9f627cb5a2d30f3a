"""The names an expression may refer to, and a checked value with its place in the text."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NoReturn

from segplane.kql import syntax
from segplane.kql.errors import KqlError
from segplane.kql.typed import Columns, Expression, Promoted
from segplane.kql.walks import written_size

# Levels of a tree that is walked by recursion, here and by what translates it.
LEVELS_MAX = 50
# Names that let gave are written out wherever they are used.
NODES_MAX = 20_000


class CheckBudget:
    """Limits on the work of checking one query, with the names of let written out."""

    def __init__(self) -> None:
        self._nodes = 0
        self._levels = 0
        self._sizes: dict[int, tuple[Expression, int]] = {}

    def check_size(self, expression: Expression, offset: int) -> None:
        """Refuse an expression that is too large once its shared parts are written out."""
        if written_size(expression, self._sizes) > NODES_MAX:
            hint = f"at most {NODES_MAX:,} are checked: compute parts of it with extend"
            raise KqlError(offset, "the expression has too many parts", hint)

    @contextmanager
    def level(self, offset: int) -> Iterator[None]:
        """Count one node, and one level while the block runs."""
        self._nodes += 1
        if self._nodes > NODES_MAX:
            hint = f"at most {NODES_MAX:,} are checked: use fewer names of let"
            raise KqlError(offset, "the query has too many expressions", hint)
        if self._levels >= LEVELS_MAX:
            hint = f"at most {LEVELS_MAX} levels are checked: compute parts of it with extend"
            raise KqlError(offset, "expressions are nested too deeply", hint)
        self._levels += 1
        try:
            yield
        finally:
            self._levels -= 1


@dataclass(frozen=True, slots=True)
class Scope:
    """Columns, constants of `let`, the time, and whether aggregates may stand here.

    `now` is in microseconds since 1970 and None in a projection, whose rows must not depend on when
    it runs.
    """

    columns: Columns
    scalars: Mapping[str, syntax.Expression] = field(default_factory=dict)
    now: int | None = None
    promoted: tuple[Promoted, ...] = ()
    is_aggregated: bool = False
    budget: CheckBudget = field(default_factory=CheckBudget)

    def plain(self) -> "Scope":
        """Return the scope of an aggregate's arguments, where no aggregate stands."""
        return replace(self, is_aggregated=False)


@dataclass(frozen=True, slots=True)
class Argument:
    """A checked argument with its place in the text."""

    value: Expression
    offset: int

    def fail(self, what: str, hint: str) -> NoReturn:
        """Refuse the argument."""
        raise KqlError(self.offset, what, hint)
