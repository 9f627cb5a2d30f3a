"""The engines that `make readers` installs, each asked in its own process."""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import yaml

from segplane.cli.iceberg_settings import CatalogAddress, settings_of
from tests.support.gateway.questions import CLICKHOUSE, DUCKDB, QUESTIONS, SPARK, Dialect
from tests.support.object_store.versitygw import ACCESS_KEY, SECRET_KEY

ROOT = Path(__file__).parents[3]
READERS = ROOT / "build" / "readers"
SCRIPT = Path(__file__).with_name("engine_script.py")
DEADLINE_SECS = 400
AWS_BUNDLE = "iceberg-aws-bundle-1.12.0.jar"
Answers = dict[str, dict[str, Any]]
NO_CHANGES: Mapping[str, str] = MappingProxyType({})
# Of gateways in tests that ask for one.
TOKEN = "the-token-of-this-gateway"


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
        self,
        catalog: CatalogAddress,
        dataset: str,
        version: int,
        *,
        changes: Mapping[str, str] = NO_CHANGES,
        steps: str = "",
        more: Mapping[str, str] = NO_CHANGES,
    ) -> Answers:
        """Put all questions to it, with the settings that `segplane iceberg info` prints.

        `changes` are properties beside or in place of those; "" leaves one out. `steps` is the
        address of a server that is told the name of each question before it is asked; `more` are
        statements of SQL to run after the questions.
        """
        table = self.dialect.table(dataset, version)
        if self.kind == "daft":
            table = "t"
        asked = [
            {"name": one.name, "sql": one.sql(self.dialect, table), "conditions": one.conditions()}
            for one in QUESTIONS
        ]
        if self.kind != "daft":
            asked += [{"name": name, "sql": sql} for name, sql in more.items()]
        request: dict[str, Any] = {"questions": asked, "table": f"default.{dataset}@{version}"}
        if steps:
            request["steps"] = steps
        return self._run(catalog, request, changes)

    def run(self, catalog: CatalogAddress, statements: dict[str, str]) -> Answers:
        """Run statements of SQL over the catalog; the answers have their names."""
        asked = [{"name": name, "sql": sql} for name, sql in statements.items()]
        return self._run(catalog, {"questions": asked})

    def _run(
        self,
        catalog: CatalogAddress,
        request: dict[str, Any],
        changes: Mapping[str, str] = NO_CHANGES,
    ) -> Answers:
        properties = self.properties(catalog) | dict(changes)
        opening = {
            "statements": statements_of(self.kind, catalog),
            "properties": {name: value for name, value in properties.items() if value},
        }
        return run_script(self, request | opening)

    def properties(self, catalog: CatalogAddress) -> dict[str, str]:
        """Return the properties that open the catalog in an engine without SQL, and in Spark."""
        if self.kind == "daft":
            configured = yaml.safe_load(printed("daft", catalog).partition("# Python")[0])
            return dict(configured["catalog"]["segplane"])
        if self.kind != "spark":
            return {}
        jars = [self.jar, AWS_BUNDLE] if catalog.is_s3 else [self.jar]
        return dict(re.findall(r"--conf (\S+?)=(\S+)", printed("spark", catalog))) | {
            "spark.jars": ",".join(str(READERS / "jars" / jar) for jar in jars),
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.adaptive.enabled": "false",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
        }


def printed(engine: str, catalog: CatalogAddress, token: str = TOKEN) -> str:
    """The settings that are printed for an engine, filled in."""
    text = settings_of(engine, catalog)
    text = text.replace("<GATEWAY_AUTH_TOKEN>", token)
    return text.replace("<access key>", ACCESS_KEY).replace("<secret key>", SECRET_KEY)


def run_script(engine: Engine, request: Any) -> Answers:
    """Run the script and return what it found."""
    environment = {**os.environ, "TZ": "UTC", "SPARK_LOCAL_IP": "127.0.0.1"}
    # Of ours, which other Pythons must not see, and keys that engines are to get by their settings.
    for name in ("PYTHONPATH", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        environment.pop(name, None)
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
    errors = [line for line in done.stderr.splitlines() if not _JAVA_FRAME.match(line)]
    assert found, "\n".join([engine.name, done.stdout[-2_000:], *errors[-40:]])
    answers: Answers = json.loads(found[-1].removeprefix("FOUND"))
    return answers


def statements_of(kind: str, catalog: CatalogAddress, token: str = TOKEN) -> list[str]:
    """Statements that open the catalog in an engine of SQL."""
    if kind not in ("duckdb", "clickhouse"):
        return []
    statements = [one.strip() for one in printed(kind, catalog, token).split(";")]
    # Extensions are loaded from packages, and the example at the end has no table.
    return [one for one in statements if one and one.split()[0] not in _LEFT_OUT]


_JAVA_FRAME = re.compile(r"\s+(at |\.\.\. )")
_LEFT_OUT = ("INSTALL", "LOAD", "SELECT")
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
