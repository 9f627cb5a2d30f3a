"""Rules of the library's functions: the types that no signature can say."""

from collections.abc import Callable

from kql.functions.arguments import CheckedCall
from kql.functions.rules import arrays, networks, numbers, texts, times
from kql.typed import Expression

RULES: dict[str, Callable[[CheckedCall], Expression]] = {
    **arrays.RULES,
    **networks.RULES,
    **numbers.RULES,
    **texts.RULES,
    **times.RULES,
}
