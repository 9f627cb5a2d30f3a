"""Whether what was sampled over a long run grew: the second half against the first."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WARM_UP_SHARE = 0.2
# Fewer tell nothing about a trend.
SAMPLES_MIN = 8


@dataclass(frozen=True, slots=True)
class Sample:
    """Measurements of one moment, by name; a name may be missing while its part is down."""

    secs: float
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class GrowthAllowance:
    """Allowed growth of a figure: by this share of itself or by this amount, whichever is more."""

    share: float
    slack: float


@dataclass(frozen=True, slots=True)
class Trend:
    """Medians of both halves of one figure."""

    name: str
    first: float
    second: float
    limit: float

    @property
    def is_growth(self) -> bool:
        """True if it grew by more than it may."""
        return self.second > self.limit


class TooShort(Exception):
    """There are too few samples to judge."""


def trends(
    samples: Sequence[Sample], allowances: Mapping[str, GrowthAllowance], default: GrowthAllowance
) -> list[Trend]:
    """Compare the halves of every figure after a warm-up of a fifth of the time.

    `allowances` are by name, or by what comes before its first dot: "memory.meta" is judged as
    "memory". A figure that is missing from a half is not judged. Raises TooShort.
    """
    first, second = _halves(samples)
    names = {name for sample in (*first, *second) for name in sample.values}
    found = []
    for name in sorted(names):
        before = [s.values[name] for s in first if name in s.values]
        after = [s.values[name] for s in second if name in s.values]
        if before and after:
            of_kind = allowances.get(name.partition(".")[0], default)
            allowance = allowances.get(name, of_kind)
            found.append(
                _trend(name, statistics.median(before), statistics.median(after), allowance)
            )
    return found


def _trend(name: str, first: float, second: float, allowance: GrowthAllowance) -> Trend:
    limit = first + max(allowance.share * first, allowance.slack)
    return Trend(name, first, second, limit)


def _halves(samples: Sequence[Sample]) -> tuple[Sequence[Sample], Sequence[Sample]]:
    if not samples:
        raise TooShort("no samples")
    began, ended = samples[0].secs, samples[-1].secs
    steady = [s for s in samples if s.secs >= began + WARM_UP_SHARE * (ended - began)]
    if len(steady) < SAMPLES_MIN:
        raise TooShort(f"{len(steady)} samples after the warm-up, {SAMPLES_MIN} are needed")
    middle = (steady[0].secs + ended) / 2
    return [s for s in steady if s.secs < middle], [s for s in steady if s.secs >= middle]
