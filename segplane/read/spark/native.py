"""The fast path: Spark's own Parquet reader over the files of a dataset at one version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema

from segments.parquet.bounded import is_bounded
from segments.signals import SIGNALS, Signal
from segplane.read.files.files import DatasetFile
from segplane.read.spark import register

if TYPE_CHECKING:
    import pyarrow as pa

    from segplane.read.bounds import TimeBounds
    from segplane.read.rows.columns import ReadColumns

_NANOS_PER_MICRO = 1_000
_GLOB = frozenset("*?[]{}\\")
# The file system that Spark needs for the stores of a provider.
_FILE_SYSTEMS = {
    "s3": "org.apache.hadoop.fs.s3a.S3AFileSystem",
    "gcs": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
    "azure": "org.apache.hadoop.fs.azurebfs.AzureBlobFileSystem",
}


@dataclass(frozen=True, slots=True)
class Extent:
    """The records that a data frame has: signals, bounds and columns of a dataset at a version."""

    dataset: str
    version: int
    signals: tuple[Signal, ...]
    bounds: TimeBounds
    columns: ReadColumns
    files: tuple[DatasetFile, ...]
    time_adjustment: int = 0


def data_frame(extent: Extent, session: SparkSession, access: dict[str, str]) -> DataFrame:
    """Return the records as a data frame.

    Files that have every column come by Spark's own reader if it can read their stores, others by
    our data source, which reaches meta by `access`.
    """
    columns, files = extent.columns, extent.files
    native = [file for file in files if columns.has_as_stored(file)]
    # One file of each store: during a move there are several.
    by_store = {file.store: file for file in native}
    is_adjusted = extent.time_adjustment != 0
    if is_adjusted or not all(_reads_store(session, file) for file in by_store.values()):
        native = []
    parts = []
    if native:
        # Rows are chosen by columns that were perhaps not asked for.
        schema = from_arrow_schema(columns.all)
        frame = session.read.schema(schema).parquet(*(_path(file) for file in native))
        selected = (_column(field, columns.constants) for field in columns.schema)
        parts.append(_rows(frame, extent, native).select(*selected))
    if len(native) < len(files) or not parts:
        register(session)
        options = access | _scope(extent) | {"convertedOnly": "true" if native else "false"}
        parts.append(session.read.format("segplane").options(**options).load())
    first, *others = parts
    return first.unionByName(others[0]) if others else first


def _scope(extent: Extent) -> dict[str, str]:
    """The options of our data source that read the same rows and columns."""
    scope = {
        "dataset": extent.dataset,
        "version": str(extent.version),
        "columns": ",".join(extent.columns.names),
    }
    if extent.signals != SIGNALS:
        (scope["signal"],) = extent.signals
    bounds = extent.bounds.moved(extent.time_adjustment)
    if extent.time_adjustment:
        scope["adjustTime"] = f"{extent.time_adjustment}ns"
    for name, nanos in (("start", bounds.start), ("end", bounds.end)):
        if nanos is not None:
            scope[name] = f"{nanos}ns"
    return scope


def _reads_store(session: SparkSession, file: DatasetFile) -> bool:
    """True if Spark has a file system for the store, and takes its paths literally."""
    if any(character in file.url for character in _GLOB):
        return False
    if file.store.provider == "file":
        return _is_local(session)
    jvm, name = getattr(session, "_jvm", None), _FILE_SYSTEMS.get(file.store.provider)
    if jvm is None or name is None:
        return False
    try:
        jvm.java.lang.Class.forName(name, False, jvm.Thread.currentThread().getContextClassLoader())
    except Exception:  # noqa: BLE001 - Py4J's errors have no common class with its network's
        return False
    return True


def _is_local(session: SparkSession) -> bool:
    return str(session.conf.get("spark.master", "")).startswith("local")


def _path(file: DatasetFile) -> str:
    return file.url.replace("s3://", "s3a://", 1)


def _rows(frame: DataFrame, extent: Extent, files: list[DatasetFile]) -> DataFrame:
    """The rows asked for: of the signals, and within the bounds of time."""
    if extent.signals != SIGNALS:
        frame = frame.where(f.col("signal").isin(*extent.signals))
    bounds = extent.bounds
    if all(bounds.contain(file.start_time, file.end_time) for file in files):
        return frame
    if bounds.start is not None:
        frame = frame.where(_is_from(bounds.start))
    if bounds.end is not None:
        frame = frame.where(~_is_from(bounds.end))
    return frame


def _is_from(nanos: int) -> Column:
    """True of rows whose exact time is at least this."""
    whole, remainder = divmod(nanos, _NANOS_PER_MICRO)
    time, micros = f.col("timestamp"), f.timestamp_micros(f.lit(whole))
    if not remainder:
        return time >= micros
    return (time > micros) | ((time == micros) & (f.col("timestamp_nanos") >= remainder))


def _column(field: pa.Field[Any], constants: Mapping[str, str]) -> Column:
    """Return a column as Spark selects it.

    Spark would hand filters of a plain floating-point column down to row groups, and skip
    those whose bounds, which never include NaN, are below the filter's.
    """
    if field.name in constants:
        return f.lit(constants[field.name]).alias(field.name)
    column = f.col(_quoted(field.name))
    if is_bounded(field.type):
        return column
    return f.nanvl(column, f.lit(float("nan"))).alias(field.name)


def _quoted(name: str) -> str:
    """Return a column's name as Spark resolves it: dots are levels to it, else."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"
