"""Names that clients and scripts written for 0.2.0 or 0.3.0 import: each is where it was."""

import importlib
import importlib.util
from importlib.metadata import entry_points

import pytest

NAMES = {
    "meta.channel": "ClientTls",
    "meta.client": "MetaClient location refused_part typed_error",
    "meta.errors": """
        Code MetaError InvalidArgument CursorInvalid NotFound NameTaken KeyTaken
        OffsetTaken OffsetConflict RaceLost OffsetGap OffsetNotCommitted ExcessEvents
        StreamStopped StopMismatch NotDrained NothingToRepair RewriteUnfinished
        StillReferenced DatasetProtected UndeleteExpired ObjectCondemned VersionExpired
        TokenRevoked DeletionHeld TokenUnknown Unauthenticated RoleRefused QuotaExceeded
        ReplyTooLarge Overloaded Unavailable VersionNotReached Unimplemented
        DeadlineExceeded StatementTimeout
    """,
    "pyspark_segplane": "DefaultSource",
    "segplane.kql.errors": "KqlError",
    "segplane.kql.queries": "compile_projection compile_query compile_view",
    "segplane.kql.sql.relations": "to_sql",
    "segplane.read": """
        DEFAULT_ADDRESS DatasetFile MetaUnreachable OpenDataset OpenView PinLost
        ReadError open_dataset open_view
    """,
    "segplane.read.spark": "SegplaneSource register",
}
# What `python -m` runs.
PROGRAMS = (
    "collector",
    "janitor",
    "merge_worker",
    "meta",
    "nursery",
    "segplane",
    "segplane.gateway",
)


@pytest.mark.parametrize("module", NAMES)
def test_a_module_has_the_names_of_the_release_before(module: str) -> None:
    imported = importlib.import_module(module)

    assert [name for name in NAMES[module].split() if not hasattr(imported, name)] == []


@pytest.mark.parametrize("module", PROGRAMS)
def test_a_program_is_run_by_the_name_of_the_release_before(module: str) -> None:
    assert importlib.util.find_spec(f"{module}.__main__") is not None


def test_the_console_script_is_that_of_the_release_before() -> None:
    (script,) = entry_points(group="console_scripts", name="segplane")

    assert script.value == "segplane.__main__:main"
