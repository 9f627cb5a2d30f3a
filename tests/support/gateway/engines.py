"""The engines that `make readers` installs, each asked in a process of its own."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway.questions import CLICKHOUSE, DUCKDB, QUESTIONS, SPARK, Dialect

ROOT = Path(__file__).parents[3]
READERS = ROOT / "build" / "readers"
SCRIPT = Path(__file__).with_name("engine_script.py")
DEADLINE_SECS = 280
Answers = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine: its Python, its SQL, and the jar that makes it read Iceberg."""

    name: str
    python: Path
    kind: str
    dialect: Dialect
    jar: str = ""

    def skip_if_missing(self) -> None:
        """Skip a test by the name of what is missing."""
        for path in (self.python, READERS / "jars" / self.jar):
            if not path.exists():
                pytest.skip(f"{path.relative_to(ROOT)} is not there: `make readers` installs it")

    def ask(
        self, uri: str, dataset: str, version: int, properties: Mapping[str, str] | None = None
    ) -> Answers:
        """Put all questions to it; `properties` are further ones of Iceberg's clients."""
        table = self.dialect.table(dataset, version)
        if self.kind == "daft":
            table = "t"
        asked = [
            {"name": one.name, "sql": one.sql(self.dialect, table), "conditions": one.conditions()}
            for one in QUESTIONS
        ]
        request = {
            "questions": asked,
            "table": f"default.{dataset}@{version}",
            "statements": _statements(self.kind, uri),
            "properties": self._properties(uri, properties or {}),
        }
        return run_script(self, request)

    def _properties(self, uri: str, more: Mapping[str, str]) -> dict[str, str]:
        if self.kind != "spark":
            return {"uri": uri, **more}
        name = "spark.sql.catalog.segplane"
        catalog = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "rest", ".uri": uri}
        catalog |= {f".{key}": value for key, value in more.items()}
        return {name + key: value for key, value in catalog.items()} | {
            "spark.jars": str(READERS / "jars" / self.jar),
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.adaptive.enabled": "false",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
        }


def run_script(engine: Engine, request: Any) -> Answers:
    """Run the script and return what it found."""
    environment = {**os.environ, "TZ": "UTC", "SPARK_LOCAL_IP": "127.0.0.1"}
    # Of ours, which other Pythons must not see.
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [str(engine.python), str(SCRIPT), engine.kind],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECS,
        env=environment,
        # chDB reads files below its working directory only.
        cwd="/",
        check=False,
    )
    found = [line for line in done.stdout.splitlines() if line.startswith("FOUND")]
    assert found, f"{engine.name}: {done.stdout[-2_000:]}\n{done.stderr[-6_000:]}"
    answers: Answers = json.loads(found[-1].removeprefix("FOUND"))
    return answers


def _statements(kind: str, uri: str) -> list[str]:
    """Statements that open the catalog in an engine of SQL."""
    if kind == "clickhouse":
        return [
            "SET allow_experimental_database_iceberg = 1",
            f"CREATE DATABASE segplane ENGINE = DataLakeCatalog('{uri}/v1')"
            " SETTINGS catalog_type = 'rest', warehouse = 'segplane', vended_credentials = false",
        ]
    return [f"ATTACH '' AS segplane (TYPE iceberg, ENDPOINT '{uri}', AUTHORIZATION_TYPE 'none')"]


_PYTHON = READERS / "python" / "bin" / "python"
ENGINES = (
    Engine("DuckDB", _PYTHON, "duckdb", DUCKDB),
    Engine("ClickHouse", _PYTHON, "clickhouse", CLICKHOUSE),
    Engine("Daft", _PYTHON, "daft", DUCKDB),
    Engine(
        "Spark 3.5",
        ROOT / "build" / "engines" / "bin" / "python",
        "spark",
        SPARK,
        "iceberg-spark-runtime-3.5_2.12-1.12.0.jar",
    ),
    Engine(
        "Spark 4.1",
        READERS / "spark-4.1" / "bin" / "python",
        "spark",
        SPARK,
        "iceberg-spark-runtime-4.1_2.13-1.12.0.jar",
    ),
)
