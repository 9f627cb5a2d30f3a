"""Rules of the library's functions: the types that no signature can say."""

from collections.abc import Callable

from kql.functions.arguments import Arguments
from kql.functions.rules import arrays, networks, numbers, series, texts, times
from kql.typed import Expression

Rule = Callable[[str, Arguments, int], Expression]
RULES: dict[str, Rule] = {
    **arrays.RULES,
    **networks.RULES,
    **numbers.RULES,
    **series.RULES,
    **texts.RULES,
    **times.RULES,
}
