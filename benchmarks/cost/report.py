"""The measured figures as ratios to ClickHouse's or to a budget, and as a table to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from benchmarks.cost.answers import Answer, Answers
from benchmarks.cost.load import Corpus, Sent
from benchmarks.cost.questions import PRINT_ONE
from benchmarks.cost.stack import Cost
from benchmarks.harness.results import Result, compare
from benchmarks.soak.markers import Freshness

# CPU seconds a gigabyte, all parts together, and cores of an installation that receives nothing.
SATURATED_BUDGET, SLOW_BUDGET, IDLE_BUDGET = 48.0, 68.0, 0.02


@dataclass(frozen=True, slots=True)
class ClickHouse:
    """CPU and bytes that chDB used for the same records."""

    version: str
    insert_secs: float
    merge_secs: float
    kept_bytes: int
    questions: Answers

    @classmethod
    def from_json(cls, reply: Mapping[str, Any]) -> Self:
        """Read the answer of its process."""
        asked = {
            name: Answer(row["rows"], tuple(*row["first"]), row["wall_ms"], row["cpu_ms"])
            for name, row in reply["questions"].items()
        }
        return cls(
            reply["version"], reply["insert_secs"], reply["merge_secs"], reply["bytes"], asked
        )


@dataclass(frozen=True, slots=True)
class WithColumns:
    """The same segments with automatic columns: their names, CPU of the rewrite, bytes, answers."""

    names: list[str]
    cpu_secs: float
    kept_bytes: int
    questions: Answers


def judge(
    corpus: Corpus,
    clickhouse: ClickHouse,
    saturated: Cost,
    slow: Cost,
    idle_cores: Mapping[str, float],
    asked: Mapping[str, Answers],
) -> list[Result]:
    """Print what was measured; returns the figures that have a reference."""
    insert = (clickhouse.insert_secs + clickhouse.merge_secs) / corpus.gigabytes
    print(
        f"{corpus.otlp_bytes / 1e6:.0f} MB of OTLP: {corpus.logs:,} log records and"
        f" {corpus.spans:,} spans; ClickHouse {clickhouse.version}: {insert:.1f} s of CPU a GB"
        f" without decoding OTLP, {clickhouse.kept_bytes / 1e6:.1f} MB kept"
    )
    for name, cost in (("saturated", saturated), ("slow", slow)):
        _print_cost(name, cost)
    print(
        "idle, cores: "
        + ", ".join(f"{part} {cores:.4f}" for part, cores in sorted(idle_cores.items()))
    )
    _print_questions(clickhouse, asked)
    return [
        _within(
            "cost_saturated", saturated.per_gigabyte()["all"], SATURATED_BUDGET, "s of CPU a GB"
        ),
        _within("cost_slow", slow.per_gigabyte()["all"], SLOW_BUDGET, "s of CPU a GB"),
        _within("cost_idle", sum(idle_cores.values()), IDLE_BUDGET, "cores"),
        compare(
            "cost_bytes_kept",
            saturated.segment_bytes / 1e6,
            clickhouse.kept_bytes / 1e6,
            reference_name=f"ClickHouse {clickhouse.version}",
            unit="MB",
            bar=1.0,
            higher_is_better=False,
        ),
        *_questions(clickhouse, asked),
    ]


def judge_columns(clickhouse: ClickHouse, columns: WithColumns) -> list[Result]:
    """Compare the questions about attributes, and the bytes, where all segments have columns."""
    print(
        f"automatic columns {' '.join(columns.names)}: rewritten with {columns.cpu_secs:.1f} s of"
        f" CPU, {columns.kept_bytes / 1e6:.1f} MB"
    )
    _print_questions(clickhouse, {"KQL, columns": columns.questions})
    reference = f"ClickHouse {clickhouse.version}"
    base = columns.questions[PRINT_ONE]
    measured = [
        compare(
            "cost_bytes_kept_columns",
            columns.kept_bytes / 1e6,
            clickhouse.kept_bytes / 1e6,
            reference_name=reference,
            unit="MB",
            bar=1.0,
            higher_is_better=False,
        )
    ]
    for name, theirs in clickhouse.questions.items():
        if "attribute" not in name:
            continue
        ours, slug = columns.questions[name], "_".join(name.replace(",", "").split())
        for kind, own, other in (
            ("wall", ours.wall_ms - base.wall_ms, theirs.wall_ms),
            ("CPU", ours.cpu_ms - base.cpu_ms, theirs.cpu_ms),
        ):
            measured.append(
                compare(
                    f"cost_columns_{slug}_{kind.lower()}",
                    max(own, 0.01),
                    other,
                    reference_name=reference,
                    unit=f"ms of {kind}, less print 1",
                    bar=0.7,
                    higher_is_better=False,
                )
            )
    return measured


def print_observed(
    sent: Sent,
    fresh: Freshness,
    loaded: Counter[str],
    hours: float,
    idle: Counter[str],
    idle_hours: float,
) -> None:
    """Print freshness, and requests to the object store by operation."""
    print(f"freshness p50 {fresh.p50_secs:.1f} s, p99 {fresh.p99_secs:.1f} s")
    print(f"{'requests':24}{'a GB':>10}{'an hour':>10}{'an idle hour':>14}")
    gigabytes = sent.otlp_bytes / 1e9
    for operation in sorted(loaded | idle):
        count, resting = loaded[operation], idle[operation]
        per_gb, per_hour, at_rest = count / gigabytes, count / hours, resting / idle_hours
        print(f"{operation:24}{per_gb:>10,.0f}{per_hour:>10,.0f}{at_rest:>14,.0f}")


def _within(name: str, ours: float, budget: float, unit: str) -> Result:
    return compare(
        name, ours, budget, reference_name="the budget", unit=unit, bar=1.0, higher_is_better=False
    )


def _questions(clickhouse: ClickHouse, asked: Mapping[str, Answers]) -> Iterator[Result]:
    """Compare each reader with ClickHouse; of KQL over HTTP `print 1` is subtracted."""
    for reader, answered in asked.items():
        slug = reader.lower().replace(" ", "_").replace(".", "_")
        for name, answer in answered.items():
            if name == PRINT_ONE:
                continue
            base = answered[PRINT_ONE].wall_ms if reader == "KQL over HTTP" else 0.0
            yield compare(
                f"cost_{slug}_{'_'.join(name.replace(',', '').split())}",
                max(answer.wall_ms - base, 0.01),
                clickhouse.questions[name].wall_ms,
                reference_name=f"ClickHouse {clickhouse.version}",
                unit="ms, wall" + (", less print 1" if base else ""),
            )


def _print_cost(name: str, cost: Cost) -> None:
    parts = ", ".join(f"{part} {secs:.1f}" for part, secs in cost.per_gigabyte().items())
    print(
        f"{name}: {cost.mb_per_sec:.1f} MB/s, {cost.sent.retries} retries; s of CPU a GB: {parts};"
        f" {cost.segments} segments, {cost.segment_bytes / 1e6:.1f} MB"
    )


def _print_questions(clickhouse: ClickHouse, asked: Mapping[str, Answers]) -> None:
    readers = {"ClickHouse": clickhouse.questions, **asked}
    print(f"{'ms of wall time (ms of CPU)':34}" + "".join(f"{name:>20}" for name in readers))
    for name in clickhouse.questions:
        cells = (answered[name] for answered in readers.values())
        print(f"{name:34}" + "".join(f"{a.wall_ms:>11.1f} ({a.cpu_ms:6.1f})" for a in cells))
        counts = {answered[name].rows for answered in readers.values()}
        if len(counts) > 1:
            print(f"  the readers answer {sorted(counts)} rows")
