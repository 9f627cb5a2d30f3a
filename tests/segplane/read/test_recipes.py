"""The documented recipes and examples give what the records say, over files of both formats."""

import json
import math
import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from structlog.testing import capture_logs

from segments.signals import SIGNALS
from segplane.__main__ import app
from segplane.read import open_dataset
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.server import MetaServer
from tests.support.recipes import MINUTE, READING, TRACE, Shop, blocks

Row = Mapping[str, Any]
RECIPES = blocks("recipes.md", "sql")


@pytest.fixture
def shop(segments: SegmentWriter) -> Shop:
    shop = Shop()
    shop.write(segments, format_version=1)
    return shop


def grouped(rows: Sequence[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def quantile(values: Sequence[float], share: float) -> float:
    """Linear between the two values around the place."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def p99(shop: Shop) -> list[Row]:
    groups = grouped(shop.last_hour(shop.traces), lambda row: row["service_name"])
    rows: list[Row] = [
        {"service_name": name, "p99_ms": quantile([r["duration_ns"] for r in own], 0.99) / 1e6}
        for name, own in groups.items()
    ]
    return sorted(rows, key=lambda row: -row["p99_ms"])


def errors(shop: Shop) -> list[Row]:
    groups = grouped(
        shop.last_hour(shop.traces), lambda row: json.loads(row["attributes"])["http.route"]
    )
    rows: list[Row] = [
        {"route": route, "errors": sum(r["status_code"] == 2 for r in own), "spans": len(own)}
        for route, own in groups.items()
    ]
    return sorted(rows, key=lambda row: (-row["errors"], row["route"]))


def logs_of_a_trace(shop: Shop) -> list[Row]:
    own = sorted(
        (row for row in shop.logs if row["trace_id"] == TRACE), key=lambda row: row["timestamp"]
    )
    words = {9: "INFO", 17: "ERROR"}
    return [
        {
            "service_name": row["service_name"],
            "severity": words[row["severity_number"]],
            "body": row["body"],
        }
        for row in own
    ]


def histogram(shop: Shop) -> list[Row]:
    rows: list[Row] = []
    for name, own in sorted(grouped(shop.metrics, lambda row: row["service_name"]).items()):
        counts = [sum(column) for column in zip(*(r["bucket_counts"] for r in own), strict=True)]
        rank = 0.9 * sum(counts)
        # By hand: the rank lies in the last bucket, which has no bound above, or before it.
        value = 40.0
        if rank <= sum(counts[:3]):
            value = 20 + 20 * (rank - sum(counts[:2])) / counts[2]
        rows.append({"service_name": name, "p90_ms": value})
    return rows


def counter_rates(shop: Shop) -> list[Row]:
    rows: list[Row] = []
    for name, points in sorted(grouped(shop.metrics, lambda row: row["service_name"]).items()):
        own = sorted(points, key=lambda row: row["timestamp"])
        seconds = (own[-1]["timestamp"] - own[0]["timestamp"]) / MINUTE * 60
        increase = sum(row["count"] for row in own[1:])
        rows.append({"service_name": name, "calls_per_second": increase / seconds})
    return rows


def rates(shop: Shop) -> list[Row]:
    hours = grouped(shop.logs, lambda row: (row["timestamp"] // (60 * MINUTE), row["service_name"]))
    return [
        {"service_name": name, "logs_per_second": len(own) / 3600}
        for (_, name), own in sorted(hours.items())
    ]


def talkers(shop: Shop) -> list[Row]:
    groups = grouped(shop.logs, lambda row: row["service_name"])
    rows: list[Row] = [
        {
            "service_name": name,
            "bytes": sum(len(r["body"]) + len(r["attributes"]) for r in own),
        }
        for name, own in groups.items()
    ]
    return sorted(rows, key=lambda row: -row["bytes"])


EXPECTED: dict[str, Callable[[Shop], list[Row]]] = {
    "99th percentile of durations by service": p99,
    "Errors by attribute": errors,
    "Logs of a trace": logs_of_a_trace,
    "Quantile of a histogram": histogram,
    "Rate of a counter": counter_rates,
    "Rate by hour": rates,
    "Top talkers by bytes": talkers,
}


def test_every_recipe_has_its_answer() -> None:
    assert EXPECTED.keys() == RECIPES.keys()


def test_recipes_give_what_the_records_say(shop: Shop, meta_server: MetaServer) -> None:
    for heading, statement in RECIPES.items():
        arguments = ["sql", "--json", "-c", statement, "--meta-address", meta_server.address]

        done = CliRunner().invoke(app, arguments)

        assert done.exit_code == 0, f"{heading}: {done.stderr}"
        assert_answer(heading, json.loads(done.stdout), shop)


def test_recipes_in_kql_give_what_the_records_say(shop: Shop, meta_server: MetaServer) -> None:
    recipes = blocks("recipes.md", "kql")
    for heading, text in recipes.items():
        arguments = ["query", "--format", "json", text, "--meta-address", meta_server.address]

        # meta runs in this process, and would log to the same output.
        with capture_logs():
            done = CliRunner().invoke(app, arguments)

        assert done.exit_code == 0, f"{heading}: {done.stderr}"
        assert_answer(heading, json.loads(done.stdout), shop)
    assert recipes


def assert_answer(heading: str, rows: Sequence[Row], shop: Shop) -> None:
    expected = EXPECTED[heading](shop)
    assert len(rows) == len(expected) > 1, heading
    for row, wanted in zip(rows, expected, strict=True):
        for name, value in wanted.items():
            is_close = isinstance(value, float) and math.isclose(row[name], value)
            assert is_close or row[name] == value, (heading, row, wanted)


def test_recipes_run_over_relations_in_python(shop: Shop, meta_server: MetaServer) -> None:
    connection = duckdb.connect()
    with open_dataset("web", meta_address=meta_server.address) as web:
        tables = {signal: web.of_signal(signal).duckdb(connection) for signal in SIGNALS}
        for heading, statement in RECIPES.items():
            (signal,) = (name for name in SIGNALS if f"FROM web.{name}\n" in statement)
            text = statement.replace(f"web.{signal}", signal)

            answer = tables[signal].query(signal, text)

            assert answer is not None
            rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]
            assert_answer(heading, rows, shop)


def test_the_examples_of_the_page_run(
    shop: Shop, meta_server: MetaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGPLANE_META_ADDRESS", meta_server.address)
    values: dict[str, Any] = {}

    for code in blocks("notebooks.md", "python").values():
        exec(code, values)  # noqa: S102 - the page's own text

    expected = {str(row["service_name"]): row["p99_ms"] for row in p99(shop)}
    assert values["p99_by_service"].to_dict() == pytest.approx(expected)
    failed = {row["route"]: row["errors"] for row in errors(shop) if row["errors"]}
    assert dict(values["errors_by_route"].iter_rows()) == failed
    assert dict(values["severities"]) == {"INFO": 20, "ERROR": 20}
    assert len(values["frame"]) == values["table"].num_rows == 40


def test_readme_shows_reading_as_its_second_thing(
    shop: Shop, meta_server: MetaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGPLANE_META_ADDRESS", meta_server.address)
    readme = Path(READING.parents[1], "README.md").read_text()
    code = readme.split("## Reading")[1].split("```python\n")[1].split("```")[0]
    values: dict[str, Any] = {}

    exec(code.replace('"default"', '"web"'), values)  # noqa: S102 - the page's own text

    assert readme.index("## Quick start") < readme.index("## Reading") < readme.index("## Guar")
    assert len(values["frame"]) == 40


def test_the_commands_of_readme_run(
    shop: Shop, meta_server: MetaServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SEGPLANE_META_ADDRESS", meta_server.address)
    monkeypatch.chdir(tmp_path)
    readme = Path(READING.parents[1], "README.md").read_text()
    shell = readme.split("## Reading")[1].split("In a shell:")[1].split("```")[1]
    commands = re.findall(r"^\$ segplane (.*)$", shell, re.MULTILINE)

    for command in commands:
        # The shop's records are older than those of the page.
        arguments = shlex.split(command.replace("default", "web").replace("--start 1h", ""))
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, f"{command}: {done.stderr}"
        assert "\n" in done.stdout or Path(arguments[-1]).stat().st_size, command

    assert len(commands) == 4
