"""Reads and changes of a dataset's settings."""

import inspect
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from segplane.cli.connection import usage
from segplane.cli.entry_changes import ExpectedVersion, refused_with_differences
from segplane.cli.messages import MetaClient, status_pb2
from segplane.cli.messages import operations_pb2 as pb
from segplane.cli.options import Dataset, dataset_id
from segplane.cli.output import Answer, Fact, facts, message_dict, size_text, time_text

if TYPE_CHECKING:
    from google.protobuf.duration_pb2 import Duration

_AGES = ("event_retention", "created_retention", "tombstone_grace")
_RETENTIONS = frozenset(_AGES[:2])


class SettingsChange:
    """A change of settings: what is given replaces what the dataset has, all else stays."""

    def __init__(self, client: MetaClient, name: str) -> None:
        self.client = client
        self._request = pb.GetDatasetSettingsRequest(dataset_id=dataset_id(client, name))
        self._before = client.operations.GetDatasetSettings(self._request)
        self.settings = pb.DatasetSettings()
        # Deletions by a shorter retention that are confirmed; None = none.
        self.confirm_deletes: int | None = None
        # Whether the deletions are only counted.
        self.dry_run = False

    def part(self, name: str) -> Any:
        """Return a message in the settings, which meta replaces as a whole."""
        if not self.settings.HasField(name):  # type: ignore[arg-type]
            getattr(self.settings, name).CopyFrom(getattr(self._before.settings, name))
        return getattr(self.settings, name)

    def set_fields(self, **values: object) -> None:
        """Set the given fields; `part__field` is a field of a part."""
        for name, value in values.items():
            part, _, field = name.rpartition("__")
            if value is not None:
                setattr(self.part(part) if part else self.settings, field, value)

    def set_ages(self, *ages: str | None) -> None:
        """Set the given lengths of time."""
        for field, age in zip(_AGES, ages, strict=True):
            if age is not None:
                getattr(self.settings, field).CopyFrom(duration(age))

    def send(self, expected_version: str | None = None) -> "pb.SetDatasetSettingsResponse":
        """Apply the change, if there is one; the reply has all settings."""
        before = self._before
        if not self.settings.ListFields() and self.confirm_deletes is None:
            return pb.SetDatasetSettingsResponse(settings=before.settings, version=before.version)
        request = pb.SetDatasetSettingsRequest(
            dataset_id=self._request.dataset_id,
            settings=self.settings,
            deletes_confirmed=self.confirm_deletes,
            expected_version=expected_version or before.version,
        )
        with refused_with_differences(before.settings, self._read):
            return self.client.operations.SetDatasetSettings(request)

    def preview(self) -> Answer:
        """Answer with what the retention would delete at once; nothing changes."""
        request = status_pb2.PreviewRetentionRequest(dataset_id=self._request.dataset_id)
        given = {field.name for field, _ in self.settings.ListFields()}
        if not given or given - _RETENTIONS or self.confirm_deletes is not None:
            raise usage(
                "--dry-run goes with --created-retention or --event-retention, nothing else"
            )
        for name in given:
            setattr(request, f"{name}_secs", getattr(self.settings, name).seconds)
        reply = self.client.status.PreviewRetention(request)
        return Answer(message_dict(reply), [_preview_line(reply)])

    def _read(self) -> "pb.DatasetSettings":
        return self.client.operations.GetDatasetSettings(self._request).settings


def settings_command(
    sets: Callable[..., None],
    answer: "Callable[[MetaClient, pb.SetDatasetSettingsResponse], Answer]",
) -> Callable[..., Answer]:
    """Return the command that shows some settings, and with options of `sets` changes them."""

    def run(client: MetaClient, name: str, expected_version: str | None, **options: Any) -> Answer:
        change = SettingsChange(client, name)
        sets(change, **options)
        if change.dry_run:
            return change.preview()
        return answer(client, change.send(expected_version))

    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*_KEYS, *options_of(sets), _EXPECTED], return_annotation=Answer
    )
    run.__doc__ = sets.__doc__
    return run


def options_of(sets: Callable[..., None]) -> list[inspect.Parameter]:
    """Return the options of a function that changes settings."""
    return list(inspect.signature(sets).parameters.values())[1:]


def _example(client: MetaClient, name: Dataset, expected_version: ExpectedVersion = None) -> None:
    """Give the other parameters of a command of settings."""


*_KEYS, _EXPECTED = inspect.signature(_example).parameters.values()


def _preview_line(reply: "status_pb2.PreviewRetentionResponse") -> str:
    if not reply.segments:
        return "the retention would delete nothing at once; nothing was changed"
    return (
        f"the retention would delete {reply.segments} segments ({size_text(reply.size_bytes)}) of"
        f" {reply.number_of_records} records at once, from {time_text(reply.first_nanos)} to"
        f" {time_text(reply.last_nanos)}; nothing was changed"
    )


def settings_answer(
    reply: "pb.SetDatasetSettingsResponse",
    fields: Iterable[str],
    texts: Iterable[Fact],
    lines: Iterable[str] = (),
) -> Answer:
    """Answer with some fields of the settings, the version of all, and the facts for a person."""
    data = message_dict(reply.settings)
    chosen = {field: data[field] for field in fields if field in data}
    notes = []
    if reply.unconfirmed_deletes:
        notes.append(
            f"{reply.unconfirmed_deletes} segments ({size_text(reply.unconfirmed_bytes)}) are older"
            " than the retention. If they are much of the dataset, the deletion brake holds them:"
            f" confirm with --confirm-deletes {reply.unconfirmed_deletes}"
        )
    return Answer(chosen | {"version": reply.version}, (*facts(texts), *lines), notes)


def duration(text: str) -> "Duration":
    """Read an age; 0 is none. Raises a usage error."""
    from google.protobuf.duration_pb2 import Duration

    from segplane.terminal.times import parse_age

    length = Duration()
    try:
        length.FromTimedelta(timedelta() if text == "0" else parse_age(text))
    except ValueError as error:
        raise usage(str(error)) from None
    return length


def seconds(age: str | None) -> int | None:
    """Read an age in seconds."""
    return None if age is None else duration(age).seconds
