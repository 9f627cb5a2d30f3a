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
        ("gs://bucket/a/b", StoreLocation("gcs", "", "bucket", "", "a/b")),
        (
            "gs://bucket?endpoint=http://localhost:4443",
            StoreLocation("gcs", "http://localhost:4443", "bucket", "", ""),
        ),
        (
            "az://container/a?account=logs1",
            StoreLocation("azure", "https://logs1.blob.core.windows.net", "container", "", "a"),
        ),
        (
            "az://container?endpoint=http://localhost:10000/account",
            StoreLocation("azure", "http://localhost:10000/account", "container", "", ""),
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
        "gs://",
        "gs://bucket?region=x",
        "az://container",
        "az://container?account=x&endpoint=http://host",
        "az://container?account=Upper",
        "ftp://host/path",
        "http://[",
    ],
)
def test_a_url_that_names_no_store_is_refused(url: str) -> None:
    with pytest.raises(ValueError):
        StoreLocation.from_url(url)


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("file:///a/b", "file:///a/b"),
        ("s3://bucket/a?endpoint=http://localhost:9000", "s3://bucket/a"),
        ("gs://bucket", "gs://bucket"),
        ("az://box/a?account=logs1", "abfss://box@logs1.dfs.core.windows.net/a"),
        ("az://box/a?endpoint=http://localhost:10000/account", "az://box/a"),
    ],
)
def test_the_root_is_as_query_engines_write_it(url: str, root: str) -> None:
    assert StoreLocation.from_url(url).root == root
