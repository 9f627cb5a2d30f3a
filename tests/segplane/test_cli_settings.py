"""The settings of a dataset on the command line, a group at a time."""

import json

import pytest

from tests.support.command_line import RunCommand


def test_settings_are_changed_one_by_one_and_shown(run: RunCommand) -> None:
    run("datasets", "create", "checkout")

    promoted = "status:int:record:http.status_code"
    run("datasets", "retention", "checkout", "--event-retention", "30d")
    run("datasets", "columns", "checkout", "--promote", promoted)
    run("datasets", "limits", "checkout", "--records-per-month", "1000")
    run("datasets", "limits", "checkout", "--event-age-max", "7d", "--memory-bytes", "5000")
    run("datasets", "limits", "checkout", "--memory-bytes", "0")
    shown = json.loads(run("datasets", "settings", "checkout", "--json").stdout)
    limits = json.loads(run("datasets", "limits", "checkout", "--json").stdout)

    assert "event_retention" not in limits
    assert limits.items() <= shown.items()
    assert shown["event_retention"] == f"{30 * 86400}s"
    assert shown["records_per_month"] == "1000"
    assert shown["ingest_limits"]["event_age_max_secs"] == str(7 * 86400)
    assert shown["ingest_limits"]["memory_bytes"] == "0"
    assert [c["attribute"] for c in shown["promoted_columns"]["columns"]] == ["http.status_code"]
    last = run("datasets", "settings", "checkout", "--event-retention", "0", "--promote-none")
    assert last.stderr.startswith("warning: `segplane datasets settings` is now `segplane datasets")
    assert last.stdout == (
        "event retention     -\ncreated retention   -\ngrace               -\n"
        "records a month     1000\nevent_age_max_secs  604800\n"
    )


@pytest.mark.one_meta
@pytest.mark.parametrize(
    ("group", "arguments", "complaint"),
    [
        ("retention", ("--grace", "soon"), "'soon' is not an age such as 90m or 7d"),
        ("retention", ("--grace", "99999999999w"), "'99999999999w' is too long an age"),
        ("columns", ("--promote", "status"), "'status' is not COLUMN:TYPE:SCOPE:ATTRIBUTE"),
        (
            "columns",
            ("--promote", "a:text:record:b"),
            "'a:text:record:b': TYPE is one of bool, int",
        ),
        (
            "columns",
            ("--promote", "a:int:record:b", "--promote-none"),
            "--promote and --promote-none exclude",
        ),
        ("columns", ("--schema-version", "2"), "--schema-version and --read need --schema"),
        ("deduplication", ("--deduplicate-days", "2"), "--deduplicate-days and --outside-window"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_one_line(
    run: RunCommand, group: str, arguments: tuple[str, ...], complaint: str
) -> None:
    done = run("datasets", group, "default", *arguments)

    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {complaint}")
