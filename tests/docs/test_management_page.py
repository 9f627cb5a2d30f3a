"""docs/management.md has every route of the table, and no other."""

import re

from segplane.gateway.management import routes
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "management.md").read_text()


def test_the_page_has_every_route_and_no_other() -> None:
    table = PAGE.partition("## Routes")[2].partition("\n\n- ")[0]
    documented = set()
    methods: list[str] = []
    for span in re.findall(r"`([^`]+)`", table):
        *words, last = span.split(" ")
        if last.startswith("/"):
            documented |= {f"{method} {last}" for method in (*methods, *words)}
            methods = []
        else:
            methods.append(last)

    assert documented == set(routes.table())
