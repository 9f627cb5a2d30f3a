"""Spark settings of a process; importing them needs no Spark."""

import re
from dataclasses import dataclass

# A value may hold commas; a new entry begins where a Spark property's name follows.
_BETWEEN_ENTRIES = re.compile(r"[\n,]\s*(?=spark\.[\w.\-]+\s*=)")
_ENTRY = re.compile(r"(spark\.[\w.\-]+)\s*=(.*)", re.DOTALL)

SparkConf = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """The settings that differ between processes. `cores_max` bounds the cores of a cluster."""

    app_name: str
    master: str = "local[*]"
    cores_max: int = 8
    driver_memory: str = "768m"
    # Any of Spark's properties; overrides Segplane's.
    conf: SparkConf = ()
    # Time that a start waits for the first executor.
    start_secs: float = 300.0
    # Port of the application's UI; 0 = none.
    ui_port: int = 0
    # Modules that Spark's Pythons import before they get a task.
    task_modules: tuple[str, ...] = ()

    @property
    def is_local(self) -> bool:
        """True if the driver's JVM is all there is."""
        return self.master.split("[")[0] == "local"

    @property
    def is_without_spark(self) -> bool:
        """True if child processes run the tasks."""
        return self.master.split("[")[0] == "processes"

    @property
    def is_on_this_machine(self) -> bool:
        """True if driver and executors are all on this machine."""
        return bool(
            self.master.startswith("local")
            or re.match(r"spark://(127\.|localhost:|\[::1\])", self.master)
        )


def parse_conf(text: str) -> SparkConf:
    """Read `spark.a=x,spark.b=y`, or one of them a line; raises ValueError.

    The last of two values of one name wins, as with Spark's own `--conf`.
    """
    # A comma at the end is left over when entries are put together; no value ends with one.
    entries = [entry.strip().rstrip(",").strip() for entry in _BETWEEN_ENTRIES.split(text)]
    properties: dict[str, str] = {}
    for entry in filter(None, entries):
        matched = _ENTRY.fullmatch(entry)
        if matched is None:
            raise ValueError(f"{entry!r} is not a Spark property, such as spark.name=value")
        properties[matched[1]] = matched[2].strip()
    return tuple(properties.items())
