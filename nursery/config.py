"""The nursery's settings, read once from NURSERY_* in the environment."""

from dataclasses import dataclass, replace

from dataplane.settings import SparkProcessSettings, refuse_unsafe
from meta.process.declared import read_declared, setting
from meta.process.environment import Environment
from meta.v1.common_pb2 import WorkerSettings

MIB = 1024 * 1024
# Settings that operators may keep in meta for a nursery.
_GIVEN = ("batch_bytes_max", "batch_babies_max", "decode_bytes_max", "task_bytes_max")


@dataclass(frozen=True, slots=True)
class Settings(SparkProcessSettings):
    """Settings of an operator; the defaults suit one machine of two cores."""

    # Pause between two cycles.
    interval_secs: float = setting(1.0, low=0.01)
    # A dataset is merged once its oldest baby segment is this old, or batch_bytes_min or
    # batch_records_min have gathered for it, or its stream has stopped.
    wait_secs: float = setting(2.0)
    # Bytes that make a dataset worth merging at once.
    batch_bytes_min: int = setting(16 * MIB, low=1)
    # Records that do so; 0 = none. No constant: datasets of small events and of telemetry differ.
    batch_records_min: int = setting(0)
    # Bytes of baby segments merged in one cycle.
    batch_bytes_max: int = setting(512 * MIB, low=1)
    # Baby segments merged in one cycle.
    batch_babies_max: int = setting(4_000, low=1, high=10_000)
    # Bytes of OTLP that a task decodes at once.
    decode_bytes_max: int = setting(64 * MIB, low=1)
    # Bytes of columns that a task holds before it writes them as files.
    task_bytes_max: int = setting(384 * MIB, low=1)
    # Datasets that got nothing move their offset after this time.
    idle_advance_secs: float = setting(30.0)
    # Pause between two rounds of deleting merged baby segments and retiring streams.
    reap_interval_secs: float = setting(10.0)
    # A stream without commits for this long is stopped; 0 = never.
    stream_timeout_secs: float = setting(3_600.0)

    def with_given(self, given: WorkerSettings) -> "Settings":
        """These settings with those that operators have set in meta, which win."""
        fields = {field.name: value for field, value in given.ListFields() if field.name in _GIVEN}
        return replace(self, **fields) if fields else self


def load(env: Environment) -> Settings:
    """Read and check the settings; raises ConfigError."""
    settings = read_declared(env, Settings)
    refuse_unsafe(env, settings)
    return settings
