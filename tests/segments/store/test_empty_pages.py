"""Listings of other clouds, whose pages may be empty although others follow."""

import json

import pytest

from segments.location import StoreLocation
from segments.store.bucket import BucketStore
from tests.support.object_store.clouds import ACCOUNT, ACCOUNT_KEY
from tests.support.object_store.faulty_proxy import Forward, ProxyAnswer, Request, running_proxy

_JSON, _XML = [("Content-Type", "application/json")], [("Content-Type", "application/xml")]
_PAGE = """<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs>{}</Blobs>
<NextMarker>{}</NextMarker></EnumerationResults>"""
_BLOB = """<Blob><Name>path/key</Name><Properties>
<Last-Modified>Sat, 28 Nov 2026 19:00:00 GMT</Last-Modified><Content-Length>1</Content-Length>
<BlobType>BlockBlob</BlobType></Properties></Blob>"""


def gcs_page(request: Request, _: Forward) -> ProxyAnswer:
    """Answer with an empty page, then with an object."""
    item = {"name": "path/key", "size": "1", "updated": "2026-11-28T19:00:00Z"}
    page = {"items": [item]} if "pageToken=" in request.target else {"nextPageToken": "next"}
    return ProxyAnswer(200, _JSON, json.dumps(page).encode())


def azure_page(request: Request, _: Forward) -> ProxyAnswer:
    """Answer with an empty page, then with a blob."""
    page = _PAGE.format(_BLOB, "") if "marker=" in request.target else _PAGE.format("", "next")
    return ProxyAnswer(200, _XML, page.encode())


@pytest.mark.parametrize("provider", ["gcs", "azure"])
def test_a_listing_goes_on_past_an_empty_page(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_KEY", ACCOUNT_KEY)
    with running_proxy("http://127.0.0.1:9") as server:
        server.fault = gcs_page if provider == "gcs" else azure_page
        scheme, path = ("gs", "") if provider == "gcs" else ("az", f"/{ACCOUNT}")
        url = f"{scheme}://bucket/path?endpoint={server.url}{path}"
        store = BucketStore(StoreLocation.from_url(url))

        assert [info.key for info in store.list("")] == ["key"]
