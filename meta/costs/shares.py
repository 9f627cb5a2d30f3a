"""Division of amounts by weights, so that the shares add up to the whole. Pure."""

from collections.abc import Sequence


def shares_of(whole: int, weights: Sequence[int]) -> list[int]:
    """Divide a whole in proportion to weights, which are not all 0.

    Each share is rounded so that all those up to it add up to their part of the whole.
    """
    total = sum(weights)
    shares, taken, before = list[int](), 0, 0
    for weight in weights:
        taken += weight
        upto = whole * taken // total
        shares.append(upto - before)
        before = upto
    return shares
