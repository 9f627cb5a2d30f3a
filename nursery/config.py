"""The nursery's settings, read once from NURSERY_* in the environment."""

from dataclasses import dataclass, replace

from meta.process import ConfigError, Environment
from meta.v1.common_pb2 import WorkerSettings
from segplane.dataplane.settings import SparkProcessSettings, refuse_unsafe, spark_values

MIB = 1024 * 1024
# Settings that operators may keep in meta for a nursery.
_GIVEN = ("batch_bytes_max", "batch_babies_max", "decode_bytes_max", "task_bytes_max")


@dataclass(frozen=True, slots=True)
class Settings(SparkProcessSettings):
    """Settings of an operator; the defaults suit one machine of two cores."""

    # Pause between two cycles.
    interval_secs: float = 1.0
    # A dataset is merged once its oldest baby segment is this old, or batch_bytes_min or
    # batch_records_min have gathered for it, or its stream has stopped.
    wait_secs: float = 2.0
    # Bytes that make a dataset worth merging at once.
    batch_bytes_min: int = 16 * MIB
    # Records that do so; 0 = none. No constant: datasets of small events and of telemetry differ.
    batch_records_min: int = 0
    # Bytes of baby segments merged in one cycle.
    batch_bytes_max: int = 512 * MIB
    # Baby segments merged in one cycle.
    batch_babies_max: int = 4_000
    # Bytes of OTLP that a task decodes at once.
    decode_bytes_max: int = 64 * MIB
    # Bytes of columns that a task holds before it writes them as files.
    task_bytes_max: int = 384 * MIB
    # Datasets that got nothing move their offset after this time.
    idle_advance_secs: float = 30.0
    # Pause between two rounds of deleting merged baby segments and retiring streams.
    reap_interval_secs: float = 10.0
    # A stream without commits for this long is stopped; 0 = never.
    stream_timeout_secs: float = 3_600.0
    # With a shard_count, this nursery takes streams of shard_index out of shard_count.
    shard_index: int = 0
    # Number of nurseries that share the streams; 0 = meta assigns shards to those that run.
    shard_count: int = 0

    def with_given(self, given: WorkerSettings) -> "Settings":
        """These settings with those that operators have set in meta, which win."""
        fields = {field.name: value for field, value in given.ListFields() if field.name in _GIVEN}
        return replace(self, **fields) if fields else self


def load(env: Environment) -> Settings:
    """Read and check the settings; raises ConfigError."""
    default = Settings()
    settings = Settings(
        **spark_values(env),
        interval_secs=env.seconds("INTERVAL_SECS", default.interval_secs, low=0.01),
        wait_secs=env.seconds("WAIT_SECS", default.wait_secs),
        batch_bytes_min=env.integer("BATCH_BYTES_MIN", default.batch_bytes_min, low=1),
        batch_records_min=env.integer("BATCH_RECORDS_MIN", default.batch_records_min),
        batch_bytes_max=env.integer("BATCH_BYTES_MAX", default.batch_bytes_max, low=1),
        batch_babies_max=env.integer(
            "BATCH_BABIES_MAX", default.batch_babies_max, low=1, high=10_000
        ),
        decode_bytes_max=env.integer("DECODE_BYTES_MAX", default.decode_bytes_max, low=1),
        task_bytes_max=env.integer("TASK_BYTES_MAX", default.task_bytes_max, low=1),
        idle_advance_secs=env.seconds("IDLE_ADVANCE_SECS", default.idle_advance_secs),
        reap_interval_secs=env.seconds("REAP_INTERVAL_SECS", default.reap_interval_secs),
        stream_timeout_secs=env.seconds("STREAM_TIMEOUT_SECS", default.stream_timeout_secs),
        shard_index=env.integer("SHARD_INDEX", default.shard_index, high=2**31),
        shard_count=env.integer("SHARD_COUNT", default.shard_count, high=2**31),
    )
    if settings.shard_index >= max(1, settings.shard_count):
        raise ConfigError(
            f"NURSERY_SHARD_INDEX is {settings.shard_index}, not below NURSERY_SHARD_COUNT"
            f" {settings.shard_count}"
        )
    refuse_unsafe(env, settings)
    return settings
