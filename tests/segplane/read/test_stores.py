"""Datasets in a bucket, and what importing the package takes."""

import subprocess
import sys
from dataclasses import replace

import duckdb
import pytest

from meta import config
from segments.location import StoreLocation
from segplane.read import OpenDataset
from tests.segplane.read.conftest import Open
from tests.support.gateway.segments import SegmentWriter
from tests.support.reading import rows_as_read, rows_as_written

URLS = {"s3": "s3://", "gcs": "gs://", "azure": "az://"}


@pytest.fixture(params=list(URLS))
def provider(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture
def meta_settings(
    meta_settings: config.Settings, provider: str, request: pytest.FixtureRequest
) -> config.Settings:
    location: StoreLocation = request.getfixturevalue(f"{provider}_location")
    return replace(meta_settings, location=location)


def test_a_bucket_is_read_like_a_folder(
    segments: SegmentWriter, opened: Open, provider: str
) -> None:
    segments.write(signals=("logs", "traces"), format_version=1)
    segments.write(day=1)

    web: OpenDataset = opened()

    assert rows_as_read(web.to_table()) == rows_as_written(segments.sections)
    assert web.files()[0].url.startswith(URLS[provider])
    logs = opened(signal="logs").duckdb(duckdb.connect())
    assert len(logs.fetchall()) == 40


def test_importing_needs_no_library_of_tables() -> None:
    blocked = ("pyarrow", "duckdb", "polars", "pandas", "numpy", "pyspark", "structlog", "boto3")
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({blocked!r}))\n"
        "import segplane.read\n"
        "try:\n"
        "    segplane.read.open_dataset('web', meta_address='127.0.0.1:1')\n"
        "except segplane.read.ReadError as error:\n"
        "    print(error)\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "meta does not answer at 127.0.0.1:1" in done.stdout
