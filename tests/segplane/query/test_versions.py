"""Queries of other versions: by time, and with what is not merged yet."""

from datetime import UTC, datetime, timedelta

import pytest

from meta.v1 import catalog_pb2
from tests.segplane.query.conftest import QueryDriver
from tests.support.command_line import RunCommand
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.dataset_life import rename
from tests.support.meta.schemas import link_view
from tests.support.nursery.drivers import CollectorDriver


def test_a_query_reads_all_datasets_as_they_were_at_a_time(
    segments: SegmentWriter, queries: QueryDriver, run: RunCommand
) -> None:
    segments.write(rows=3)
    with queries.server.running.database.write() as tx:
        for table in ("segments", "datasets"):
            tx.exec_driver_sql(
                f"UPDATE {table} SET created_at = created_at - interval '1 hour'"  # noqa: S608
            )
    segments.write(rows=4)
    queries.client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="other"))
    then = datetime.now(UTC) - timedelta(minutes=30)

    assert queries.rows("web | count", as_of=then) == [(3,)]
    assert queries.rows("web | count", as_of=datetime.now(UTC)) == [(7,)]
    assert run("query", "web | count", "--as-of", "30m", "--format", "csv").stdout == "Count\n3\n"
    early = run("query", "web | count", "--as-of", "9h")
    assert early.exit_code == 1
    assert "the dataset did not exist yet at this time" in early.stderr


def test_a_query_at_a_time_takes_the_names_of_then(
    segments: SegmentWriter, queries: QueryDriver, run: RunCommand
) -> None:
    segments.write(rows=3)
    rename(queries.client, segments.dataset, "shop")
    with queries.server.running.database.write() as tx:
        for change in (
            "segments SET created_at = created_at - interval '2 hours'",
            "datasets SET created_at = created_at - interval '2 hours'",
            "dataset_visibility SET from_time = from_time - interval '1 hour'",
        ):
            tx.exec_driver_sql(f"UPDATE {change}")
    segments.write(rows=4)

    def counted(name: str, as_of: str) -> str:
        found = run("query", f"{name} | count", "--as-of", as_of, "--format", "csv")
        return found.stderr if found.exit_code else found.stdout

    assert counted("web", "90m") == counted("shop", "30m") == "Count\n3\n"
    assert counted("shop", "0s") == "Count\n7\n"
    assert "had another name" in counted("shop", "90m")
    assert "'web'" in counted("web", "30m")
    by_sql = run("query", "SELECT count(*) AS n FROM web", "--as-of", "90m", "--format", "csv")
    assert by_sql.stdout == "n\n3\n"
    found = run("segments", "find", "--dataset", "web", "--as-of", "90m", "--urls")
    assert len(found.stdout.splitlines()) == 1


def test_a_fresh_query_reads_what_is_not_merged(
    segments: SegmentWriter, queries: QueryDriver, run: RunCommand
) -> None:
    segments.write(rows=3)
    CollectorDriver(queries.client, segments.dataset).send("fresh one", "fresh two")

    merged = run("query", "web | count", "--format", "csv").stdout
    fresh = run(
        "query", "web | where body startswith 'fresh' | count", "--fresh", "--format", "csv"
    )
    by_sql = run("query", "SELECT count(*) AS n FROM web", "--fresh", "--format", "csv").stdout
    told = run("query", "web | count", "--fresh", "--explain").stdout

    assert (merged, fresh.stdout, by_sql) == ("Count\n3\n", "Count\n2\n", "n\n5\n")
    assert "fresh       1 baby segments with 2 rows at most" in told


def test_there_are_no_fresh_views(segments: SegmentWriter, run: RunCommand) -> None:
    segments.write(rows=3)
    link_view(segments.client, segments.dataset, "bodies", "project body")

    for text in ("bodies | count", "SELECT * FROM bodies", "union web, bodies | count"):
        refused = run("query", text, "--fresh")
        assert refused.exit_code == 1
        assert refused.stderr.startswith("error: there are no fresh views, and 'bodies' is one")
    assert run("query", "bodies | count", "--format", "csv").stdout.endswith("Count\n3\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--as-of", "soon"), "as_of: 'soon' is neither RFC 3339"),
        (("--as-of", "9" * 19), "which is not a version"),
        (("--as-of", "1", "--fresh"), "exclude one another"),
        (("--as-of", "-5"), "as_of: '-5' is neither RFC 3339"),
    ],
)
def test_wrong_versions_are_refused(
    run: RunCommand, arguments: tuple[str, ...], message: str
) -> None:
    refused = run("query", "web | count", *arguments)

    assert message in refused.stderr
    assert refused.exit_code == 2
