"""The page about access: tokens by subject, denied calls, and changes with their differences."""

from meta.v1 import operations_pb2 as pb
from segplane.gateway.console.operate.access import RECORDS_ROWS, ChangedField, shown_change
from tests.segplane.console.test_logs import opened
from tests.support.gateway.html import HtmlPage
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer

HOSTILE = "<script>alert(1)</script>"


def rows(page: HtmlPage, text: str) -> list[str]:
    return [row.text for row in page.all("tr") if text in row.text]


def create(server: MetaServer, subject: str, role: str) -> pb.CreateAccessTokenResponse:
    request = pb.CreateAccessTokenRequest(subject=subject, role=role)
    return server.client.operations.CreateAccessToken(request)


def test_subjects_have_their_roles_and_tokens_without_secrets(
    console: GatewayServer, meta_server: MetaServer
) -> None:
    first = create(meta_server, HOSTILE, "reader")
    second = create(meta_server, HOSTILE, "operator-read")
    revoked = pb.RevokeAccessTokenRequest(token_id=first.token.id)
    meta_server.client.operations.RevokeAccessToken(revoked)

    page = opened(console, "ui/access")

    valid, ended = rows(page, "…")
    assert valid.startswith(
        f"{HOSTILE} operator-read …{second.token.token_hint} operator-read valid all "
    )
    assert ended.startswith(f"…{first.token.token_hint} reader revoked all ")
    assert first.plaintext_token not in page.text
    assert "No call was denied." in page.text


def test_changes_have_the_fields_that_differ_and_lead_to_those_of_their_entry(
    console: GatewayServer, meta_server: MetaServer
) -> None:
    dataset = CatalogDriver(meta_server.client).dataset("orders")
    for seconds in (60, 120):
        settings = pb.DatasetSettings()
        settings.event_retention.seconds = seconds
        request = pb.SetDatasetSettingsRequest(dataset_id=dataset, settings=settings)
        meta_server.client.operations.SetDatasetSettings(request)

    page = opened(console, "ui/access?call=SetDatasetSettings")

    newest, oldest = rows(page, "SetDatasetSettings")
    assert "60" in newest
    assert "120" in newest
    assert "60" in oldest
    assert page.all("del")
    assert page.all("ins")
    assert "Subjects" not in [heading.text for heading in page.all("h2")]
    of_entry = opened(console, page.link(dataset))
    assert rows(of_entry, "CreateDataset")
    assert "No change fits" in opened(console, "ui/access?principal=nobody").text


def test_changes_come_in_pages(console: GatewayServer, meta_server: MetaServer) -> None:
    catalog = CatalogDriver(meta_server.client)
    for number in range(RECORDS_ROWS + 1):
        catalog.dataset(f"d{number:03}")

    first = opened(console, "ui/access?call=CreateDataset")
    second = opened(console, first.link("Older"))

    assert len(rows(first, "CreateDataset")) == RECORDS_ROWS
    assert rows(second, "CreateDataset")
    assert not {*rows(first, "CreateDataset")} & {*rows(second, "CreateDataset")}
    for wrong in ("before=-1", "before=x", f"principal={'x' * 256}"):
        opened(console, f"ui/access?{wrong}", 400)


def test_a_detail_is_read_as_differences_only_if_it_is_both_states() -> None:
    def fields(detail: str) -> list[ChangedField]:
        return list(shown_change(pb.AuditRecord(detail=detail)).fields)

    assert fields('{"before": {"a": 1, "b": 2}, "after": {"a": 1, "b": [3]}}') == [
        ChangedField("b", "2", "[3]")
    ]
    assert fields('{"before": null, "after": {"a": "x"}}') == [ChangedField("a", "", "x")]
    assert fields('{"before": 1, "after": 2}') == [ChangedField("", "1", "2")]
    for text in ("role reader", '{"after": 1}', "[" * 100_000, "", '"x"'):
        assert shown_change(pb.AuditRecord(detail=text)).text == text
    cut = shown_change(pb.AuditRecord(detail='{"before": {}, "after": {}, "shortened": true}'))
    assert cut.is_shortened
