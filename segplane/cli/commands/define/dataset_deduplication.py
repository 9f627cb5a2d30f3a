"""segplane datasets deduplication: duplicates by a column of the bound schema."""

from collections.abc import Iterator
from typing import Annotated, Literal

from segplane.cli.connection import usage
from segplane.cli.entry_changes import ExpectedVersion
from segplane.cli.messages import MetaClient, common_pb2
from segplane.cli.messages import operations_pb2 as pb
from segplane.cli.options import Dataset
from segplane.cli.output import Answer, Fact
from segplane.cli.parameters import Option
from segplane.cli.settings_of_datasets import SettingsChange, settings_answer

NO_COLUMN = "none"


def deduplication(
    client: MetaClient,
    name: Dataset,
    deduplicate_by: Annotated[str | None, Option(metavar="COLUMN")] = None,
    deduplicate_days: Annotated[int | None, Option(min=1, max=30, metavar="N")] = None,
    outside_window: Literal["keep", "refuse"] | None = None,
    claim_keys: bool = False,
    expected_version: ExpectedVersion = None,
    *,
    address: str,
) -> Answer:
    """Show how duplicates are recognised; with options, change that first.

    Options:
        deduplicate_by: Deduplicate log records by this column of the bound schema. Use none to turn
            it off.
        deduplicate_days: Days for which deduplication keys are kept, by the times of the records.
        outside_window: Treatment of records outside those days: keep makes them rows and forgets
            their keys; refuse has collectors reject them, and nurseries quarantine them.
        claim_keys: Instead, store the deduplication keys of existing rows, such as those from
            before the setting.
    """
    if claim_keys:
        from segplane.recovery.deduplication import claim_rows

        outcome = claim_rows(client, address, name)
        return Answer(outcome, [f"stored the keys of {outcome.claimed} of {outcome.rows} rows"])
    change = SettingsChange(client, name)
    is_off = deduplicate_by == NO_COLUMN
    if is_off:
        # Set, and empty.
        change.settings.deduplication.SetInParent()
    outside = outside_window and common_pb2.OutsideWindow.Value(
        f"OUTSIDE_WINDOW_{outside_window.upper()}"
    )
    change.set_fields(
        deduplication__column=None if is_off else deduplicate_by,
        deduplication__window_days=deduplicate_days,
        deduplication__outside_window=outside,
    )
    if (deduplicate_days or outside) and not change.settings.deduplication.column:
        raise usage("--deduplicate-days and --outside-window need --deduplicate-by COLUMN")
    reply = change.send(expected_version)
    fields = ("deduplication", "duplicates")
    return settings_answer(reply, fields, deduplication_facts(reply.settings))


def deduplication_facts(settings: "pb.DatasetSettings") -> Iterator[Fact]:
    """Yield what is set, and the number of duplicates."""
    deduplication = settings.deduplication
    if settings.HasField("deduplication"):
        yield "deduplication", f"by {deduplication.column}, for {deduplication.window_days} days"
    if deduplication.outside_window == common_pb2.OUTSIDE_WINDOW_REFUSE:
        yield "records outside the window", "refused"
    if settings.duplicates:
        yield "duplicates", settings.duplicates
