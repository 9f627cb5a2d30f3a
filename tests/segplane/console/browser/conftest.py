"""A browser for the session, and a tab for each test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.segplane.console.conftest import console, meta_server, query_pool, segments
from tests.support.browser.chromium import Tab, chromium
from tests.support.gateway.server import GatewayServer

__all__ = ["console", "meta_server", "query_pool", "segments"]

# Opens a tab at a path of the console; options are those of a browser context.
OpenTab = Callable[..., Tab]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture
def open_tab(browser: Any, console: GatewayServer) -> Iterator[OpenTab]:
    with ExitStack() as contexts:

        def open_at(path: str, **options: Any) -> Tab:
            context = browser.new_context(**options)
            contexts.callback(context.close)
            tab = Tab(context.new_page())
            tab.page.goto(f"{console.server}{path}")
            # Parts of the page are asked for before its event `load`.
            tab.page.locator(".htmx-request").wait_for(state="detached")
            return tab

        yield open_at
