"""A query whose meta or store cannot be reached ends with one line that says what to do."""

import shutil
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from meta import config
from segments.location import StoreLocation
from segplane.__main__ import app
from tests.segplane.query.conftest import QueryDriver
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import Writer, segment_of

QUERIES = ("web | where body != '' | count", "SELECT count(body) FROM web")
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}


@pytest.fixture
def nobody() -> Iterator[str]:
    """Give an address that refuses connections: its port is taken, and nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def ask(address: str, text: str) -> Result:
    environment = ENVIRONMENT | {"SEGPLANE_META_ADDRESS": address}
    return CliRunner().invoke(app, ["query", text], env=environment)


def error_line(refused: Result) -> str:
    """Return the one line of a refusal; what the meta of the test logs is on another stream."""
    (line,) = refused.stderr.splitlines()
    assert "Traceback" not in refused.output
    assert isinstance(refused.exception, SystemExit)
    return str(line)


def test_without_meta_the_line_says_how_to_start_it(nobody: str) -> None:
    refused = ask(nobody, QUERIES[0])

    assert refused.exit_code == 3
    assert error_line(refused) == (
        f"error: meta does not answer at {nobody}: start it with `segplane dev`,"
        " or set SEGPLANE_META_ADDRESS (UNAVAILABLE)"
    )


@pytest.mark.parametrize("text", QUERIES)
def test_without_the_folder_the_line_says_to_mount_it(
    segments: SegmentWriter, queries: QueryDriver, text: str
) -> None:
    segments.write(rows=2)
    folder = Path("/", queries.server.settings.location.path)
    shutil.rmtree(folder)

    refused = ask(queries.address, text)

    assert refused.exit_code == 1
    line = error_line(refused)
    assert line.startswith(f"error: the object store has no {folder}/dataset/")
    assert line.endswith(
        "check that its folder is mounted on this machine, then look for damage with"
        " `segplane fsck`"
    )


class TestWithoutBucket:
    """A store of S3 where nothing listens."""

    @pytest.fixture
    def meta_settings(self, meta_settings: config.Settings, nobody: str) -> config.Settings:
        """A bucket at an endpoint where nothing listens."""
        location = StoreLocation.from_url(f"s3://bucket/path?endpoint=http://{nobody}&region=eu-1")
        return replace(meta_settings, location=location)

    @pytest.mark.long
    def test_the_line_says_to_check_the_endpoint(self, queries: QueryDriver) -> None:
        dataset = CatalogDriver(queries.client).dataset("web")
        Writer(queries.client).save(segment_of(dataset))

        for text in QUERIES:
            refused = ask(queries.address, text)

            assert refused.exit_code == 1
            assert error_line(refused) == (
                "error: the object store does not answer (Could not connect to server): ask again,"
                " or check that it runs and that this machine reaches its endpoint"
            )
