"""Store locations: parsed from URLs and written back."""

import pytest

from segments.location import StoreLocation


@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("file:///var/lib/x", StoreLocation("file", "", "", "", "var/lib/x")),
        ("file:///with%20space/é/", StoreLocation("file", "", "", "", "with space/é")),
        ("s3://bucket", StoreLocation("s3", "", "bucket", "", "")),
        ("s3://bucket/a/b/", StoreLocation("s3", "", "bucket", "", "a/b")),
        (
            "s3://bucket/a?endpoint=http://localhost:9000&region=eu-1",
            StoreLocation("s3", "http://localhost:9000", "bucket", "eu-1", "a"),
        ),
    ],
)
def test_a_location_parses_from_its_url_and_back(url: str, location: StoreLocation) -> None:
    assert StoreLocation.from_url(url) == location
    assert StoreLocation.from_url(location.url()) == location


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/var/lib",
        "file://",
        "file:///",
        "file://relative/dir",
        "file:///a/../b",
        "file:///a?x=1",
        "s3://",
        "s3:///path",
        "s3://user:secret@bucket/path",
        "s3://bucket/a//b",
        "s3://bucket?endpoint=localhost:9000",
        "s3://bucket?endpoint=http://u:p@host",
        "s3://bucket?region=a&region=b",
        "s3://bucket?secret=x",
        "s3://bucket#x",
        "gs://bucket",
        "http://[",
    ],
)
def test_a_url_that_names_no_store_is_refused(url: str) -> None:
    with pytest.raises(ValueError):
        StoreLocation.from_url(url)
