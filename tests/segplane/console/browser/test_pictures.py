"""Pictures of the console's pages for the documentation: `make screenshots` names their folder."""

import os
from pathlib import Path

import pytest

from tests.segplane.console.browser.conftest import OpenTab
from tests.segplane.console.browser.installation import Installation
from tests.segplane.console.browser.web_shop import HOUR, write_shop
from tests.support.gateway.segments import SegmentWriter

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif("SCREENSHOTS" not in os.environ, reason="make screenshots takes them"),
]

PAGES = {
    "datasets": "/ui/",
    "logs": f"/ui/logs?{HOUR}",
    "traces": f"/ui/traces?{HOUR}",
    "trace": f"/ui/traces/{11:032x}?dataset=web",
    "pipeline": "/ui/pipeline",
    "streams": "/ui/streams",
    "metrics": f"/ui/metrics?{HOUR}&name=http.requests&by=attributes.http.route",
    "query": "/ui/query?q=web+|+summarize+count()+by+signal,+service_name",
    "dataset": "/ui/dataset?dataset=orders",
    "versions": "/ui/dataset/versions?dataset=orders",
    "access": "/ui/access",
}
SIZE = {"width": 1200, "height": 760}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_have_their_pictures_taken(
    open_tab: OpenTab, segments: SegmentWriter, scheme: str
) -> None:
    write_shop(segments)
    reason = "checksum of ingest-stream/17.parquet is 1c291ca3, not 0"
    Installation.create(segments.client, "orders", reason, "merge-worker-1")
    folder = Path(os.environ["SCREENSHOTS"])
    folder.mkdir(parents=True, exist_ok=True)

    for name, path in PAGES.items():
        tab = open_tab(path, color_scheme=scheme, viewport=SIZE)
        tab.page.screenshot(path=folder / f"console-{name}-{scheme}.png")
        assert tab.complaints == []
