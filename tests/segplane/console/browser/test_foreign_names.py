"""A name of somebody else that leads to this machine gets nothing of the console."""

import pytest

from tests.segplane.console.browser.conftest import OpenTab
from tests.support.browser.chromium import FOREIGN_NAME
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer

pytestmark = pytest.mark.browser

_FETCH = """address => fetch(address).then(answer => answer.text(), error => error.name)"""


def test_a_foreign_name_that_resolves_to_this_machine_gets_nothing(
    open_tab: OpenTab, console: GatewayServer, segments: SegmentWriter
) -> None:
    page = open_tab("/ui/").page
    assert "web" in page.inner_text("main")

    for path in ("ui/", "v1/datasets", "ui/logs?dataset=web"):
        answer = page.goto(f"http://{FOREIGN_NAME}:{console.port}/{path}")
        assert answer is not None
        assert (answer.status, "web" in answer.text()) == (421, False)
    assert page.evaluate(_FETCH, f"{console.server}/ui/") == "TypeError"
