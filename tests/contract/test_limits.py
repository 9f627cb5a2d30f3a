"""Every limit of docs/contract.md, at it and one beyond."""

import ast
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import grpc
import psycopg
import pytest
from google.protobuf.descriptor import Descriptor
from google.rpc.error_details_pb2 import ErrorInfo
from grpc_status import rpc_status
from psycopg import sql

from meta import config
from meta.client import MetaClient
from meta.client.failures import BY_REASON
from meta.errors import MetaError
from meta.process.environment import Environment
from meta.server import server
from segplane.stack.postgres import EmbeddedPostgres
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.limits.automatic import AUTOMATIC
from tests.support.meta.limits.documented import documented
from tests.support.meta.limits.lists import LISTS
from tests.support.meta.limits.pages import PAGES
from tests.support.meta.limits.requests import REQUESTS
from tests.support.meta.limits.resources import RESOURCES
from tests.support.meta.limits.tables import TABLES
from tests.support.meta.limits.world import Case, World
from tests.support.meta.methods import METHODS

TESTS = Path(__file__).parents[1]
CASES: dict[str, Case] = REQUESTS | LISTS | AUTOMATIC | PAGES | TABLES | RESOURCES
# Limits that need more than a call, and the tests that show them.
ELSEWHERE = {
    "datasets of `VacuumDatasets`": [
        "meta/test_vacuums.py::test_datasets_come_in_pages_and_the_last_hands_the_vacuum_over"
    ],
    "backups that have not ended": ["meta/test_backups.py::test_refusals_and_repetitions"],
    "vacuums that are not finished": ["meta/test_vacuums.py::test_one_vacuum_more_is_refused"],
    "groups of datasets": [
        "meta/test_group_life.py::test_one_group_more_than_the_limit_is_refused"
    ],
    "tenants": ["meta/test_tenants.py::test_one_tenant_more_than_the_limit_is_refused"],
    "checked links of the datasets that follow a schema whose columns get new names": [
        "meta/test_renamed_column_users.py::test_links_that_are_checked_again_are_bounded"
    ],
    "creators with quotas, the default among them": [
        "meta/test_creator_quotas.py::test_one_creator_more_than_may_have_quotas_is_refused"
    ],
    "valid access tokens of one tenant": ["meta/test_access.py::test_tokens_are_limited"],
    "valid access tokens of all tenants": [
        "meta/test_tenant_tokens.py::test_tokens_are_limited_in_each_tenant_and_in_all"
    ],
    "outputs of `CompleteSegmentMergeTask`": [
        "meta/test_merge_outputs.py::"
        "test_as_many_outputs_as_allowed_are_accepted_and_one_more_is_not"
    ],
    "`GetOffsetsAt` without pages: streams": [
        "meta/test_reply_pages.py::test_offsets_at_the_limit_come_in_one_reply",
        "meta/test_reply_pages.py::test_offsets_at_a_version_come_in_pages",
    ],
    "`ListUnmergedBabies`: streams": [
        "meta/test_unmerged_babies.py::test_one_stream_more_than_a_cursor_holds_is_refused"
    ],
    "`ListUnmergedBabies`: routing of unstamped baby segments, of a page": [
        "meta/test_unmerged_babies_routing.py::test_one_period_more_than_a_page_holds_is_refused"
    ],
    "`DatasetSettings.deduplication.window_days`": [
        "segplane/test_events_once.py::test_the_column_of_the_identity_stays_while_it_is_one"
    ],
    "characters of `DatasetSettings.foreign_files.time_column`": [
        "meta/test_unread_segments.py::test_a_time_column_has_a_length"
    ],
    "characters of `SetSegmentFacts.segments.foreign.reason`": [
        "meta/test_unread_segments.py::test_a_reason_has_a_length"
    ],
    "`SetDatasetSettings.settings.binding.attributes`": [
        "meta/test_schema_bindings.py::test_a_thousand_columns_can_be_bound"
    ],
    "datasets that follow the newest version of one schema": [
        "meta/test_schema_versions.py::test_a_schema_is_followed_by_a_bounded_number_of_datasets"
    ],
    "versions of a schema": [
        "meta/test_schema_versions.py::test_a_schema_has_a_bounded_number_of_versions"
    ],
    "datasets whose times to visibility are counted": [
        "meta/test_visibility_counts.py::"
        "test_the_datasets_with_most_bytes_are_measured_and_stay_for_a_while"
    ],
    "streams that `ListFreshness` looks at": [
        "meta/test_freshness_bounds.py::test_more_streams_than_the_bound_are_counted"
    ],
    "stamps of the baby segments that `ListFreshness` looks at": [
        "meta/test_freshness_bounds.py::"
        "test_a_stream_is_looked_at_up_to_the_bound_and_one_dataset_further"
    ],
    "baby segments that `ListFreshness` looks at for one dataset": [
        "meta/test_freshness_bounds.py::test_one_dataset_is_looked_at_up_to_its_bound"
    ],
    "streams with a backlog that `GetPipelineSummary` looks at": [
        "meta/test_pipeline_summary.py::test_more_than_a_bound_is_marked"
    ],
    "baby segments that `GetPipelineSummary` looks at": [
        "meta/test_pipeline_summary.py::test_more_than_a_bound_is_marked"
    ],
    "merge tasks, and tombstoned segments, that `GetPipelineSummary` looks at": [
        "meta/test_pipeline_summary.py::test_more_than_a_bound_is_marked"
    ],
    "`DownloadConfig.report.checks`": [
        "meta/test_processes.py::test_a_report_beyond_its_bounds_is_dropped_and_the_call_answered"
    ],
    "bytes of `DownloadConfig.report`": [
        "meta/test_processes.py::test_a_report_beyond_its_bounds_is_dropped_and_the_call_answered"
    ],
    "live datasets": ["meta/test_installation_limits.py::test_one_dataset_more_is_refused"],
    "ingest tokens": ["meta/test_installation_limits.py::test_one_token_more_is_refused"],
    "entries, and tokens, of a stream that takes baby segments without stamps": [
        "meta/test_unstamped_commits.py::"
        "test_a_baby_without_stamps_is_refused_on_a_stream_with_more_entries_than_a_page"
    ],
    "removals since `since_seq`": [
        "meta/test_reply_pages.py::test_more_removals_than_fit_are_forgotten"
    ],
}
# Repeated fields of requests whose rows have other names.
ROW_OF_FIELD = {
    "CommitOffset.dataset_ids": "`CommitOffset.dataset_ids`, and as many `dataset_records`",
    "CommitOffset.dataset_records": "`CommitOffset.dataset_ids`, and as many `dataset_records`",
    "SetDatasetSettings.settings.promoted_columns.columns": (
        "`SetDatasetSettings.settings.promoted_columns.columns` beside those of the schema"
    ),
    "SetDatasetSettings.settings.automatic_columns.columns": (
        "written columns of `SetDatasetSettings.settings.automatic_columns.columns`"
    ),
    "UpdateSchema.add_columns": (
        "`UpdateSchema.add_columns`, and the columns that the schema has then"
    ),
    "GetIngestStreamsForNursery.shard_indexes": (
        "`GetIngestStreamsForNursery.shard_count`, and the number of `shard_indexes`"
    ),
    "ClaimEvents.deduplication_keys.days": "deduplication keys of a registration",
    "CompleteReplay.deduplication_keys.days": "deduplication keys of a registration",
    "RegisterMergedSegment.deduplication_keys.days": "deduplication keys of a registration",
    "RegisterMergedSegments.registrations.deduplication_keys.days": (
        "deduplication keys of a registration"
    ),
    "SaveSegments.deduplication_keys.days": "deduplication keys of a registration",
    "StageDeduplicationKeys.days": "deduplication keys of a registration",
    "RegisterMergedSegment.more_segments": "segments of `RegisterMergedSegment`",
    "RegisterMergedSegments.registrations.more_segments": (
        "segments of all registrations of `RegisterMergedSegments`"
    ),
    "RegisterMergedSegments.registrations.stream_offsets": (
        "`stream_offsets` of all registrations of `RegisterMergedSegments`"
    ),
    # At most one for each of the offsets.
    "RegisterMergedSegment.quarantined": "`RegisterMergedSegment.stream_offsets`",
    "RegisterMergedSegments.registrations.quarantined": (
        "`stream_offsets` of all registrations of `RegisterMergedSegments`"
    ),
    "CompleteSegmentMergeTask.more_segments": "outputs of `CompleteSegmentMergeTask`",
}
COUNTS, LEFT = "counts as the limit", {"left for the next call", "omitted"}


LIMITS = documented()


@pytest.fixture(scope="module")
def world(postgres: EmbeddedPostgres, template_database: str) -> Iterator[World]:
    """Run one server for all rows: no case counts what another one leaves."""
    name = f"limits_{uuid4().hex}"
    names = [sql.Identifier(part) for part in (name, template_database)]
    with closing(psycopg.connect(postgres.url, autocommit=True)) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY").format(*names))
        running = server.start(settings_of(postgres.url_of(name)))
        try:
            with MetaClient(f"127.0.0.1:{running.port}") as client:
                catalog = CatalogDriver(client)
                dataset = catalog.dataset("web")
                yield World(client, running.database, dataset, catalog.token(dataset))
        finally:
            running.stop(2.0)
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(names[0]))


def settings_of(url: str) -> config.Settings:
    values = {
        "META_BIND": "127.0.0.1:0",
        "META_DATABASE_URL": url,
        "META_OBJECT_STORE_URL": "file:///objects",
        "META_THREADS": "8",
    }
    settings = config.load(Environment("META_", values))
    # Calls of the longest lists may take long on a busy machine.
    return replace(settings, database=replace(settings.database, statement_timeout_ms=120_000))


def refused(world: World, case: Case, count: int) -> tuple[str, str]:
    """Call beyond a limit; returns the status and the reason of the refusal."""
    try:
        case(world, count)
    except MetaError as error:
        return error.code.name, error.reason
    except grpc.RpcError as error:
        # Of a call that our client does not translate: bytes, or a stream of requests.
        status = rpc_status.from_call(error)
        info = ErrorInfo()
        if status is not None:
            status.details[0].Unpack(info)
        return error.code().name, info.reason
    return "OK", ""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [name for name in LIMITS if name in CASES])
def test_a_limit_holds_at_it_and_one_beyond(world: World, name: str) -> None:
    limit, case = LIMITS[name], CASES[name]

    if limit.beyond == COUNTS or limit.beyond in LEFT:
        assert [case(world, limit.most), case(world, limit.most + 1)] == [limit.most] * 2
        return
    case(world, limit.most)
    status, reason = refused(world, case, limit.most + 1)

    if limit.beyond.startswith("`"):
        assert reason == limit.beyond.strip("`")
        assert status == BY_REASON[reason].code.name
    else:
        assert (status, reason) == (limit.beyond.split(" ")[0], "")


def test_every_documented_limit_has_a_test_and_the_other_way_round() -> None:
    assert len(LIMITS) > 50
    assert set(LIMITS) == {*CASES, *ELSEWHERE}
    for path, _, function in (
        test.partition("::") for tests in ELSEWHERE.values() for test in tests
    ):
        tree = ast.parse((TESTS / path).read_text())
        names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert function in names, f"{path} has no {function}"


def test_every_repeated_field_of_a_request_has_a_limit() -> None:
    fields = {
        f"{method.name}.{path}"
        for method in METHODS
        for path in repeated(method.input_type)
        # The same for every segment that a request describes.
        if "facts." not in path
    }

    rows = {field: ROW_OF_FIELD.get(field, f"`{field}`") for field in fields}

    assert {field for field, row in rows.items() if row not in LIMITS} == set()
    assert set(ROW_OF_FIELD) <= fields


def repeated(message: Descriptor, at: str = "") -> Iterator[str]:
    for field in message.fields:
        if field.is_repeated:
            yield at + field.name
        if field.message_type and field.message_type.file.package.startswith("meta."):
            yield from repeated(field.message_type, f"{at}{field.name}.")
