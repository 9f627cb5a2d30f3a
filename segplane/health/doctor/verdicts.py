"""Verdicts of checks, and the diagnosis that they make."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class CheckVerdict(StrEnum):
    """Outcome of a check; `needs` is one that a person must act on."""

    OK = "ok"
    WARNING = "warning"
    NEEDS = "needs a person"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check of an area; `next_step` says what to do unless it is ok."""

    area: str
    name: str
    verdict: CheckVerdict
    text: str
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All checks, in the order of their areas."""

    checks: Sequence[CheckResult]

    @property
    def needs(self) -> Sequence[CheckResult]:
        """The checks that a person must act on."""
        return self._of(CheckVerdict.NEEDS)

    @property
    def headline(self) -> str:
        """One line: whether anything needs a person, and what was not checked."""
        things = len(self.needs)
        first = "no fault was found" if self._of(CheckVerdict.UNKNOWN) else "ok"
        if things:
            first = f"{things} thing{' needs' if things == 1 else 's need'} a person"
        others = [
            f"{len(self._of(verdict))} {noun}"
            for verdict, noun in (
                (CheckVerdict.WARNING, "warnings"),
                (CheckVerdict.UNKNOWN, "not checked"),
            )
            if self._of(verdict)
        ]
        return ", ".join([f"{first}: {len(self._of(CheckVerdict.OK))} checks are ok", *others])

    def _of(self, verdict: CheckVerdict) -> list[CheckResult]:
        return [check for check in self.checks if check.verdict is verdict]


def unknown(area: str, name: str, missing: str, next_step: str = "") -> CheckResult:
    """Return a check that could not be made, with what is missing for it."""
    return CheckResult(area, name, CheckVerdict.UNKNOWN, missing, next_step)


def judged(
    area: str,
    name: str,
    text: str,
    trouble: str = "",
    *,
    is_warning: bool = False,
    next_step: str = "",
) -> CheckResult:
    """Return a check that is ok, unless there is trouble, which takes the place of its text."""
    if not trouble:
        return CheckResult(area, name, CheckVerdict.OK, text)
    verdict = CheckVerdict.WARNING if is_warning else CheckVerdict.NEEDS
    return CheckResult(area, name, verdict, trouble, next_step)
