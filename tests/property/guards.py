"""Rules that do nothing where there is nothing to do."""

from collections.abc import Callable
from functools import wraps
from typing import Any

Rule = Callable[..., None]


def when(is_possible: Callable[[Any], object]) -> Callable[[Rule], Rule]:
    """Make a rule do nothing unless `is_possible` of its machine.

    A precondition would decide which rules can be drawn, and so make what is drawn depend on which
    of two tasks meta gave out first: Hypothesis cannot replay such runs and calls them flaky.
    """

    def guarded(rule: Rule) -> Rule:
        @wraps(rule)
        def guarded_rule(self: Any, *args: Any, **kwargs: Any) -> None:
            if is_possible(self):
                rule(self, *args, **kwargs)

        return guarded_rule

    return guarded
