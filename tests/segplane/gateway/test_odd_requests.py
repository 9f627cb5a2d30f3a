"""Odd requests about datasets, and for queries, are refused with what is wrong."""

from typing import Any

import pytest

from segplane.gateway.http.refusals import QueryRefusal
from segplane.gateway.management.dataset_asks import asked_schema, asked_to_keep_files
from segplane.gateway.queries.requests import asked_query
from tests.support.gateway.server import GatewayServer


@pytest.mark.parametrize("column", ["\ud800", ""])
def test_a_column_without_a_text_is_refused(column: str) -> None:
    with pytest.raises(QueryRefusal, match=r"is not text with characters|is not valid Unicode"):
        asked_schema({"name": "order", "attributes": {column: {"attribute": "x"}}})


@pytest.mark.parametrize("format_", [[], {}, 7, None])
def test_a_format_that_is_not_a_text_is_refused(format_: Any) -> None:
    with pytest.raises(QueryRefusal, match="expected one of json, csv, arrow"):
        asked_query({"query": "web | count", "format": format_})


def test_files_are_kept_or_deleted_by_one_word_alone() -> None:
    """Of two contradicting words neither may delete them."""
    assert asked_to_keep_files(["true"])
    assert not asked_to_keep_files([])
    for other in ("true", "false"):
        with pytest.raises(QueryRefusal, match="more than once"):
            asked_to_keep_files(["true", other])


def test_the_message_of_a_refusal_names_its_field_once(gateway: GatewayServer) -> None:
    refused = gateway.send("POST", "v1/datasets", {"name": "a\0b"})

    assert refused.status == 400
    assert refused.message == "name holds a control character (INVALID_ARGUMENT)"
    twice = gateway.send("DELETE", "v1/datasets/default?keep_files=true&keep_files=false")
    assert (twice.status, twice.message) == (400, "keep_files is there more than once")
