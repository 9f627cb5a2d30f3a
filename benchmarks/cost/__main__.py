"""`make bench-cost`: the cost of a gigabyte and the time to an answer, beside ClickHouse.

COST_MB (300) is how much OTLP is sent, COST_IDLE_MINUTES (30) how long an installation that
receives nothing is watched. Intervals, flush sizes and retention are the defaults of
`segplane dev`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from benchmarks.cost import answers, automatic, report
from benchmarks.cost.clickhouse_rows import LOGS, TRACES
from benchmarks.cost.clickhouse_tables import TEMPLATES, create_tables
from benchmarks.cost.load import Corpus, write_corpus
from benchmarks.cost.questions import DATASET, Question, read_questions
from benchmarks.cost.records import exports
from benchmarks.cost.requests import PROGRAM, s3_server
from benchmarks.cost.stack import WARM_UP, Cost, CostStack, cost_stack, freshness, idle, measure
from benchmarks.harness import results
from segplane.read import open_dataset

ROOT = Path(__file__).parents[2]
CHDB_PYTHON = ROOT / "build" / "readers" / "python" / "bin" / "python"
SPAN_NANOS = 600 * 10**9
SATURATION_SENDERS, SLOW_SENDERS, SLOW_MB_PER_SEC = 32, 4, 2.0
# So much that both task processes of the nursery and one of the merge worker are started.
WARM_UP_MB = 100.0
ROUNDS = 9
IDLE_REQUESTS_SECS = 60.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings from the environment."""

    megabytes: float
    idle_secs: float


def main() -> int:
    """Run both sides, print the table, keep the results."""
    settings = Settings(
        float(os.environ.get("COST_MB", "300")),
        60 * float(os.environ.get("COST_IDLE_MINUTES", "30")),
    )
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not (CHDB_PYTHON.exists() and TEMPLATES.exists()):
        print("bench-cost: chDB or the exporter's tables are not installed", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="segplane-cost-") as name:
        folder = Path(name)
        start_nanos = time.time_ns() - 2 * SPAN_NANOS
        corpus = write_corpus(folder, settings.megabytes, start_nanos, SPAN_NANOS)
        questions = read_questions(_values(start_nanos, corpus))
        clickhouse = _clickhouse(folder, questions)
        fast, idle_cores, asked, columns = _saturated(folder, questions, settings)
        slow = _slow(folder)
        _print_observed(folder)
    measured = report.judge(corpus, clickhouse, fast, slow, idle_cores, asked)
    measured += report.judge_columns(clickhouse, columns)
    results.save(measured)
    print(results.table(measured))
    return 0 if all(result.holds for result in measured) else 1


def _values(start_nanos: int, corpus: Corpus) -> dict[str, str]:
    record = next(exports(corpus.exports, start_nanos, SPAN_NANOS)).logs[0]
    return {"trace": record.trace_id.hex(), "user": str(record.attributes["user.id"])}


def _clickhouse(folder: Path, questions: list[Question]) -> report.ClickHouse:
    order = {
        "folder": str(folder),
        "tables": create_tables(),
        "inserts": {"otel_logs": "logs.arrow", "otel_traces": "traces.arrow"},
        "columns": {"otel_logs": LOGS.names, "otel_traces": TRACES.names},
        "rounds": ROUNDS,
        "questions": {question.name: question.clickhouse for question in questions},
    }
    done = subprocess.run(
        [CHDB_PYTHON, Path(__file__).parent / "clickhouse.py"],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        check=True,
    )
    return report.ClickHouse.from_json(json.loads(done.stdout))


def _saturated(
    folder: Path, questions: list[Question], settings: Settings
) -> tuple[Cost, dict[str, float], dict[str, answers.Answers], report.WithColumns]:
    with cost_stack() as stack:
        _warm_up(stack, folder)
        idle_cores = idle(stack, settings.idle_secs)
        cost = measure(stack, folder / "exports.bin", SATURATION_SENDERS)
        asked = _ask(stack, questions)
        cpu_secs, kept_bytes = automatic.write_columns(stack)
        names = [f"{attribute}:{kql_type}" for attribute, kql_type in automatic.COLUMNS]
        with_columns = report.WithColumns(names, cpu_secs, kept_bytes, _ask_kql(stack, questions))
        return cost, idle_cores, asked, with_columns


def _slow(folder: Path) -> Cost:
    with cost_stack() as stack:
        _warm_up(stack, folder)
        return measure(stack, folder / "exports.bin", SLOW_SENDERS, SLOW_MB_PER_SEC)


def _print_observed(folder: Path) -> None:
    """Print freshness, and the requests that an S3 server gets, at the slow rate."""
    if not PROGRAM.exists():
        print("no versitygw (`make tools`): freshness and requests are not measured")
        return
    with s3_server(folder / "s3") as server, cost_stack(server.url) as stack:
        _warm_up(stack, folder)
        before, began = server.requests(), time.monotonic()
        sent, fresh = freshness(stack, folder / "exports.bin", SLOW_SENDERS, SLOW_MB_PER_SEC)
        stack.await_done()
        loaded, hours = server.requests() - before, (time.monotonic() - began) / 3600
        before, began = server.requests(), time.monotonic()
        stack.rest(IDLE_REQUESTS_SECS)
        idle_hours = (time.monotonic() - began) / 3600
        report.print_observed(sent, fresh, loaded, hours, server.requests() - before, idle_hours)


def _warm_up(stack: CostStack, folder: Path) -> None:
    """Start every process that runs tasks with records of another dataset, at full speed."""
    warm = folder / "warm"
    warm.mkdir(exist_ok=True)
    write_corpus(warm, WARM_UP_MB, time.time_ns() - SPAN_NANOS, SPAN_NANOS)
    stack.send(warm / "exports.bin", SATURATION_SENDERS, dataset=WARM_UP)
    stack.await_done()


def _ask(stack: CostStack, questions: list[Question]) -> dict[str, answers.Answers]:
    settings = stack.stack.settings
    with open_dataset(DATASET, meta_address=settings.meta_address) as dataset:
        paths = [url2pathname(urlsplit(file.url).path) for file in dataset.files()]
        return {
            "DuckDB": answers.by_duckdb(paths, questions, ROUNDS),
            "segplane.read": answers.by_segplane_read(settings.meta_address, questions, ROUNDS),
            "KQL over HTTP": _ask_kql(stack, questions),
        }


def _ask_kql(stack: CostStack, questions: list[Question]) -> answers.Answers:
    gateway = stack.stack.children["gateway"].pid
    assert gateway is not None
    return answers.by_kql(stack.stack.settings.gateway_bind, gateway, questions, ROUNDS)


if __name__ == "__main__":
    sys.exit(main())
