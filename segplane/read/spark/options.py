"""Options of `format("segplane")`."""

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches

from meta.client import MetaClient
from segplane.read.bounds import TimeBounds, time_bounds
from segplane.read.connection import connect
from segplane.read.errors import ReadError

LEASE_SECS = 3_600
PARTITION_BYTES = 64 * 1024 * 1024
FILES_PER_TRIGGER = 1_000
_NUMBERS_MAX = 2**62
_NO_EFFECT = "pushFilters has no effect any more: narrow a read by start, end and signal"
# Data frames of opened datasets have the number of these.
_ADJUST_TIME = re.compile(r"true|false|-?\d{1,18}ns")


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Options of a reader; names in Spark are the fields' in camel case.

    `start` and `end` are event times, `columns` a list with commas, `version` the one to read.
    Streams begin with `starting_version`: a number is the first version whose records are read.
    """

    # Empty for a view.
    dataset: str = ""
    view: str | None = None
    signal: str | None = None
    start: str | None = None
    end: str | None = None
    columns: str | None = None
    version: int | None = None
    starting_version: str | None = None
    max_files_per_trigger: int | None = None
    max_bytes_per_trigger: int | None = None
    partition_bytes: int = PARTITION_BYTES
    lease_secs: int = LEASE_SECS
    # Files that Spark's own reader cannot read, alone.
    converted_only: bool = False
    # Of 0.3.0, without an effect: a frame that was filtered twice lost rows.
    push_filters: bool = False
    # The dataset's time adjustment is added to the times of records: "true", or in nanoseconds.
    adjust_time: str = "false"
    meta_address: str | None = None
    token: str | None = None
    ca: str | None = None
    # Of the dataset or view; None = the only one of the token, or `default`.
    tenant: str | None = None

    def column_names(self) -> list[str] | None:
        """The columns asked for; None = all."""
        if self.columns is None:
            return None
        return [name.strip() for name in self.columns.split(",") if name.strip()]

    def bounds(self) -> TimeBounds:
        """The bounds of event time: as readers write them, or nanoseconds as `17...ns`."""
        return time_bounds(_moment(self.start), _moment(self.end))

    def adjustment(self, nanos: int) -> int:
        """The nanoseconds to add to times, of a dataset with this adjustment today."""
        if self.adjust_time in ("true", "false"):
            return nanos if self.adjust_time == "true" else 0
        return int(self.adjust_time.removesuffix("ns"))

    def client(self) -> MetaClient:
        """Open a client of meta; raises ReadError."""
        return connect(self.meta_address, self.token, self.ca, self.tenant)


def read_options(options: Mapping[str, str]) -> SourceOptions:
    """Read Spark's options; raises ReadError for one that is unknown or has no such value."""
    options_by_name = {_camel(field.name).lower(): field.name for field in fields(SourceOptions)}
    values: dict[str, object] = {}
    for key, value in options.items():
        name = "dataset" if key.lower() == "path" else options_by_name.get(key.lower())
        if name is None:
            closest = get_close_matches(key.lower(), options_by_name, n=1)
            hint = f": did you mean {_camel(options_by_name[closest[0]])!r}?" if closest else ""
            raise ReadError(f"there is no option {key!r}{hint}")
        values[name] = _value(name, value)
    if values.get("push_filters"):
        warnings.warn(_NO_EFFECT, stacklevel=2)
    _check_target(values)
    if not _ADJUST_TIME.fullmatch(str(values.get("adjust_time", "false"))):
        raise ReadError(f"adjustTime is {values['adjust_time']!r}, expected true or false")
    if values.get("max_files_per_trigger") and values.get("max_bytes_per_trigger"):
        raise ReadError("maxFilesPerTrigger and maxBytesPerTrigger: expected one of them")
    return SourceOptions(**values)  # type: ignore[arg-type]


def _check_target(values: Mapping[str, object]) -> None:
    if values.get("view"):
        if values.get("dataset"):
            raise ReadError("dataset and view: expected one of them")
        if values.get("signal"):
            raise ReadError("signal is of datasets: a view's projections choose their records")
        if "adjust_time" in values:
            raise ReadError("adjustTime is of datasets: a view has times as they are stored")
    elif not values.get("dataset"):
        raise ReadError("which dataset? name it: .load('web'), or option 'dataset' or 'view'")


def _value(name: str, value: str) -> object:
    if name in {"converted_only", "push_filters"}:
        return value == "true"
    if name in {"version", "lease_secs", "partition_bytes"} or name.startswith("max_"):
        return _number(_camel(name), value, low=0 if name == "version" else 1)
    return value


def _number(name: str, value: str, low: int) -> int:
    if not value.isascii() or not value.isdigit() or not low <= int(value) <= _NUMBERS_MAX:
        raise ReadError(f"option {name!r} is {value!r}, expected a number from {low}")
    return int(value)


def _moment(text: str | None) -> str | int | None:
    return int(text[:-2]) if text and re.fullmatch(r"-?\d+ns", text) else text


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.title() for word in others)
