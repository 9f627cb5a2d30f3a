"""Every block of README and docs/reading runs: here, or in the test that is named for it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from structlog.testing import capture_logs

from meta.config import Settings
from segments.signals import SIGNALS
from segplane.__main__ import app
from tests.support.documentation import ROOT, blocks_of, pages
from tests.support.gateway.answers import catalog_of
from tests.support.gateway.engines import ENGINES, Engine
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.trino import TrinoServer
from tests.support.meta.server import MetaServer

HERE = "tests/segplane/gateway/test_documented_blocks.py"
RECIPES = "tests/segplane/read/test_recipes.py"
GRAFANA = "tests/segplane/gateway/test_grafana.py"
SPARK = "tests/segplane/read/test_spark_blocks.py"
# The test of each block, by the page, the language and the place among those of it.
TESTS: dict[tuple[str, str, int], str] = {
    ("README.md", "python", 0): f"{RECIPES}::test_readme_shows_reading_as_its_second_thing",
    ("README.md", "python", 1): f"{HERE}::test_the_client_of_readme_answers",
    ("docs/reading/README.md", "sql", 0): f"{HERE}::test_statements_of_the_first_page_run",
    ("docs/reading/clickhouse.md", "sql", 0): f"{HERE}::test_statements_run_in_their_engine",
    ("docs/reading/duckdb.md", "sql", 0): f"{HERE}::test_statements_run_in_their_engine",
    ("docs/reading/duckdb.md", "sql", 1): f"{HERE}::test_statements_run_in_their_engine",
    ("docs/reading/http.md", "bash", 0): f"{HERE}::test_requests_are_answered",
    ("docs/reading/http.md", "bash", 1): f"{HERE}::test_requests_are_answered",
    ("docs/reading/http.md", "bash", 2): f"{HERE}::test_requests_are_answered",
    ("docs/reading/http.md", "python", 0): f"{HERE}::test_the_client_of_kusto_answers",
    ("docs/reading/http.md", "yaml", 0): f"{GRAFANA}::test_a_panel_shows_the_dashboards_time",
    ("docs/reading/http.md", "json", 0): f"{GRAFANA}::test_a_panel_shows_the_dashboards_time",
    **{
        ("docs/reading/notebooks.md", "python", n): f"{RECIPES}::test_the_examples_of_the_page_run"
        for n in range(5)
    },
    ("docs/reading/python.md", "yaml", 0): f"{HERE}::test_libraries_of_python_read",
    ("docs/reading/python.md", "python", 0): f"{HERE}::test_libraries_of_python_read",
    ("docs/reading/queries.md", "bash", 0): f"{HERE}::test_queries_run",
    **{
        ("docs/reading/recipes.md", "sql", n): f"{RECIPES}::test_recipes_give_what_the_records_say"
        for n in range(7)
    },
    (
        "docs/reading/recipes.md",
        "kql",
        0,
    ): f"{RECIPES}::test_recipes_in_kql_give_what_the_records_say",
    **{("docs/reading/spark.md", "python", n): f"{SPARK}::test_blocks_run" for n in range(3)},
    ("docs/reading/spark.md", "sql", 0): f"{HERE}::test_statements_run_in_their_engine",
    ("docs/reading/trino.md", "sql", 0): f"{HERE}::test_statements_run_in_trino",
}


def test_every_block_has_its_test() -> None:
    blocks = {(b.page, b.language, b.place) for page in pages() for b in blocks_of(page)}

    assert blocks == TESTS.keys()
    for test in set(TESTS.values()):
        path, _, name = test.partition("::")
        assert f"\ndef {name}(" in (ROOT / path).read_text(), test


def block(page: str, language: str, place: int = 0) -> str:
    """The text of a block."""
    (text,) = (b.text for b in blocks_of(page) if (b.language, b.place) == (language, place))
    return text


def statements(text: str) -> list[str]:
    """The statements of SQL in a block."""
    lines = (line.partition("--")[0].rstrip() for line in text.splitlines())
    return [one.strip() for one in "\n".join(lines).split(";") if one.strip()]


def run(meta_server: MetaServer, *arguments: str) -> None:
    """Run a command of ours, which must succeed."""
    # meta runs in this process, and would log to the same output.
    with capture_logs():
        done = CliRunner().invoke(app, [*arguments, "--meta-address", meta_server.address])
    assert done.exit_code == 0, f"{arguments}: {done.stderr}"


def at(gateway: GatewayServer, text: str) -> str:
    """A block with the address of a gateway under test."""
    return re.sub(r"http://127\.0\.0\.1:9580|https://segplane\.example\.com", gateway.server, text)


def test_the_client_of_readme_answers(segments: SegmentWriter, meta_server: MetaServer) -> None:
    segments.write(rows=2)
    text = block("README.md", "python", 1).replace("127.0.0.1:9500", meta_server.address)
    values: dict[str, Any] = {}

    exec(text.replace('"default"', '"web"'), values)  # noqa: S102 - the page's own text

    assert len(values["reply"].segments) == 1


def test_statements_of_the_first_page_run(segments: SegmentWriter, meta_server: MetaServer) -> None:
    segments.write(signals=SIGNALS)

    for statement in statements(block("docs/reading/README.md", "sql")):
        run(meta_server, "sql", "-c", statement)


def test_queries_run(segments: SegmentWriter, meta_server: MetaServer) -> None:
    segments.write(rows=2)
    lines = block("docs/reading/queries.md", "bash").splitlines()
    queries = [
        re.findall(r"'.*?'|\"[^\"]*\"", line)[0][1:-1]
        for line in lines
        if "'" in line or '"' in line
    ]

    for query in queries:
        run(meta_server, "query", query.replace("failures", "web"))

    assert len(queries) == len(lines) - 1  # the last one asks in a terminal: test_prompt


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_requests_are_answered(segments: SegmentWriter, gateway: GatewayServer) -> None:
    segments.write(rows=2)

    for place in range(3):
        text = at(gateway, block("docs/reading/http.md", "bash", place))
        # The gateway under test asks for no token.
        text = text.replace('-H "Authorization: Bearer $TOKEN"', "").replace("curl -s", "curl -sf")
        done = subprocess.run(["bash", "-ec", text], capture_output=True, text=True, check=False)
        assert done.returncode == 0, text + done.stderr
        assert done.stdout


def test_the_client_of_kusto_answers(segments: SegmentWriter, gateway: GatewayServer) -> None:
    segments.write(rows=3)
    text = at(gateway, block("docs/reading/http.md", "python"))
    # As the block says of an address without a token.
    text = re.sub(
        r"Kusto\w+\.with_\w+\(address, token\)", "KustoConnectionStringBuilder(address)", text
    )
    values: dict[str, Any] = {}

    exec(text, values)  # noqa: S102 - the page's own text

    assert len(values["frame"]) == 3
    values["client"].close()


DAFT = next(engine for engine in ENGINES if engine.kind == "daft")


@pytest.mark.long
@pytest.mark.parametrize(
    "library", ["pyiceberg", "polars", pytest.param("daft", marks=pytest.mark.readers)]
)
def test_libraries_of_python_read(
    segments: SegmentWriter, gateway: GatewayServer, tmp_path: Path, library: str
) -> None:
    python = sys.executable
    if library == "daft":
        DAFT.skip_if_missing()
        python = str(DAFT.python)
    segments.write(signals=SIGNALS)
    settings = at(gateway, block("docs/reading/python.md", "yaml"))
    (tmp_path / ".pyiceberg.yaml").write_text(settings)
    opening, *others = re.split(r"\n(?=import )", block("docs/reading/python.md", "python"))
    text = "\n".join([opening, *(one for one in others if library in one)])
    version = gateway.table().json["metadata"]["current-snapshot-id"]

    done = subprocess.run(
        [python, "-c", text.replace("@41", f"@{version}")],
        env={**os.environ, "PYICEBERG_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def documented(page: str, version: int) -> dict[str, str]:
    """The statements of a page that read, at a version that is there."""
    texts = [b.text for b in blocks_of(page) if b.language == "sql"]
    found = [one for text in texts for one in statements(text)]
    # What opens the catalog is in the settings that are printed for each engine.
    reading = [
        one for one in found if one.split()[0] in ("SELECT", "CREATE") and "ENGINE" not in one
    ]
    return {f"s{n}": one.replace("41", str(version)) for n, one in enumerate(reading)}


PAGES = {"duckdb": "duckdb.md", "clickhouse": "clickhouse.md", "spark": "spark.md"}


@pytest.mark.readers
@pytest.mark.parametrize(
    "engine", [e for e in ENGINES if e.kind in PAGES], ids=lambda engine: engine.name
)
def test_statements_run_in_their_engine(
    segments: SegmentWriter, gateway: GatewayServer, meta_settings: Settings, engine: Engine
) -> None:
    engine.skip_if_missing()
    segments.write(signals=SIGNALS)
    version = gateway.table().json["metadata"]["current-snapshot-id"]
    asked = documented(f"docs/reading/{PAGES[engine.kind]}", version)

    answers = engine.run(catalog_of(gateway, meta_settings), asked)

    assert len(asked) >= 3
    assert {asked[n]: a.get("error") for n, a in answers.items() if "rows" not in a} == {}


@pytest.mark.readers
def test_statements_run_in_trino(
    segments: SegmentWriter, gateway: GatewayServer, meta_settings: Settings, tmp_path: Path
) -> None:
    segments.write(signals=SIGNALS)
    version = gateway.table().json["metadata"]["current-snapshot-id"]
    server = TrinoServer(tmp_path / "trino", catalog_of(gateway, meta_settings))
    try:
        for statement in documented("docs/reading/trino.md", version).values():
            server.query(statement)
    finally:
        server.close()
