"""Wall time and CPU of the questions, by plain DuckDB, by `segplane.read` and in KQL over HTTP."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

import duckdb

from benchmarks.cost.questions import DATASET, Question
from benchmarks.harness.processes import cpu_seconds
from segplane.read import open_dataset

THREADS = 2
# Between two queries over HTTP, as between two of a person: back to back, a query would also wait
# for the process that replaces the one before, and compete with its preparation for the cores.
REST_SECS = 0.15
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of an answer, its first row, and the median of its wall time and CPU."""

    rows: int
    first: tuple[Any, ...]
    wall_ms: float
    cpu_ms: float


Answers = dict[str, Answer]


def by_duckdb(paths: list[str], questions: list[Question], rounds: int) -> Answers:
    """Ask DuckDB over the segments' files, as someone does who has nothing of ours."""
    with duckdb.connect(config={"threads": THREADS}) as connection:
        files = connection.read_parquet(paths, union_by_name=True)
        files.create_view("records")
        return _by_connection(connection, questions, rounds)


def by_segplane_read(meta_address: str, questions: list[Question], rounds: int) -> Answers:
    """Ask DuckDB over an open version of the dataset."""
    with (
        duckdb.connect(config={"threads": THREADS}) as connection,
        open_dataset(DATASET, meta_address=meta_address) as dataset,
    ):
        dataset.duckdb(connection).create_view("records")
        return _by_connection(connection, questions, rounds)


def by_kql(gateway_bind: str, gateway_pid: int, questions: list[Question], rounds: int) -> Answers:
    """Ask in KQL over HTTP; the CPU is that of the gateway and of its children."""
    connection = HTTPConnection(gateway_bind, timeout=120)

    def ask(question: Question) -> list[tuple[Any, ...]]:
        body = json.dumps({"query": question.kql, "language": "kql"})
        connection.request("POST", "/v1/query", body, JSON)
        reply = connection.getresponse()
        text = reply.read()
        if reply.status != 200:
            raise RuntimeError(f"{question.name}: {text.decode()}")
        return [tuple(row.values()) for row in json.loads(text)]

    try:
        return _all(ask, questions, rounds, lambda: cpu_seconds(gateway_pid), REST_SECS)
    finally:
        connection.close()


def _by_connection(
    connection: duckdb.DuckDBPyConnection, questions: list[Question], rounds: int
) -> Answers:
    def ask(question: Question) -> list[tuple[Any, ...]]:
        return connection.execute(question.duckdb).fetchall()

    return _all(ask, questions, rounds, time.process_time)


def _all(
    ask: Callable[[Question], list[tuple[Any, ...]]],
    questions: list[Question],
    rounds: int,
    cpu_secs: Callable[[], float],
    rest_secs: float = 0.0,
) -> Answers:
    return {
        question.name: _measure(ask, question, rounds, cpu_secs, rest_secs)
        for question in questions
    }


def _measure(
    ask: Callable[[Question], list[tuple[Any, ...]]],
    question: Question,
    rounds: int,
    cpu_secs: Callable[[], float],
    rest_secs: float,
) -> Answer:
    answer = ask(question)
    time.sleep(rest_secs)
    walls, cpu_began = [], cpu_secs()
    for _ in range(rounds):
        began = time.perf_counter()
        ask(question)
        walls.append(1e3 * (time.perf_counter() - began))
        time.sleep(rest_secs)
    # A clock of ticks is too coarse for one question.
    cpu_ms = 1e3 * (cpu_secs() - cpu_began) / rounds
    return Answer(len(answer), answer[0] if answer else (), sorted(walls)[rounds // 2], cpu_ms)
