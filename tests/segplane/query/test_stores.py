"""`segplane query` over a dataset in a bucket."""

from dataclasses import replace

import pytest
from click.testing import CliRunner, Result

from meta import config
from segments.location import StoreLocation
from segments.signals import SIGNALS
from segplane.__main__ import app
from tests.segplane.query.conftest import QueryDriver
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.schemas import link_view
from tests.support.meta.segments import DAY, EPOCH

SCHEMES = {"versitygw": "s3://", "gcs": "gs://", "azure": "az://"}


@pytest.fixture
def meta_settings(
    meta_settings: config.Settings, provider: str, request: pytest.FixtureRequest
) -> config.Settings:
    location: StoreLocation = request.getfixturevalue(f"{provider}_location")
    return replace(meta_settings, location=location)


@pytest.mark.parametrize("provider", SCHEMES)
def test_a_bucket_is_asked_like_a_folder(
    segments: SegmentWriter, queries: QueryDriver, provider: str
) -> None:
    def run(*arguments: str) -> Result:
        environment = {"SEGPLANE_META_ADDRESS": queries.address}
        return CliRunner().invoke(app, list(arguments), env=environment)

    segments.write(signals=SIGNALS, format_version=1)
    segments.write(day=1, signals=("logs", "traces"))
    link_view(
        queries.client,
        segments.dataset,
        "spans",
        "where signal == 'traces' | project at = timestamp, what = name",
    )
    start = f"(datetime(1970-01-01) + {(EPOCH + DAY) // 1_000} * 1microsecond)"

    counts = run(
        "query", "web | summarize n = count() by signal | sort by signal asc", "--format", "csv"
    )
    by_sql = run("query", "SELECT count(*) AS n FROM spans", "--format", "csv")
    late = run("query", f"web | where timestamp >= {start} | count", "--explain")

    assert counts.stdout.endswith("signal,n\nlogs,40\nmetrics,20\ntraces,40\n")
    # The server of the test logs to the same output.
    assert by_sql.stdout.endswith("n\n40\n")
    assert "files       1 with 40 rows" in late.stdout
    assert SCHEMES[provider] in late.stdout
    assert "not on this machine" in late.stdout
