"""Templates of the console: addresses below the path of a public URL, macros, escaping."""

import re

from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import Viewer
from segplane.gateway.http.callers import Caller
from segplane.gateway.http.refusals import NotThere

VIEWER = Viewer(Caller("gateway"), '="/ui/<b>', uses_gateway_rights=True, form_token="token")


def refusal(templates: Templates, message: str) -> str:
    page = templates.page("refused.html", 404, refusal=NotThere(message), viewer=VIEWER)
    return bytes(page.body).decode()


def test_each_address_of_a_page_is_below_the_path_of_the_public_url() -> None:
    html = refusal(Templates("/telemetry"), "no such page")

    addresses = re.findall(r'(?:href|src|action)="([^"#][^"]*)"', html)
    assert len(addresses) > 6
    assert [address for address in addresses if not address.startswith("/telemetry/ui/")] == []


def test_data_that_looks_like_an_address_stays_as_it_is() -> None:
    html = refusal(Templates("/telemetry"), 'the text ="/ui/logs"')

    assert "the text =&#34;/ui/logs&#34;" in html
    assert "=&#34;/ui/&lt;b&gt;" in html


def test_a_viewer_s_name_and_a_title_show_what_is_invisible_in_them() -> None:
    viewer = Viewer(Caller("ann"), "ann\u202e")
    page = Templates().page("empty.html", dataset="web\u202e", address="/ui/", viewer=viewer)
    html = bytes(page.body).decode()

    assert "ann\u202e" not in html
    assert '<span title="annU+202E">ann<span class="invisible"' in html
    assert "<title>No data yet: webU+202E - Segplane</title>" in html


def test_a_page_names_the_rights_and_offers_to_log_out() -> None:
    html = refusal(Templates(), "no")

    assert (
        "reads with the gateway&#39;s rights" in html or "reads with the gateway's rights" in html
    )
    assert 'action="/ui/logout"' in html
    assert 'name="form_token" value="token"' in html
